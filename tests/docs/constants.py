"""Small numbers and powers of two in the code, which docs/explanation/exactness.md has to account for."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGES = ("encoders", "selector", "portfolio")
APART = ("encoders/testing/",)  # example problems
SMALL = 1e-3
PAGE = ROOT / "docs" / "explanation" / "exactness.md"
ROW = re.compile(r"^\|(?P<name>[^|]*)\|(?P<values>[^|]*)\| `(?P<file>[\w/.]+\.py)` \|.+\|$")
POWER = re.compile(r"2\^(-?\d+)")


def in_code() -> Iterator[tuple[str, float, int]]:
    """(file, value, line) of every literal above 0 and at most ``SMALL``, and of powers of 2."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            file = str(path.relative_to(ROOT))
            if not file.startswith(APART):
                yield from ((file, v, line) for v, line in _numbers(path))


def _numbers(path: Path) -> Iterator[tuple[float, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            if 0 < node.value <= SMALL:
                yield node.value, node.lineno
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            try:
                base, exponent = ast.literal_eval(node.left), ast.literal_eval(node.right)
            except ValueError:
                continue
            if base == 2:
                yield float(base) ** exponent, node.lineno


def on_the_page() -> set[tuple[str, float]]:
    """(file, value) of every row of the page's tables of constants."""
    found = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        for text in row["values"].split(","):
            power = POWER.search(text)
            found.add((row["file"], 2.0 ** int(power[1]) if power else float(text)))
    return found
