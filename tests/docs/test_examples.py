"""Run the examples of public docstrings."""

import doctest
import inspect
import sys
from pathlib import Path

import pytest

import counterfolio
import encoders.testing
from tests.docs.prelude import namespace, write_files
from tests.docs.public_api import public_names

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = public_names(ROOT / "docs")
EXAMPLES = {
    name: inspect.getdoc(value) for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")
}


@pytest.fixture(scope="module")
def names():
    """Return the names that examples use without an import."""
    given = namespace()
    explainer = counterfolio.Explainer(given["model"], given["X_train"])
    exported = {name: getattr(counterfolio, name) for name in counterfolio.__all__}
    return {**exported, **given, "explainer": explainer}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_shows(name, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])  # for processes of examples
    write_files(tmp_path)
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], dict(names), name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("package", [counterfolio, encoders.testing])
def test_each_exported_class_or_function_has_an_example(package):
    exported = [getattr(package, name) for name in package.__all__]
    named = [f"{each.__module__}.{each.__qualname__}" for each in exported if callable(each)]
    ours = [name for name in named if name in PUBLIC]
    without = [name for name in ours if not any(each.startswith(name) for each in EXAMPLES)]
    assert ours and not without
