"""Cases of benchmarks: trained models of data sets, and queries drawn for them."""

from abc import abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.bench.runner import BenchmarkPlan, machine_load
from portfolio.data.collection import DrawnQuery, datasets, draw_queries, freed, names
from portfolio.data.datasets import Dataset
from portfolio.data.trained_models import Trainable, train
from portfolio.model.plausibility import Plausibility

KIND_NAMES: dict[str, Trainable] = {
    "soft": "forest",
    "hard": "hard-forest",
    "extra": "extra-trees",
    "xgb": "xgboost",
}


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Limits of each query of a benchmark."""

    time_limit_s: float = 60.0
    threads: int | None = None  # number of solver threads, None for all cores


@dataclass(frozen=True, eq=False)
class Case:
    """Trained model of one data set."""

    dataset: Dataset  # the data set
    kind: str  # key of ``KIND_NAMES``
    model: Any  # the fitted model
    queries: int  # number of queries to draw, without the first one, which is a warm-up
    seed: int  # random seed of the model, the queries and the solvers

    def explainer(self, free: bool = False, **settings: Any) -> Explainer:
        """Return an explainer of the model; ``free`` ignores the default actions of features."""
        space = freed(self.dataset.space) if free else self.dataset.space
        return Explainer(self.model, self.dataset.X, space, **settings)

    def plausibility(self, **settings: Any) -> Plausibility:
        """Return isolation forests of the data set."""
        return Plausibility.fit(self.dataset.X, self.dataset.y, seed=self.seed, **settings)

    def place(self, query: DrawnQuery) -> tuple[str, str, int]:
        """Return data set, kind and row, the first fields of a :class:`CaseRun`."""
        return self.dataset.name, self.kind, query.row

    def settings(self, query: DrawnQuery, limits: RunLimits) -> dict[str, Any]:
        """Return the target, the limits and the seed of a query."""
        return vars(limits) | {"target": query.target, "seed": self.seed}

    def drawn(self, explainer: Explainer) -> Iterator[DrawnQuery]:
        """Yield the queries; the one with number 0 is a warm-up of imports, caches and kernels."""
        return draw_queries(self.dataset, explainer, self.queries + 1, self.seed)


def train_case(
    dataset: Dataset, kind: str, trees: int, depth: int, seed: int = 0, queries: int = 0
) -> Case:
    """Train the model of a case, whose kind is a key of ``KIND_NAMES``."""
    return Case(dataset, kind, train(dataset, KIND_NAMES[kind], trees, depth, seed), queries, seed)


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Models to train, each on one data set."""

    folder: Path | None = None  # folder of CSV data sets, None for the bundled ones
    only: tuple[str, ...] = ()  # names of the data sets, empty for all
    kinds: tuple[str, ...] = ("soft",)  # keys of ``KIND_NAMES``
    trees: int = 100  # number of trees
    depth: int = 5  # largest depth of the trees, 0 for no limit
    queries: int = 20  # number of queries per model
    seed: int = 0  # random seed

    @property
    def sets(self) -> list[str]:
        """Names of the data sets."""
        return names(self.folder, self.only)

    @property
    def size(self) -> int:
        """Number of queries of all models."""
        return len(self.sets) * len(self.kinds) * self.queries

    def each(self) -> Iterator[Case]:
        """Train each model once."""
        for kind in self.kinds:
            if kind not in KIND_NAMES:
                raise InputError(f"unknown kind {kind!r}. Use one of {', '.join(KIND_NAMES)}.")
        for dataset in datasets(self.folder, self.only):
            for kind in self.kinds:
                yield train_case(dataset, kind, self.trees, self.depth, self.seed, self.queries)

    def __str__(self) -> str:
        return (
            f"{len(self.sets)} data sets, kinds {', '.join(self.kinds)}, {self.trees} trees of "
            f"depth {self.depth or 'any'}"
        )


@dataclass(frozen=True)
class CaseRun:
    """Run on one query of a case.

    Attributes
    ----------
    dataset, kind : data set and kind of the model.
    query : row of the query in the data set.
    """

    dataset: str
    kind: str
    query: int


@dataclass(frozen=True)
class CasePlan(BenchmarkPlan):
    """Benchmark that runs one case after another."""

    cases: Cases

    @property
    def total(self) -> int:
        """Number of runs."""
        return self.cases.size

    @property
    def heading(self) -> str:
        """Line that is printed first."""
        return f"{self.total} {self.unit}: {self.cases}; {machine_load()}."

    def runs(self) -> Generator[Any]:
        """Yield the runs of all cases; see :class:`BenchmarkPlan`."""
        for case in self.cases.each():
            yield from self.case_runs(case)

    @abstractmethod
    def case_runs(self, case: Case) -> Iterator[Any]:
        """Yield the runs of one case."""
