"""From examples to a diagram: how much a split must save, and whether the result is better."""

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from encoders.arrays import FloatArray
from encoders.cores import usable_cores
from encoders.errors import InputError
from selector.case import NAMES, VERSION
from selector.diagram import Diagram
from selector.learning.contention import CORES
from selector.learning.evaluate import by_diagram, follow, left_out
from selector.learning.exact import (
    MAX_THRESHOLDS,
    TIME_LIMIT_S,
    Learned,
    conditions,
    learn_each,
    learned_leaf,
)
from selector.learning.examples import Examples, Objective
from selector.learning.folds import joined_evenly
from selector.learning.four_layers import learn_deep
from selector.learning.odt import learn_odt

LAYERS_OF_SKELETON = {"1": 1, "1-2": 2, "1-2-2": 3, "1-2-2-2": 4}
ENUMERATED = 3  # layers; four are branched on
# Shares of what the single best backend takes; cross-validation chose 0.3 on training_logs.
ALPHAS = (0.01, 0.03, 0.1, 0.3)
# What tells data sets apart rather than problems: a split on it says little of another data set.
LOCAL = frozenset(
    ("numeric", "ordinal", "categorical", "binary", "classes", "nodes_total", "nodes_mean",
     "nodes_max", "thresholds_total", "thresholds_mean", "thresholds_max", "left_axes")
)  # fmt: skip
FOLDS = 5  # of whole data sets
NEWEST = 0.2  # share of the rows, the newest, that the gate looks at by themselves


@dataclass(frozen=True)
class Recipe:
    """How to learn.

    Attributes
    ----------
    objective : what a row costs, see :meth:`selector.learning.examples.Examples.table`
    skeleton : most splits per layer; with 1-2-2-2 and an alpha below 0.1 expect a gap
    engine : "exact" or "odtlearn"
    alpha : what a split must save, as a share of what the single best backend takes in all
    thresholds : most per descriptor
    time_limit_s : of each diagram
    local : split also on descriptors of the data set (see ``LOCAL``), as the paper does
    cores : that a query has: as many backends may race
    switches : how many times of each backend another may follow or join it at, besides fixed ones
    """

    objective: Objective = "regret"
    skeleton: str = "1-2-2"
    engine: str = "exact"
    alpha: float = 0.01
    thresholds: int = MAX_THRESHOLDS
    time_limit_s: float = TIME_LIMIT_S
    local: bool = False
    cores: int = CORES
    switches: int = 0

    def learn(self, examples: Examples) -> Learned:
        """Learn from all examples; the diagram is optimal for them if it is proved."""
        return self.learn_each(examples, (self.alpha,))[0]

    def learn_each(self, examples: Examples, alphas: Sequence[float]) -> list[Learned]:
        """What :meth:`learn` gives with each alpha in the place of the recipe's own."""
        table = examples.table(self.objective, cores=self.cores, switches=self.switches)
        prices = [alpha * float(table.cost.sum(axis=0).min()) for alpha in alphas]
        splits = conditions(table, self.thresholds, () if self.local else LOCAL)
        if self.skeleton not in LAYERS_OF_SKELETON:
            known = ", ".join(LAYERS_OF_SKELETON)
            raise InputError(f"there is no skeleton {self.skeleton!r}; known are {known}.")
        layers, limit_s = LAYERS_OF_SKELETON[self.skeleton], self.time_limit_s
        if not splits:
            return [learned_leaf(table) for _ in prices]
        if self.engine == "odtlearn":
            return [learn_odt(table, price, splits, limit_s, layers) for price in prices]
        if layers > ENUMERATED:
            return [learn_deep(table, price, splits, limit_s) for price in prices]
        return learn_each(table, prices, splits, limit_s, layers)

    def diagram(self, examples: Examples) -> Diagram:
        """What :meth:`learn` gives, the diagram alone."""
        return self.learn(examples).diagram


Fit = Callable[[Examples], Diagram]


def choose_alpha(examples: Examples, recipe: Recipe, alphas: Sequence[float] = ALPHAS) -> Recipe:
    """The recipe whose alpha costs least on folds of whole data sets; ties go to the larger.

    All but alpha is the recipe's own.
    """
    folded, largest_first = in_folds(examples), sorted(alphas, reverse=True)

    def costs(group: str) -> FloatArray:
        out = folded.groups == group
        learned = recipe.learn_each(folded.of(~out), largest_first)
        return np.array([follow(each.diagram, folded.judging(out)).wall.sum() for each in learned])

    with ThreadPoolExecutor(usable_cores()) as pool:
        total = np.sum(list(pool.map(costs, np.unique(folded.groups).tolist())), axis=0)
    return replace(recipe, alpha=largest_first[int(total.argmin())])


def in_folds(examples: Examples, folds: int = FOLDS) -> Examples:
    """The same examples with groups "0", "1", ...: whole data sets joined to about equal numbers of
    rows, or single rows if there is one data set only.
    """
    if np.unique(examples.groups).size == 1:
        return replace(examples, groups=(np.arange(len(examples)) % folds).astype(np.str_))
    names, counts = np.unique(examples.groups, return_counts=True)
    fold = dict(zip(names.tolist(), map(str, joined_evenly(counts, folds)), strict=True))
    return replace(examples, groups=np.array([fold[str(name)] for name in examples.groups]))


@dataclass(frozen=True)
class Verdict:
    """Whether a new diagram may take the place of an old one; mean PAR10 seconds.

    Attributes
    ----------
    unseen_s, old_unseen_s : on data sets left out; the old diagram may have seen them
    newest_s, old_newest_s : on the newest fifth of the logs, learned from the rest
    """

    unseen_s: float
    old_unseen_s: float
    newest_s: float
    old_newest_s: float

    @property
    def better(self) -> bool:
        """Better on one and not worse on the other."""
        pairs = ((self.unseen_s, self.old_unseen_s), (self.newest_s, self.old_newest_s))
        return all(new <= old for new, old in pairs) and any(new < old for new, old in pairs)


def compare(examples: Examples, fit: Fit, old: Diagram) -> Verdict:
    """Whether diagrams learned like this one are better than an old one."""
    cut = np.sort(examples.time)[int(len(examples) * (1 - NEWEST))]
    newest = examples.time >= cut
    before, after = examples.of(~newest), examples.judging(newest)
    fresh = fit(before if len(before) else examples)
    return Verdict(
        unseen_s=float(left_out(in_folds(examples), by_diagram(fit))[0].wall.mean()),
        old_unseen_s=float(follow(old, examples).wall.mean()),
        newest_s=float(follow(fresh, after).wall.mean()),
        old_newest_s=float(follow(old, after).wall.mean()),
    )


def manifest(examples: Examples, recipe: Recipe, learned: Learned) -> dict[str, object]:
    """How a diagram was made, plain values for :attr:`selector.diagram.Diagram.manifest`."""
    rows = [dict(zip(NAMES, v, strict=True)) for v in examples.values.tolist()]
    return {
        "schema": VERSION,
        "logs": examples.digest,
        "rows": len(examples),
        "data_sets": sorted(set(examples.groups.tolist())),
        "backends": list(examples.backends),
        "metrics": sorted({"solver" if s else "total" for s in examples.solver.tolist()}),
        "objective": recipe.objective,
        "alpha": recipe.alpha,
        "local": recipe.local,
        "cores": recipe.cores,
        "switches": recipe.switches,
        "cost": learned.cost,
        "lower_bound": learned.lower,
        "flow": [round(share, 4) for share in learned.diagram.flow(rows)],
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), "counterfolio": version("counterfolio")},
    }
