"""Wheels lack benchmarks, and the commands that need them say how to get them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CODE = """
import sys

sys.modules["portfolio.bench"] = None  # as in a wheel
from portfolio.cli.app import main

main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["bench", "--protocol", "paper"], ["figures", "logs"], ["paper", "logs"]]
)
def test_a_sentence_states_how_to_get_them(command):
    run = [sys.executable, "-c", CODE, *command]
    done = subprocess.run(run, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Error: counterfolio {command[0]} is not part of wheels; install the project from a "
        "checkout of its repository: pip install -e FOLDER.\n"
    )


def test_wheels_contain_all_other_packages():
    setuptools = pytest.importorskip("setuptools")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    find = settings["packages"]["find"]
    packages = setuptools.find_packages(str(ROOT), include=find["include"], exclude=find["exclude"])
    ours = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for name in ("counterfolio", "encoders", "selector", "portfolio")
        for path in (ROOT / name).rglob("__init__.py")
    }
    assert ours - set(packages) == {name for name in ours if name.startswith("portfolio.bench")}
    assert set(packages) <= ours
