"""Tables of the pages that are made of what the code says; ``python -m tests.docs.tables`` writes.

Each stands between ``<!-- table: name -->`` and ``<!-- end of table -->``.
"""

import re

from encoders.trees.readable import READABLE
from portfolio.model.pipeline_sources import STEPS
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "models-and-tables.md"
MADE = re.compile(r"(<!-- table: (\w+) -->\n\n)(.*?)(\n<!-- end of table -->)", re.DOTALL)


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


TABLES = {
    "models": (
        ("library", "model", "what is read"),
        [(own.library, listed(own.kinds), own.words) for own in READABLE],
    ),
    "steps": (("step", "what is read"), [(listed(own.kinds), own.words) for own in STEPS]),
}


def table(name):
    head, rows = TABLES[name]
    lines = ["| " + " | ".join(line) + " |\n" for line in (head, *rows)]
    return "".join([lines[0], "|---" * len(head) + "|\n", *lines[1:]])


def written(text):
    """The text of a page with its tables made anew."""
    return MADE.sub(lambda found: found[1] + table(found[2]) + found[4], text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
