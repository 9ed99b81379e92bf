"""Generate tables of the pages from the code: ``python -m tests.docs.tables`` writes them.

Each is between ``<!-- table: name -->`` and ``<!-- end of table -->``.
"""

import json
import re

import numpy as np

from encoders.readers.readable import LIBRARIES, READABLE
from portfolio.bench.backends import BackendRun, summarise
from portfolio.model.pipeline_steps import STEPS
from selector.learning.examples import examples
from selector.logs import read
from tests.docs.pages import ROOT

NAMES = (
    "reference/models.md",
    "reference/pipelines.md",
    "explanation/selector.md",
    "internals/performance.md",
)
PAGES = [ROOT / "docs" / name for name in NAMES]
RUNS = ROOT / "docs" / "internals" / "benchmarks" / "ten_sets.json"
LOGS = ROOT / "training_logs" / "logs.parquet"
MODELS = {"soft": "forest", "hard": "forest, hard voting", "xgb": "XGBoost"}
SOONER_S = 1.0  # smaller savings are not counted
MADE = re.compile(r"(<!-- table: (\w+) -->\n\n)(.*?)(\n<!-- end of table -->)", re.DOTALL)


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def installed_by(library):
    name = f"counterfolio[{library.extra}]" if library.extra else "counterfolio"
    return f"`pip install '{name}'`"


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


def performance():
    """Yield a row per data set and kind of model of the stored benchmark."""
    runs = [BackendRun(**run) for run in json.loads(RUNS.read_text())["runs"]]
    for line in summarise(runs, "auto").itertuples():
        group = [r for r in runs if (r.dataset, r.kind) == (line.dataset, line.kind)]
        proved = sum(run.status == "optimal" for run in group)
        times = (line.median, line.p90, max(run.seconds for run in group))
        yield (
            line.dataset,
            MODELS[line.kind],
            *(f"{1000 * seconds:.3g}" for seconds in times),
            f"{proved} of {len(group)}",
            f"{line.by_reduction:.0%}",
        )


ORDER = ("search", "milp", "cp", "maxsat")
TABLES = {
    "models": (
        ("library", "model", "what is read", "exact", "refused"),
        lambda: [
            (each.place, listed(each.kinds), each.words, each.exact, each.refused)
            for each in READABLE
        ],
    ),
    "versions": (
        ("library", "oldest tested version", "newest tested version", "installed by"),
        lambda: [(each.name, each.oldest, each.newest, installed_by(each)) for each in LIBRARIES],
    ),
    "steps": (("step", "what is read"), lambda: [(listed(own.kinds), own.words) for own in STEPS]),
    "performance": (
        ("data set", "model", "median ms", "p90 ms", "largest ms", "proved", "by presolve"),
        performance,
    ),
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
