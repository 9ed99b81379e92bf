"""Training of diagrams: choice of the split penalty, and comparison with an old diagram."""

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.cores import usable_cores
from encoders.core.errors import InputError
from selector.descriptors import NAMES, VERSION
from selector.diagram import Diagram
from selector.learning.contention import CORES
from selector.learning.evaluate import by_diagram, follow, joined_evenly, left_out
from selector.learning.exact import (
    MAX_THRESHOLDS,
    TIME_LIMIT_S,
    Learned,
    conditions,
    learn_each,
    learned_leaf,
)
from selector.learning.examples import Examples, Objective
from selector.learning.four_layers import learn_deep
from selector.learning.odt import learn_odt

LAYERS_OF_SKELETON = {"1": 1, "1-2": 2, "1-2-2": 3, "1-2-2-2": 4}
ENUMERATED = 3  # up to this many layers are enumerated; four use branch and bound
# Shares of the time of the single best backend; cross-validation chose 0.3 on training_logs.
ALPHAS = (0.01, 0.03, 0.1, 0.3)
# Descriptors of the data set rather than of the problem; splits on them generalise badly.
LOCAL = frozenset(
    ("numeric", "ordinal", "categorical", "binary", "classes", "nodes_total", "nodes_mean",
     "nodes_max", "thresholds_total", "thresholds_mean", "thresholds_max", "left_axes")
)  # fmt: skip
FOLDS = 5  # each holds whole data sets
NEWEST = 0.2  # share of newest rows on which the promotion test compares separately


@dataclass(frozen=True)
class Recipe:
    """Settings of training.

    Attributes
    ----------
    objective : cost of a row, see :meth:`selector.learning.examples.Examples.table`.
    skeleton : maximum splits per layer; with 1-2-2-2 and an alpha below 0.1 expect a gap.
    engine : learner, "exact" or "odtlearn".
    alpha : minimum saving per split, as a share of the total time of the single best backend.
    thresholds : maximum number of thresholds per descriptor.
    time_limit_s : time limit per diagram in seconds.
    local : bool, whether to split on descriptors of the data set too (see ``LOCAL``), as the paper
        does.
    cores : number of cores per query, which bounds the number of racers.
    switches : number of learned switch times per backend, in addition to the fixed ones.
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
        """Learn a diagram from all examples; it is optimal for them if ``proved`` is true."""
        return self.learn_each(examples, (self.alpha,))[0]

    def learn_each(self, examples: Examples, alphas: Sequence[float]) -> list[Learned]:
        """Learn one diagram per alpha, instead of the alpha of the recipe."""
        table = examples.table(self.objective, cores=self.cores, switches=self.switches)
        prices = [alpha * float(table.cost.sum(axis=0).min()) for alpha in alphas]
        splits = conditions(table, self.thresholds, () if self.local else LOCAL)
        if self.skeleton not in LAYERS_OF_SKELETON:
            known = ", ".join(LAYERS_OF_SKELETON)
            raise InputError(f"unknown skeleton {self.skeleton!r}. Use one of {known}.")
        layers, limit_s = LAYERS_OF_SKELETON[self.skeleton], self.time_limit_s
        if not splits:
            return [learned_leaf(table) for _ in prices]
        if self.engine == "odtlearn":
            return [learn_odt(table, price, splits, limit_s, layers) for price in prices]
        if layers > ENUMERATED:
            return [learn_deep(table, price, splits, limit_s) for price in prices]
        return learn_each(table, prices, splits, limit_s, layers)

    def diagram(self, examples: Examples) -> Diagram:
        """Learn a diagram from all examples."""
        return self.learn(examples).diagram


Fit = Callable[[Examples], Diagram]


def choose_alpha(examples: Examples, recipe: Recipe, alphas: Sequence[float] = ALPHAS) -> Recipe:
    """Return the recipe with the best alpha by cross-validation over data sets.

    Ties go to the larger alpha.
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
    """Return the examples with fold numbers "0", "1", ... as groups.

    Folds consist of whole data sets and have about equal numbers of rows. If there is only one data
    set, rows are distributed one by one.
    """
    if np.unique(examples.groups).size == 1:
        return replace(examples, groups=(np.arange(len(examples)) % folds).astype(np.str_))
    names, counts = np.unique(examples.groups, return_counts=True)
    fold = dict(zip(names.tolist(), map(str, joined_evenly(counts, folds)), strict=True))
    return replace(examples, groups=np.array([fold[str(name)] for name in examples.groups]))


@dataclass(frozen=True)
class Verdict:
    """A comparison of a new diagram with an old one, in mean PAR10 seconds.

    Attributes
    ----------
    unseen_s, old_unseen_s : seconds on held-out data sets, which the old diagram may have seen.
    newest_s, old_newest_s : seconds on the newest fifth of the logs, after training on the rest.
    """

    unseen_s: float
    old_unseen_s: float
    newest_s: float
    old_newest_s: float

    @property
    def better(self) -> bool:
        """Return whether the new diagram is better on one and not worse on the other."""
        pairs = ((self.unseen_s, self.old_unseen_s), (self.newest_s, self.old_newest_s))
        return all(new <= old for new, old in pairs) and any(new < old for new, old in pairs)


def compare(examples: Examples, fit: Fit, old: Diagram) -> Verdict:
    """Compare diagrams that ``fit`` learns with an old diagram."""
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
    """Return the provenance of a diagram for :attr:`selector.diagram.Diagram.manifest`."""
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
