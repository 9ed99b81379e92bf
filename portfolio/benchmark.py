"""Every backend on the same queries: medians, proved shares, ratios, and whether they agree."""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from encoders.errors import InputError
from encoders.features import FeatureSpace
from portfolio.counterfactual import Result
from portfolio.datasets import Dataset, read_dataset
from portfolio.explainer import Explainer
from portfolio.training import Trainable, train

KIND_NAMES: dict[str, Trainable] = {"soft": "forest", "hard": "hard-forest", "xgb": "xgboost"}
PLAIN = "plain-"
AGREEMENT = 1e-6
BUNDLED = "bundled"


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    folder : directory of data sets, or None for scikit-learn's bundled ones
    only : data set names, empty for all
    kinds : of "soft", "hard", "xgb"
    backends : names as in ``explain``; "plain-cp" is cp's plain formulation, unreduced;
        "plain-cp:published" the same with CP-SAT's default parameters, whose answers are no proofs
    """

    folder: Path | None
    only: tuple[str, ...]
    kinds: tuple[str, ...]
    backends: tuple[str, ...]
    trees: int
    depth: int
    queries: int
    seed: int
    norm: str
    time_limit_s: float
    threads: int | None


@dataclass(frozen=True)
class Run:
    """One query answered by one backend.

    Attributes
    ----------
    seconds : from the call to the verified answer; at least the limit where a limit ended it
    options, leaves : what reduction left to decide (options beyond one per axis)
    """

    dataset: str
    kind: str
    query: int
    backend: str
    status: str
    seconds: float
    distance: float | None
    by_reduction: bool
    options: int
    leaves: int


def run_plan(plan: Plan, on_run: Callable[[Run], None]) -> None:
    """Train each model once and answer the same queries with all backends in turn.

    Actionability of the data sets is not enforced, as in the paper's protocol. One query is run
    first and not counted.
    """
    for dataset in datasets(plan):
        for kind in plan.kinds:
            for run in _run_model(plan, dataset, kind):
                on_run(run)


def size(plan: Plan) -> int:
    """How many runs a plan has."""
    return len(names(plan)) * len(plan.kinds) * plan.queries * len(plan.backends)


def names(plan: Plan) -> list[str]:
    """The data sets of a plan.

    Raises
    ------
    InputError
        The folder or one of the data sets is not there.
    """
    if plan.folder is None:
        known = ["breast-cancer", "wine"]
    else:
        if not plan.folder.is_dir():
            raise InputError(f"there is no folder {plan.folder}.")
        known = sorted(path.name.split(".")[0] for path in plan.folder.glob("*.csv*"))
    missing = [name for name in plan.only if name not in known]
    if missing:
        raise InputError(f"there is no data set {missing[0]!r}; there are {', '.join(known)}.")
    return list(plan.only) or known


def datasets(plan: Plan) -> Iterator[Dataset]:
    """Read the data sets one after the other."""
    for name in names(plan):
        yield one_dataset(plan.folder, name)


def one_dataset(folder: Path | None, name: str) -> Dataset:
    """A data set of a folder, or a bundled one."""
    if folder is None:
        return _bundled(name)
    return read_dataset(next(iter(sorted(folder.glob(f"{name}.csv*")))))


def _bundled(name: str) -> Dataset:
    from sklearn.datasets import load_breast_cancer, load_wine

    from encoders.infer import infer_features

    loader = {"breast-cancer": load_breast_cancer, "wine": load_wine}[name]
    data = loader(as_frame=True)
    frame = cast(pd.DataFrame, data.data)
    return Dataset(name, frame, data.target.to_numpy(), infer_features(frame), {})


def _run_model(plan: Plan, dataset: Dataset, kind: str) -> Iterator[Run]:
    if kind not in KIND_NAMES:
        raise InputError(f"unknown kind {kind!r}; known are {', '.join(KIND_NAMES)}.")
    model = train(dataset, KIND_NAMES[kind], plan.trees, plan.depth, plan.seed)
    features = tuple(replace(f, action="free") for f in dataset.space.features)
    explainer = Explainer(model, dataset.X, FeatureSpace(features, dataset.space.columns))
    rng = np.random.default_rng(plan.seed)
    rows = rng.choice(len(dataset.X), min(plan.queries + 1, len(dataset.X)), replace=False)
    for number, row in enumerate(rows.tolist()):
        x = dataset.X.iloc[row]
        target = _target(explainer, x, rng)
        if number == 0:  # warm-up: compiled code, caches, imports
            for backend in plan.backends:
                _answer(explainer, x, target, replace(plan, time_limit_s=1.0), backend)
            continue
        # Each query begins with another backend, so that none is always the first.
        turn = number % len(plan.backends)
        for backend in plan.backends[turn:] + plan.backends[:turn]:
            result = _answer(explainer, x, target, plan, backend)
            yield _record(plan, dataset.name, kind, row, backend, result)


def _target(explainer: Explainer, x: "pd.Series[Any]", rng: np.random.Generator) -> Any:
    current = explainer.predict(x)
    return rng.choice(np.array([label for label in explainer.classes if label != current]))


def _answer(
    explainer: Explainer, x: "pd.Series[Any]", target: Any, plan: Plan, backend: str
) -> Result:
    result = explainer.explain(
        x,
        target=target,
        norm=plan.norm,
        backend=backend.removeprefix(PLAIN),
        reduce=not backend.startswith(PLAIN),
        time_limit_s=plan.time_limit_s,
        threads=plan.threads,
        seed=plan.seed,
    )
    if result.stop_reason == "interrupted":  # Ctrl-C means the whole benchmark, not this query
        raise KeyboardInterrupt
    return result


def _record(plan: Plan, name: str, kind: str, row: int, backend: str, result: Result) -> Run:
    ended = result.stop_reason not in ("time_limit", "memory_limit", "interrupted")
    return Run(
        dataset=name,
        kind=kind,
        query=row,
        backend=backend,
        status=result.status,
        seconds=result.timings.total if ended else max(plan.time_limit_s, result.timings.total),
        distance=result.distance if math.isfinite(result.distance) else None,
        by_reduction=result.backend == "reduce",
        options=result.left[0],
        leaves=result.left[1],
    )


@dataclass(frozen=True)
class Line:
    """One backend on one data set and kind; ``ratio`` is against the plain baseline."""

    dataset: str
    kind: str
    backend: str
    queries: int
    median: float
    p90: float
    proved: float
    ratio: float | None
    by_reduction: float
    options: float
    leaves: float


def summarise(runs: list[Run], against: str) -> list[Line]:
    """Medians and shares; time-outs count at the limit."""
    lines = []
    keys = dict.fromkeys((r.dataset, r.kind) for r in runs)
    for dataset, kind in keys:
        group = [r for r in runs if (r.dataset, r.kind) == (dataset, kind)]
        base = [r.seconds for r in group if r.backend == against]
        for backend in sorted({r.backend for r in group}):
            own = [r for r in group if r.backend == backend]
            seconds = [r.seconds for r in own]
            median = statistics.median(seconds)
            lines.append(
                Line(
                    dataset=dataset,
                    kind=kind,
                    backend=backend,
                    queries=len(own),
                    median=median,
                    p90=float(np.quantile(seconds, 0.9)),
                    proved=sum(r.status in ("optimal", "infeasible") for r in own) / len(own),
                    ratio=statistics.median(base) / median if base else None,
                    by_reduction=sum(r.by_reduction for r in own) / len(own),
                    options=statistics.median(r.options for r in own),
                    leaves=statistics.median(r.leaves for r in own),
                )
            )
    return lines


def disagreements(runs: list[Run]) -> list[str]:
    """Queries on which two proofs contradict each other; must be empty."""
    wrong = []
    for key in dict.fromkeys((r.dataset, r.kind, r.query) for r in runs):
        proofs = {
            r.backend: math.inf if r.distance is None else r.distance
            for r in runs
            if (r.dataset, r.kind, r.query) == key and r.status in ("optimal", "infeasible")
        }
        values = sorted(proofs.values())
        if values and values[-1] - values[0] > AGREEMENT * max(1.0, values[0]):
            wrong.append(f"{key}: {proofs}")
        if values and math.isinf(values[-1]) and math.isfinite(values[0]):
            wrong.append(f"{key}: {proofs}")
    return wrong


def as_record(item: Run | Line) -> dict[str, Any]:
    """A run or line as plain values for JSON."""
    return asdict(item)
