"""The pages make a site without a warning, and nothing in it is fetched from elsewhere."""

import os
import re
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

FETCHED = re.compile(r'(?:src|<link[^>]+href)="(https?:)?//')


@pytest.mark.slow
def test_the_site_is_built_and_fetches_nothing(tmp_path):
    pytest.importorskip("mkdocstrings", reason="the extra 'docs' is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    assert not [page for page in pages if FETCHED.search(page.read_text(encoding="utf-8"))]
