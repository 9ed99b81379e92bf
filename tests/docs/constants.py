"""Small numbers and powers of two in the code, which tables of the pages must explain."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGES = ("encoders", "selector", "portfolio")
APART = ("encoders/testing/",)  # example problems
SMALL = 1e-3
PAGES = tuple(
    ROOT / "docs" / name
    for name in ("reference/tolerances.md", "reference/proof-steps.md", "internals/constants.md")
)
ROW = re.compile(r"^\|(?P<name>[^|]*)\|(?P<values>[^|]*)\| `(?P<file>[\w/.]+\.py)` \|.+\|$")
POWER = re.compile(r"2\^(-?\d+)")


def in_code() -> Iterator[tuple[str, float, int]]:
    """Yield (file, value, line) of literals above 0 and at most ``SMALL``, and of powers of 2."""
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


def on_the_pages() -> set[tuple[str, float]]:
    """Return (file, value) of every row of the tables of constants."""
    found = set()
    for line in "\n".join(page.read_text(encoding="utf-8") for page in PAGES).splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        for text in row["values"].split(","):
            power = POWER.search(text)
            found.add((row["file"], 2.0 ** int(power[1]) if power else float(text)))
    return found
