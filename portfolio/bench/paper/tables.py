"""Tables that compare the paper's tables and figures with ours."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from portfolio.bench.anytime import GRID_S, errors
from portfolio.bench.paper.accuracy import Judged, Leaf
from portfolio.bench.paper.published import TIMINGS, Published
from portfolio.bench.paper.runs import OWN
from portfolio.bench.paper.words import NONE, estimate, proved, seconds
from portfolio.bench.tables import markdown_table as table
from selector.logs.check import AGREEMENT

KINDS = {"hard": "hard-voting forests", "soft": "soft-voting forests", "xgb": "boosted models"}
SHOWN = ("cp", "milp", "maxsat", "smt")
DEFAULT, SMALL = 100, 20  # trees: the paper's, and fewer so that more is proved in our limits
SHOWN_S = (0.1, 1.0, 10.0)  # times at which errors are shown


def setup(paper: Published, frame: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Return a table of machines, threads, limits, rows and solvers."""
    load = frame["load"].quantile([0.1, 0.5, 0.9]).tolist()
    plain = frame[frame["mode"] == "plain"]
    of_plain = runs[runs["timing"] == "total"]
    rows = of_plain.groupby(["dataset", "kind", "norm", "plausible", "rounds", "depth"])["query"]
    ours = [
        ("machine", "machine", "; ".join(sorted(set(frame["machine"]) - {""})) or "not recorded"),
        ("load of the machine", "load",
         f"{load[1]:.1f} in the median, {load[0]:.1f} to {load[2]:.1f} for four of five"),
        ("threads of a run", "threads", _listed(frame.loc[frame["threads"] > 0, "threads"])),
        ("time limit, s", "limit_s",
         f"{_limit(plain)} (plain), {_limit(frame[frame['mode'] != 'plain'])} (others)"),
        ("rows", "rows", f"{rows.nunique().max()} a configuration at most (plain)"),
        ("solvers", "solvers", _solvers(frame)),
        ("formulations of the whole problem", "plain",
         "MILP as `ocean`, CP as `plain`, MaxSAT as `cores`, SMT as `bisection`"),
    ]  # fmt: skip
    lines = [(words, paper.setup.get(key, NONE), text) for words, key, text in ours]
    return table(("", "the paper", "ours"), lines)


def _limit(frame: pd.DataFrame) -> str:
    """Return the longest time limits, of the slowest backend and of the others."""
    slowest = frame["backend"] == "smt"
    limits = [f"{frame.loc[~slowest, 'limit_s'].max():.0f}"] if (~slowest).any() else []
    limits += [f"`smt` {frame.loc[slowest, 'limit_s'].max():.0f}"] if slowest.any() else []
    return ", ".join(limits)


def _listed(values: "pd.Series[float]") -> str:
    return ", ".join(f"{value:g}" for value in sorted(set(values) - {0})) or NONE


def _solvers(frame: pd.DataFrame) -> str:
    versions = {item.strip() for text in set(frame["versions"]) for item in text.split(",")}
    others = ("numpy", "counterfolio")
    return ", ".join(sorted(item for item in versions if item.split(" ")[0] not in others))


def datasets(paper: Published, frame: pd.DataFrame) -> str:
    """Return table 1: features by kind, and classes."""
    columns = paper.datasets["columns"]
    rows = []
    for name, theirs in paper.datasets.items():
        records = frame.loc[frame["dataset"] == name, columns]
        if name != "columns":
            ours = [_listed_whole(records[column]) for column in columns]
            same = [str(value) for value in theirs] == ours
            text = " ".join(ours) if len(records) else NONE
            rows.append((name, " ".join(map(str, theirs)), "the same" if same else text))
    return table(("data set", "the paper: " + ", ".join(columns), "ours"), rows)


def _listed_whole(values: "pd.Series[int]") -> str:
    return ", ".join(str(value) for value in sorted(set(values)))


def by_backend(runs: pd.DataFrame) -> str:
    """Return figure 2: share proved and seconds of each backend."""
    rows = []
    for kind, size in itertools.product(KINDS, sorted(set(runs["rounds"]), reverse=True)):
        here = runs[(runs["kind"] == kind) & (runs["rounds"] == size)]
        for backend in (*SHOWN, OWN):
            total, solver, reduced = (_runs(here, timing, backend) for timing in TIMINGS)
            if len(total) + len(reduced):
                rows.append(
                    (KINDS[kind], str(size), _name(backend), proved(total), seconds(total),
                     seconds(solver), proved(reduced), seconds(reduced))
                )  # fmt: skip
    head = ("models", "trees", "backend", "plain: proved", "total, s", "solver only, s",
            "reduced: proved", "total, s")  # fmt: skip
    return table(head, rows)


def _runs(runs: pd.DataFrame, timing: str, backend: str) -> pd.DataFrame:
    return runs[(runs["timing"] == timing) & (runs["backend"] == backend)]


def _name(backend: str) -> str:
    return f"`{backend}`"


def anytime(runs: pd.DataFrame, optima: dict[str, float]) -> str:
    """Return figure 3: mean normalised error of the best answer at some times."""
    places = [int(np.argmin(abs(GRID_S - moment))) for moment in SHOWN_S]
    rows = []
    for kind, words in KINDS.items():
        for timing, label in (("total", "plain"), ("reduced", "reduced")):
            part = runs[(runs["timing"] == timing) & (runs["kind"] == kind)]
            by_query = errors(part, "cp", "milp", optima)
            if by_query:
                mean = np.mean(list(by_query.values()), axis=0)[:, places]
                rows.append((words, label, str(len(by_query)), *(
                    f"{cp:.2f}, {milp:.2f}" for cp, milp in mean.T)))  # fmt: skip
    head = ("models", "", "queries", *(f"after {moment:g} s" for moment in SHOWN_S))
    return table(head, rows)


def by_size(runs: pd.DataFrame) -> str:
    """Return figure 4: median total seconds by depth and number of trees."""
    rows = []
    for kind, words in KINDS.items():
        for (trees, depth), here in runs[runs["kind"] == kind].groupby(["rounds", "depth"]):
            if (here["timing"] == "total").any():
                plain = _cells(here, "total", "cp", "milp", "maxsat")
                rows.append((words, str(trees), str(depth), *plain, *_cells(here, "reduced", OWN)))
    return table(("models", "trees", "depth", "plain `cp`, s (proved)", "plain `milp`",
                  "plain `maxsat`", f"reduced, {_name(OWN)}"), rows)  # fmt: skip


def _cells(runs: pd.DataFrame, timing: str, *backends: str) -> list[str]:
    """Return median seconds and numbers of proofs of backends."""
    parts = (_runs(runs, timing, backend) for backend in backends)
    return [f"{seconds(part)} ({proved(part)})" if len(part) else NONE for part in parts]


def by_norm(runs: pd.DataFrame) -> str:
    """Return figure 5: median total seconds of soft-voting forests by norm."""
    rows = []
    for norm, here in runs[runs["kind"] == "soft"].groupby("norm"):
        reduced = _cells(here, "reduced", "cp", "milp", OWN)
        rows.append((str(norm), *_cells(here, "total", "cp", "milp"), *reduced))
    return table(("norm", "plain `cp`, s (proved)", "plain `milp`", "reduced `cp`",
                  "reduced `milp`", f"reduced, {_name(OWN)}"), rows)  # fmt: skip


def isolation(paper: Published, runs: pd.DataFrame) -> str:
    """Return table 2: seconds with and without isolation forests, and shares plausible."""
    theirs = paper.isolation
    soft, rows = runs[runs["kind"] == "soft"], []
    for place, name in enumerate(theirs["datasets"]):
        here = soft[soft["dataset"] == name]
        cells = [name, f"{theirs['plausible']['cp'][place]} %", _free(here)]
        for plausible, column in ((False, "seconds_without"), (True, "seconds_with")):
            part = here[here["plausible"] == plausible]
            for backend in ("cp", "milp"):
                plain = seconds(_runs(part[part["rounds"] == SMALL], "total", backend))
                cells.append(f"{theirs[column][backend][place]:.3g} / {plain}")
            cells.append(seconds(_runs(part[part["rounds"] == DEFAULT], "reduced", OWN)))
        rows.append(cells)
    head = ("data set", "plausible, theirs", "ours", "without: `cp`, theirs / ours, s", "`milp`",
            f"{_name(OWN)}, ours", "with: `cp`", "`milp`", f"{_name(OWN)}, ours")  # fmt: skip
    return table(head, rows)


def _free(runs: pd.DataFrame) -> str:
    """Return the share of rows for which a plausible answer costs no more than any other."""
    solved = runs[
        (runs["timing"] == "reduced") & (runs["status"] == "optimal") & (runs["row"] != "")
    ]
    cost = solved.groupby(["row", "rounds", "plausible"])["upper"].min().unstack().dropna()
    if cost.shape[1] < 2 or not len(cost):
        return NONE
    free = cost[True] <= cost[False] * (1 + AGREEMENT)
    return f"{free.mean():.0%} of {len(free)}"


def shares(paper: Published, leaves: Sequence[Leaf]) -> str:
    """Return figure 1: shares of the leaves of the paper's diagram, and of the fastest backend."""
    rows = [
        (_name(leaf.backend), f"{paper.diagram['leaves'][leaf.backend]:.1%}",
         f"{leaf.reached:.1%}", f"{leaf.fastest:.1%}")
        for leaf in leaves
    ]  # fmt: skip
    head = ("leaf", "reached, theirs", "reached, ours", "fastest of the three, ours")
    return table(head, rows)


def diagram(paper: Published, judged: Sequence[Judged]) -> str:
    """Return figure 1: how often diagrams name the fastest backend."""
    published = f"{paper.diagram['accuracy']:.2%} of {paper.diagram['rows']:,}"
    rows = [("the paper's", "the paper's own", published)]
    rows += [(line.diagram, line.runs, estimate(line.accuracy, "share")) for line in judged]
    return table(("diagram", "evaluated on", "names the fastest"), rows)
