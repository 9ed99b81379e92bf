"""Every backend on the same queries: medians, proved shares, ratios, and whether they agree."""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from encoders.errors import InputError
from portfolio.data.collection import DrawnQuery, datasets, draw_queries, freed, names
from portfolio.data.datasets import Dataset
from portfolio.data.trained_models import train
from portfolio.explainer import Explainer
from portfolio.result import Result
from portfolio.running.interrupt import noted_interrupts
from portfolio.study.protocol import KIND_NAMES
from selector.logs.record import PROOFS

AGREEMENT = 1e-6
Run = TypeVar("Run")


@dataclass(frozen=True)
class Benchmark:
    """What to run.

    Attributes
    ----------
    folder : directory of data sets, or None for scikit-learn's bundled ones
    only : data set names, empty for all
    kinds : of "soft", "hard", "xgb"
    backends : strategies as in ``explain``; "plain-cp" is cp's plain formulation, unreduced;
        "plain-cp:published" the same with CP-SAT's default parameters, whose answers are no proofs
    trees, depth : of each model; the depth is the largest, 0 for no limit
    queries : rows asked of each model
    seed : of models, rows and solvers
    norm : as in ``explain``, as text
    time_limit_s : seconds for each query and backend
    threads : solver threads, None for all cores
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
class BenchmarkRun:
    """One query answered by one backend.

    Attributes
    ----------
    query : place of its row in the data set
    seconds : from the call to the verified answer; at least the limit where a limit ended it
    distance : None where no answer was found
    by_reduction : no backend was needed
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


def run_benchmark(benchmark: Benchmark, on_run: Callable[[BenchmarkRun], None]) -> None:
    """Train each model once and answer the same queries with all backends in turn.

    Actionability of the data sets is not enforced, as in the paper's protocol. One query is run
    first and not counted.
    """
    run_each_model(
        benchmark, lambda dataset, kind, model: _runs_of(benchmark, dataset, kind, model), on_run
    )


def run_each_model(
    benchmark: Benchmark,
    runs_of: Callable[[Dataset, str, Any], Iterator[Run]],
    on_run: Callable[[Run], None],
) -> None:
    """Train each model once, and hand on what is run with it."""
    with noted_interrupts(terminate=True) as stop:
        for dataset in datasets(benchmark.folder, benchmark.only):
            for kind in benchmark.kinds:
                if kind not in KIND_NAMES:
                    raise InputError(f"unknown kind {kind!r}; known are {', '.join(KIND_NAMES)}.")
                name, trees = KIND_NAMES[kind], benchmark.trees
                model = train(dataset, name, trees, benchmark.depth, benchmark.seed)
                for run in runs_of(dataset, kind, model):
                    on_run(run)
                    if stop.is_set():
                        raise KeyboardInterrupt


def size(benchmark: Benchmark) -> int:
    """How many runs a benchmark has."""
    sets = len(names(benchmark.folder, benchmark.only))
    return sets * len(benchmark.kinds) * benchmark.queries * len(benchmark.backends)


def _runs_of(
    benchmark: Benchmark, dataset: Dataset, kind: str, model: Any
) -> Iterator[BenchmarkRun]:
    backends, seed = benchmark.backends, benchmark.seed
    explainer = Explainer(model, dataset.X, freed(dataset.space))
    for query in draw_queries(dataset, explainer, benchmark.queries + 1, seed):
        if query.number == 0:  # warm-up: compiled code, caches, imports
            for backend in backends:
                _answer(explainer, query, replace(benchmark, time_limit_s=1.0), backend)
            continue
        # Each query begins with another backend, so that none is always the first.
        turn = query.number % len(backends)
        for backend in backends[turn:] + backends[:turn]:
            result = _answer(explainer, query, benchmark, backend)
            yield _record(benchmark, dataset.name, kind, query.row, backend, result)


def _answer(explainer: Explainer, query: DrawnQuery, benchmark: Benchmark, backend: str) -> Result:
    result = explainer.explain(
        query.x,
        target=query.target,
        norm=benchmark.norm,
        strategy=backend,
        time_limit_s=benchmark.time_limit_s,
        threads=benchmark.threads,
        seed=benchmark.seed,
    )
    if result.stop_reason == "interrupted":  # Ctrl-C means the whole benchmark, not this query
        raise KeyboardInterrupt
    return result


def _record(
    benchmark: Benchmark, name: str, kind: str, row: int, backend: str, result: Result
) -> BenchmarkRun:
    seconds = result.timings.total
    ended = result.stop_reason not in ("time_limit", "memory_limit", "interrupted")
    return BenchmarkRun(
        dataset=name,
        kind=kind,
        query=row,
        backend=backend,
        status=result.status,
        seconds=seconds if ended else max(benchmark.time_limit_s, seconds),
        distance=result.distance if math.isfinite(result.distance) else None,
        by_reduction=result.backend == "reduce",
        options=result.remaining[0],
        leaves=result.remaining[1],
    )


@dataclass(frozen=True)
class BackendSummary:
    """One backend on one data set and kind.

    Attributes
    ----------
    queries : how many were answered
    median, p90 : seconds; the median, and what nine of ten stay below
    proved, by_reduction : shares of the queries, 0 to 1
    ratio : median seconds of the baseline as a multiple of its own; None without a baseline
    options, leaves : medians of what reduction left to decide
    """

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


def summarise(runs: list[BenchmarkRun], against: str) -> list[BackendSummary]:
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
                BackendSummary(
                    dataset=dataset,
                    kind=kind,
                    backend=backend,
                    queries=len(own),
                    median=median,
                    p90=float(np.quantile(seconds, 0.9)),
                    proved=sum(r.status in PROOFS for r in own) / len(own),
                    ratio=statistics.median(base) / median if base else None,
                    by_reduction=sum(r.by_reduction for r in own) / len(own),
                    options=statistics.median(r.options for r in own),
                    leaves=statistics.median(r.leaves for r in own),
                )
            )
    return lines


def disagreements(runs: list[BenchmarkRun]) -> list[str]:
    """Queries on which two proofs contradict each other; must be empty."""
    wrong = []
    for key in dict.fromkeys((r.dataset, r.kind, r.query) for r in runs):
        proofs = {
            r.backend: math.inf if r.distance is None else r.distance
            for r in runs
            if (r.dataset, r.kind, r.query) == key and r.status in PROOFS
        }
        values = sorted(proofs.values())
        if values and values[-1] - values[0] > AGREEMENT * max(1.0, values[0]):
            wrong.append(f"{key}: {proofs}")
        if values and math.isinf(values[-1]) and math.isfinite(values[0]):
            wrong.append(f"{key}: {proofs}")
    return wrong


def as_record(item: BenchmarkRun | BackendSummary) -> dict[str, Any]:
    """A run or summary as plain values for JSON."""
    return asdict(item)
