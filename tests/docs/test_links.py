"""Files that pages name are there."""

import re

import pytest

from tests.docs.pages import PAGES, ROOT

ALSO = tuple(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "training_logs/README.md"))
FOLDERS = "counterfolio|docs|encoders|examples|portfolio|selector|tests|training_logs"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]*)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, *ALSO], ids=named)
def test_paths_in_a_page_are_there(page):
    paths = set(PATH.findall(page.read_text(encoding="utf-8")))
    assert not [path for path in paths if not any(ROOT.glob(path.rstrip("/")))]


@pytest.mark.parametrize("page", [*PAGES, *ALSO], ids=named)
def test_links_between_pages_lead_somewhere(page):
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]
