"""Cases of benchmarks: trained models of data sets, and queries drawn for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.data.collection import DrawnQuery, datasets, draw_queries, freed, names
from portfolio.data.datasets import Dataset
from portfolio.data.trained_models import Trainable, train

KIND_NAMES: dict[str, Trainable] = {"soft": "forest", "hard": "hard-forest", "xgb": "xgboost"}


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """RunLimits of each query of a benchmark.

    Attributes
    ----------
    time_limit_s : time limit in seconds.
    threads : number of solver threads, None for all cores.
    """

    time_limit_s: float = 60.0
    threads: int | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """Trained model of one data set.

    Attributes
    ----------
    dataset : the data set.
    kind : key of ``KIND_NAMES``.
    model : the fitted model.
    queries : number of queries to draw, without the first one, which is a warm-up.
    seed : random seed of the model, the queries and the solvers.
    """

    dataset: Dataset
    kind: str
    model: Any
    queries: int
    seed: int

    def explainer(self, free: bool = False, **settings: Any) -> Explainer:
        """Return an explainer of the model; ``free`` ignores the default actions of features."""
        space = freed(self.dataset.space) if free else self.dataset.space
        return Explainer(self.model, self.dataset.X, space, **settings)

    def drawn(self, explainer: Explainer) -> Iterator[DrawnQuery]:
        """Yield the queries; the one with number 0 is a warm-up of imports, caches and kernels."""
        return draw_queries(self.dataset, explainer, self.queries + 1, self.seed)


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Models to train, each on one data set.

    Attributes
    ----------
    folder : folder of CSV data sets, None for the bundled ones.
    only : names of the data sets, empty for all.
    kinds : keys of ``KIND_NAMES``.
    trees : number of trees.
    depth : largest depth of the trees, 0 for no limit.
    queries : number of queries per model.
    seed : random seed.
    """

    folder: Path | None = None
    only: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("soft",)
    trees: int = 100
    depth: int = 5
    queries: int = 20
    seed: int = 0

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
                model = train(dataset, KIND_NAMES[kind], self.trees, self.depth, self.seed)
                yield Case(dataset, kind, model, self.queries, self.seed)

    def __str__(self) -> str:
        return (
            f"{len(self.sets)} data sets, kinds {', '.join(self.kinds)}, {self.trees} trees of "
            f"depth {self.depth or 'any'}"
        )
