"""``bench --protocol from-logs``: logs of auto become logs that compare backends."""

import io
import json
import os
import re
import signal

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from typer.testing import CliRunner

from counterfolio import (
    Explainer,
    Fixed,
    InputError,
    Logbook,
    MaxChanges,
    More,
    Plausibility,
    Probability,
)
from portfolio.api.variants import asker_of
from portfolio.bench.from_logs import (
    MODEL,
    ROW,
    SETTINGS,
    ReplayPlan,
    find_queries,
    missing_words,
)
from portfolio.bench.runner import run_plan
from portfolio.cli.app import app
from portfolio.engine.logbook import PendingLogbook
from portfolio.engine.question import Question
from portfolio.model.batch_rows import rows_of
from selector import logs
from selector.learning.examples import covered, rankable
from selector.learning.open_queries import open_queries

MODEL_OPTIONS = ("--label", "y", "--train", "forest", "--trees", 20, "--depth", 6)


def run(*words, **env):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200", **env})


def shells(classes):
    """Return rows whose class depends on their distance from the origin, which is hard to reach."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(200, 6)).round(2), columns=list("abcdef"))
    distance = (X**2).sum(axis=1) + rng.normal(0, 2, 200)
    return X, pd.qcut(distance, classes, labels=[f"shell{k}" for k in range(classes)]).astype(str)


@pytest.fixture(scope="module")
def two():
    """Return an explainer of two classes, and its rows."""
    X, y = shells(2)
    forest = RandomForestClassifier(12, max_depth=6, random_state=0).fit(X, y)
    return Explainer(forest, X), X


@pytest.fixture(scope="module")
def three():
    """Return an explainer of three classes, and its rows."""
    X, y = shells(3)
    forest = RandomForestClassifier(8, max_depth=5, random_state=0).fit(X, y)
    return Explainer(forest, X), X


def solved(explainer, X, folder, count, **settings):
    """Log queries of auto until presolve alone has not proved ``count`` of them."""
    for place in range(len(X)):
        book = Logbook(folder, "shells")
        result = explainer.explain(X.iloc[[place]], threads=1, log=book, **settings)
        count -= bool(result.attempts)
        if not count:
            return
    raise AssertionError("presolve proved nearly all queries")


def plan(explainer, X, out, folder, budget_s=60.0, **settings):
    asker = asker_of(explainer)
    rows = rows_of(asker.model, X)
    return ReplayPlan((folder,), asker, Question(**settings), rows, out, budget_s)


def finish(replay, screen=None):
    screen = io.StringIO() if screen is None else screen
    code = run_plan(replay, Console(file=screen, force_terminal=screen.isatty(), width=200))
    assert code == 0
    return screen.getvalue()


@pytest.mark.slow
def test_runs_of_a_replay_join_the_logged_queries(two, tmp_path):
    explainer, X = two
    solved(explainer, X, tmp_path / "own", 2, norm=2)
    own = logs.read(tmp_path / "own")
    assert covered(own)[1].compared == 0
    said = finish(plan(explainer, X, tmp_path / "bench", tmp_path / "own"))
    assert "2 of 2 found queries lack 8 runs" in said and "8 runs finished" in said
    replayed = logs.read(tmp_path / "bench" / "logs")
    assert set(replayed["backend"]) == set(rankable())
    open_ = own[own["backend"] != "reduce"]
    for name in ("query", "row", "forest", "dataset", "norm", "target", "constraints"):
        assert set(replayed[name]) == set(open_[name])
    both = pd.concat([own, replayed], ignore_index=True)
    assert logs.check(both) == []
    assert covered(both)[1].compared == 2
    fastest = both[both["status"] == "optimal"].groupby("query")["total_s"].min()
    assert (replayed["limit_s"] + replayed["reduce_s"] + replayed["pose_s"]
            >= 0.99 * replayed["query"].map(fastest)).all()  # fmt: skip
    again = finish(plan(explainer, X, tmp_path / "bench", tmp_path / "own"))
    assert "0 of 2 found queries lack 0 runs" in again and "0 runs finished" in again


class Interrupting(io.StringIO):
    """A terminal whose user presses Ctrl-C once the bar has counted a run."""

    pressed = False

    def isatty(self):
        return True

    def write(self, text):
        if not self.pressed and re.search(r"[1-9]\d*/32", text):
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


@pytest.mark.slow
def test_ctrl_c_keeps_finished_runs_and_the_next_call_makes_the_others(two, tmp_path):
    explainer, X = two
    solved(explainer, X, tmp_path / "own", 8, norm=2)
    screen = Interrupting()
    said = finish(plan(explainer, X, tmp_path, tmp_path / "own"), screen)
    assert screen.pressed and "run the same command again to resume" in said
    kept = logs.read(tmp_path / "logs")
    assert 0 < len(kept) < 32 and not kept["censored"].any()
    finish(plan(explainer, X, tmp_path, tmp_path / "own"))
    every = logs.read(tmp_path / "logs")
    assert len(every) == 32 and set(kept["run"]) <= set(every["run"])
    lines = [line for path in (tmp_path / "logs").glob("*.jsonl") for line in path.open()]
    assert len({json.loads(line)["run"] for line in lines}) == len(lines)


def test_a_budget_that_is_too_small_for_a_run_is_kept(two, tmp_path):
    explainer, X = two
    solved(explainer, X, tmp_path / "own", 1, norm=2)
    said = finish(plan(explainer, X, tmp_path, tmp_path / "own", budget_s=0.5))
    assert "0 runs finished" in said and "on 0 of 1 solved queries" in said


def test_queries_that_cannot_be_found_are_counted_by_reason(two, three, tmp_path):
    explainer, X = two
    solved(explainer, X, tmp_path, 1, norm=2)
    solved(explainer, X, tmp_path, 1, norm=2, constraints=[Fixed("a")])
    solved(three[0], three[1], tmp_path, 1, norm=2)
    logged = open_queries(logs.read(tmp_path))
    asker = asker_of(explainer)
    found, missing = find_queries(asker, Question(), rows_of(asker.model, X), logged)
    assert len(found) == 1 and missing == {SETTINGS: 1, MODEL: 1}
    assert (found[0].question.norm, found[0].question.scale) == ("2", "range")
    found, missing = find_queries(asker, Question(), rows_of(asker.model, X + 1), logged)
    assert not found and missing == {ROW: 2, MODEL: 1}
    assert missing_words(missing, 3) == (
        "3 of 3 logged queries were not found: 1 of another model, 2 of rows that are not in the "
        "data."
    )
    with pytest.raises(InputError, match="3 of 3 logged queries were not found"):
        finish(plan(explainer, X + 1, tmp_path / "out", tmp_path))


def test_queries_of_any_class_are_found_by_any_target_and_others_by_their_own(three, tmp_path):
    explainer, X = three
    solved(explainer, X, tmp_path, 2)
    logged, asker = open_queries(logs.read(tmp_path)), asker_of(explainer)
    rows = rows_of(asker.model, X)
    assert len(find_queries(asker, Question(), rows, logged)[0]) == len(logged)
    for target in ("shell0", "shell1", "shell2"):
        found, _ = find_queries(asker, Question(target), rows, logged)
        assert {each.logged.target for each in found} <= {target}


def test_an_answer_in_a_nearer_class_shows_that_another_target_was_logged(three, tmp_path):
    explainer, X = three
    own = tmp_path / "own"
    for place in range(40):
        row, book = X.iloc[[place]], PendingLogbook(own, "shells")
        nearest = explainer.explain(row, threads=1)
        far = explainer.explain(row, target="shell2", threads=1, log=book)
        if far.attempts and nearest.distance < far.distance - 1e-3:
            book.write()
            break
    said = finish(plan(explainer, row, tmp_path, own))
    assert "1 of 1 found queries lack 4 runs" in said
    assert "Give the --target of the command that wrote the logs" in said
    said = finish(plan(explainer, row, tmp_path, own, target="shell2"))
    assert "--target" not in said and "4 runs finished" in said
    every = pd.concat([logs.read(own), logs.read(tmp_path / "logs")], ignore_index=True)
    assert every["query"].nunique() == 1 and logs.check(every) == []


@pytest.mark.slow
def test_three_commands_lead_from_logs_of_auto_to_a_diagram_that_is_promoted_or_not(tmp_path):
    X, y = shells(2)
    X.assign(y=y).to_csv(tmp_path / "shells.csv", index=False)
    data = ("--data", tmp_path / "shells.csv", *MODEL_OPTIONS)
    own, out, mine = tmp_path / "own", tmp_path / "bench", tmp_path / "mine.json"
    settings = {"COUNTERFOLIO_CONFIG": str(tmp_path / "settings")}
    done = run("batch", *data, "--norm", 2, "--rows", 60, "--out", tmp_path / "answers", "--log",
               own, **settings)  # fmt: skip
    assert done.exit_code == 0, done.output
    said = str(run("selector", "train", own, "--out", mine, **settings).exception)
    assert f"bench --protocol from-logs --logs {own}" in said and "no complete run of cp" in said
    done = run("bench", "--protocol", "from-logs", "--logs", own, *data, "--out", out, "--deadline",
               40, **settings)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"selector train {own} {out / 'logs'} --out mine.json --promote" in done.output
    done = run("selector", "train", own, out / "logs", "--out", mine, "--promote", **settings)
    assert done.exit_code in (0, 3), done.output
    promoted = (tmp_path / "settings" / "diagram.json").exists()
    assert promoted == (done.exit_code == 0)
    assert ("is better and is now the default" in done.output) == promoted
    assert mine.exists() and "mean PAR10 on held-out data sets" in done.output
    done = run("selector", "evaluate", own, out / "logs", "--leave-out", "time", **settings)
    assert done.exit_code == 0 and "virtual best" in done.output, done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--protocol", "from-logs", "--data", "x.csv"), "Give log folders with --logs"),
        (("--protocol", "from-logs", "--logs", "x", "--data", "x.csv"), "--train and --model"),
        (
            ("--protocol", "from-logs", "--json", "x"),
            "--json does not apply to",
        ),
        (("--protocol", "from-logs", "--backends", "cp"), "--backends does not apply"),
        (("--fix", "age"), "--fix applies to --protocol from-logs only"),
        (("--protocol", "quick", "--range", "age=1:2"), "--range applies to"),
        (("--protocol", "contention", "--logs", "x"), "--logs applies to"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(words, message):
    assert message in str(run("bench", *words).exception)


def of_classes(X, y):
    forest = RandomForestClassifier(8, max_depth=5, random_state=0).fit(X, y)
    return Explainer(forest, X)


def of_numbers(X, y):
    return Explainer(GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y), X)


def of_outputs(X, y):
    both = np.column_stack([y, np.where(X["a"] * X["b"] > 0, "same", "other")])
    return Explainer(RandomForestClassifier(8, max_depth=5, random_state=0).fit(X, both), X)


def of_inliers(X, y):
    forest = RandomForestClassifier(8, max_depth=5, random_state=0).fit(X, y)
    return Explainer(forest, X, plausibility=Plausibility.fit(X, y, seed=0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "settings", "others"),
    [
        (of_classes, {"target": Probability("shell1", 0.7)}, {"target": "shell1"}),
        (of_classes, {"target": "shell1", "margin": 0.1}, {"target": "shell1"}),
        (of_classes, {"norm": 0.5, "scale": "std"}, {"constraints": [MaxChanges(1)]}),
        (of_numbers, {"target": More(by=3.0)}, {"target": More(by=2.0)}),
        (of_inliers, {"target": "shell1"}, {"target": "shell0"}),
        (
            of_outputs,
            {"target": {0: "shell1", 1: "same"}},
            {"target": {0: "shell1", 1: "other"}},
        ),
    ],
)
def test_logged_queries_of_every_kind_are_found_by_their_settings(tmp_path, make, settings, others):
    X, y = shells(2)
    explainer = make(X, (X**2).sum(axis=1) if make is of_numbers else y)
    for place in range(30):
        explainer.explain(X.iloc[[place]], threads=1, time_limit_s=2.0, log=tmp_path, **settings)
    logged = open_queries(logs.read(tmp_path))
    assert logged

    def found(target=None, margin=None, constraints=(), **of_the_log):
        question = Question(target, margin=margin, constraints=constraints)
        asker, question = asker_of(explainer).about(question)
        return find_queries(asker, question, rows_of(asker.model, X), logged)

    assert (len(found(**settings)[0]), len(found(**others)[0])) == (len(logged), 0)
    assert set(found(**others)[1]) <= {MODEL, SETTINGS}
