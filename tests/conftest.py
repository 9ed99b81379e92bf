"""Small models that several tests share."""

import gc
import os
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from encoders.core.interpreted import plain
from encoders.search.loop import run_slice
from portfolio import Explainer
from portfolio.engine import stages
from portfolio.engine.warm_up import warm_up, warm_up_all
from tests.support.browser import open_browser

# Files with tests of many seconds. Each of the four workers of CI begins with every fourth. One has
# all Ray clusters, one after another and not first: a node has to start within 30 seconds.
LONG_FILES = (
    "tests/docs/test_notebooks.py",
    "tests/test_without_posix.py",
    "tests/portfolio/bench/test_campaign.py",
    "tests/docs/test_code_blocks.py",
    "tests/portfolio/model/test_stacking.py",
    "tests/portfolio/model/test_pipelines.py",
    "tests/encoders/test_interpreted.py",
    "tests/portfolio/service/test_workers.py",
    "tests/portfolio/workers/test_ray.py",
    "tests/portfolio/cli/test_batch.py",
    "tests/portfolio/workers/test_interrupt.py",
    "tests/portfolio/api/test_mlflow.py",
    "tests/portfolio/api/test_ray_data.py",
    "tests/portfolio/model/test_feature_engine.py",
    "tests/portfolio/model/test_scorecards.py",
    "tests/portfolio/bench/test_service.py",
    "tests/portfolio/service/test_page.py",
    "tests/portfolio/service/test_turns.py",
    "tests/portfolio/model/test_files.py",
    "tests/portfolio/service/test_chaos.py",
    "tests/docs/test_site.py",
)


def pytest_addoption(parser):
    """Add the option for the first compilation: "plain" covers one answer without its search."""
    parser.addoption("--compile", choices=("all", "plain"), default="all")


def pytest_configure():
    """Threads of the libraries that wait for others don't keep the cores from these meanwhile.

    More processes than cores are at work; libraries look at this when a process loads them.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    gc.disable()  # until all tests and libraries are loaded, which are never freed


def pytest_collection_finish():
    """Exclude tests and libraries from garbage collections, which halves the time of imports."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Let each worker begin with some of the long files, so that no worker waits at the end."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    by_file = {}
    for item in items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
    shares = [
        [item for name in LONG_FILES[at::workers] for item in by_file.pop(name, ())]
        for at in range(workers)
    ]
    others = [item for group in by_file.values() for item in group]
    size = -(-len(items) // workers)
    for share in shares:
        count = max(0, size - len(share))
        share += others[:count]
        del others[:count]
    items[:] = [*(item for share in shares for item in share), *others]


@pytest.fixture(scope="session", autouse=True)
def _as_from_a_terminal():
    """Handle Ctrl-C, which programs that a script starts in the background ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _without_settings(tmp_path_factory):
    """Ignore diagrams that were promoted on this machine, here and in child processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTERFOLIO_CONFIG", str(tmp_path_factory.mktemp("settings")))
        patch.setenv("COUNTERFOLIO_CACHE", "")
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled(pytestconfig):
    """Compile before the first test, so that no time limit of a test includes it."""
    if pytestconfig.getoption("--compile") == "all":
        warm_up_all()
        return
    # Its search takes 60 % of the time; Python runs it, as little is left of small problems.
    run_slice._compile_for_args = lambda *_: plain(run_slice)
    warm_up()


@pytest.fixture(scope="session")
def credit():
    """A frame with every kind of feature, string classes, and a forest on it."""
    rng = np.random.default_rng(7)
    n = 200
    housing = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "income": np.round(rng.lognormal(3, 0.5, n), 3),
            "employed": rng.integers(0, 2, n).astype(float),
            "home_free": (housing == 0).astype(float),
            "home_own": (housing == 1).astype(float),
            "home_rent": (housing == 2).astype(float),
        }
    )
    score = X["income"] / 20 + X["employed"] + (housing == 1) + rng.normal(0, 0.3, n)
    y = np.where(score > 2.2, "granted", "refused")
    model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    return model, X


@pytest.fixture(scope="session")
def explainer(credit):
    return Explainer(*credit)


@pytest.fixture(scope="session")
def refused(credit):
    model, X = credit
    return X[model.predict(X) == "refused"].iloc[0]


@pytest.fixture(scope="session")
def loans(tmp_path_factory):
    """A small data set in the three-header-line format."""
    rng = np.random.default_rng(5)
    n = 120
    frame = pd.DataFrame(
        {
            "Age": rng.integers(20, 60, n),
            "Sex": rng.choice(["F", "M"], n),
            "Job": rng.choice(["none", "some", "top"], n),
            "Amount": np.round(rng.lognormal(2, 1, n), 2),
        }
    )
    frame["Class"] = ((frame["Amount"] < 9) & (frame["Job"] != "none")).astype(int)
    path = tmp_path_factory.mktemp("data") / "loans.csv"
    body = frame.to_csv(index=False).split("\n", 1)
    path.write_text(body[0] + "\nD,B,C,N,B\nINC,FIXED,FREE,FREE,PREDICT\n" + body[1])
    return path


@pytest.fixture(scope="module")
def forked_children(pytestconfig):
    """Start child processes without importing the large libraries again; see the helper."""
    if pytestconfig.getoption("--compile") == "plain":  # the helper compiles everything
        yield
        return
    from tests.support.forked import forked_children

    with forked_children():
        yield


@pytest.fixture(scope="module")
def browser():
    """Closed before tests of other files begin: while it is open, an event loop runs here."""
    with open_browser() as opened:
        yield opened


@pytest.fixture
def lawful_problems(monkeypatch):
    """Every problem that is posed keeps the laws that proofs rest on."""
    pose = stages.pose

    def checked(*arguments):
        posed = pose(*arguments)
        posed.problem.check()
        return posed

    monkeypatch.setattr(stages, "pose", checked)
