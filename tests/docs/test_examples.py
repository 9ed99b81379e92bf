"""Run the examples of public docstrings."""

import doctest
import inspect
import pydoc
import shutil
import sys
from pathlib import Path

import pytest

import counterfolio
from tests.docs.prelude import namespace, write_files
from tests.docs.public_api import public_names

pytestmark = pytest.mark.usefixtures("forked_children")

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = public_names(ROOT / "docs")
EXAMPLES = {
    name: inspect.getdoc(value) for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")
}

# Examples that do not run. Both sets may only shrink.
NEED_CLUSTER = {"portfolio.workers.ray.executor.RayExecutor.run"}
NEED_SERVICE = {  # which takes seconds to start
    "portfolio.client.client.Client",
    "portfolio.client.client.Client.ask",
    "portfolio.client.client.Client.described",
    "portfolio.client.client.Client.explain",
    "portfolio.client.client.Client.record",
    "portfolio.client.jobs.JobQuestions.audit",
    "portfolio.client.jobs.JobQuestions.explain_group",
    "portfolio.client.jobs.JobQuestions.resume",
}

EXTRAS = {"counterfolio.notebook.widget": "anywidget"}  # packages of the extra 'test'


@pytest.fixture(scope="module")
def names():
    """Return the names that examples use without an import."""
    given = namespace()
    explainer = counterfolio.Explainer(given["model"], given["X_train"])
    exported = {name: getattr(counterfolio, name) for name in counterfolio.__all__}
    return {**exported, **given, "explainer": explainer}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with the files that examples read."""
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_shows(name, names, files, tmp_path, monkeypatch):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{EXTRAS[name]} is not installed (extra 'test')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERFOLIO_CONFIG", str(tmp_path / "counterfolio"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(tmp_path / "mlruns"))
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])  # for processes of examples
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], dict(names), name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


def test_each_public_class_function_and_method_has_an_example_that_runs():
    run = {name for name, example in EXAMPLES.items() if "+SKIP" not in example}
    others = PUBLIC.keys() - run
    properties = {name for name in others if isinstance(pydoc.locate(name), property)}
    assert others - properties == NEED_CLUSTER | NEED_SERVICE
