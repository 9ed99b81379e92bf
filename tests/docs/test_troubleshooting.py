"""The page on troubleshooting quotes messages that the code contains."""

import ast
import re

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "troubleshooting.md"
HEADINGS = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def texts():
    """All text constants of the packages, joined."""
    found = []
    for package in ("counterfolio", "encoders", "portfolio", "selector"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            found += [text for text in constants if isinstance(text, str)]
    return "\n".join(found).lower()


@pytest.mark.slow
@pytest.mark.parametrize("heading", HEADINGS)
def test_a_quoted_message_is_in_the_code(heading, texts):
    parts = [part.strip() for part in heading.lower().split("...")]
    assert not [part for part in parts if part not in texts]
