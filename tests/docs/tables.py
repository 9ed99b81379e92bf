"""Generate tables of the pages from the code: ``python -m tests.docs.tables`` writes them.

Each is between ``<!-- table: name -->`` and ``<!-- end of table -->``.
"""

import re

import numpy as np

from encoders.trees.readable import READABLE
from portfolio.model.pipeline_sources import STEPS
from selector.learning.examples import examples
from selector.logs import read
from tests.docs.pages import ROOT

NAMES = ("reference/models.md", "reference/pipelines.md", "explanation/selector.md")
PAGES = [ROOT / "docs" / name for name in NAMES]
LOGS = ROOT / "training_logs" / "logs.parquet"
SOONER_S = 1.0  # smaller savings are not counted
MADE = re.compile(r"(<!-- table: (\w+) -->\n\n)(.*?)(\n<!-- end of table -->)", re.DOTALL)


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def earned():
    """Yield a row per data set of the shipped logs: proofs per backend, and faster backends."""
    data = examples(read(LOGS))
    data = data.of(~data.solver)
    for name in np.unique(data.groups).tolist():
        own = data.of(data.groups == name)
        proved = np.isfinite(own.seconds).sum(axis=0).tolist()
        search = own.penalised(1)[:, own.backends.index("search")]
        others = np.delete(own.seconds, own.backends.index("search"), axis=1)
        places = np.delete(np.arange(len(own.backends)), own.backends.index("search"))
        sooner = others.min(axis=1) + SOONER_S <= search
        who = places[others.argmin(axis=1)][sooner].tolist()
        words = [f"{own.backends[k]} {who.count(k)}" for k in sorted(set(who))]
        by_name = dict(zip(own.backends, proved, strict=True))
        cells = [str(by_name[backend]) for backend in ORDER]
        yield (name, str(len(own)), *cells, ", ".join(words) or "-")


ORDER = ("search", "milp", "cp", "maxsat")
TABLES = {
    "models": (
        ("library", "model", "what is read"),
        lambda: [(own.library, listed(own.kinds), own.words) for own in READABLE],
    ),
    "steps": (("step", "what is read"), lambda: [(listed(own.kinds), own.words) for own in STEPS]),
    "earned": (("data set", "queries", *ORDER, "faster by a second or more"), earned),
}


def table(name):
    head, rows = TABLES[name]
    lines = ["| " + " | ".join(line) + " |\n" for line in (head, *rows())]
    return "".join([lines[0], "|---" * len(head) + "|\n", *lines[1:]])


def written(text):
    """Return the text of a page with current tables."""
    return MADE.sub(lambda found: found[1] + table(found[2]) + found[4], text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
