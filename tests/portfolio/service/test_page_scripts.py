"""Modules of the page alone, in Node.js; the tests are in ``tests/page``."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from portfolio.service.page_routes import FILES

FOLDER = Path(__file__).parents[2] / "page"
MOCHA = FOLDER / "node_modules/mocha/bin/mocha.js"
FIRST = (20, 19)  # earlier versions of Node.js do not recognise modules by their syntax


def lacking(words):
    """Skip the test with a reason; fail where ``.ci/run`` has installed the test runner."""
    if os.environ.get("REQUIRE_NODE"):
        pytest.fail(words)
    pytest.skip(words)


@pytest.fixture(scope="module")
def node():
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for path in filter(None, (shutil.which("node"), shutil.which("node", path=beside))):
        words = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        if tuple(map(int, words.stdout.strip().lstrip("v").split(".")[:2])) >= FIRST:
            if not MOCHA.exists():
                lacking("the test runner is not installed (npm ci in tests/page)")
            return path
    return lacking("Node.js 20.19 or later is not installed (apt-get install nodejs npm)")


@pytest.mark.parametrize(("folder", "language"), [("english", "en"), ("german", "de")])
def test_modules_of_the_page(node, folder, language):
    environment = os.environ | {"PAGE_LANGUAGE": language, "PYTHON": sys.executable}
    run = subprocess.run(
        [node, str(MOCHA), f"{folder}/*.test.js"],
        cwd=FOLDER, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^ +[1-9]\d* passing", run.stdout, re.MULTILINE), run.stdout


def test_the_page_needs_no_package_and_the_lock_file_names_no_host():
    assert not (FILES / "package.json").exists()
    assert "://" not in (FOLDER / "package-lock.json").read_text(encoding="utf-8")
