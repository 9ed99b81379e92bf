"""Benchmark of all backends on the same queries: medians, proved shares, ratios, agreement."""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.bench.protocol import KIND_NAMES
from portfolio.data.collection import DrawnQuery, datasets, draw_queries, freed, names
from portfolio.data.datasets import Dataset
from portfolio.data.trained_models import train
from portfolio.results.result import Result
from portfolio.workers.interrupt import noted_interrupts
from selector.logs.record import PROOFS

AGREEMENT = 1e-6
Run = TypeVar("Run")


@dataclass(frozen=True)
class Benchmark:
    """Settings of a benchmark.

    Attributes
    ----------
    folder : directory of data sets, or None for those of scikit-learn.
    only : names of data sets, empty for all.
    kinds : kinds of model, any of "soft", "hard", "xgb".
    backends : strategies as in ``explain``. "plain-cp" is the plain formulation of cp without
        presolve. "plain-cp:published" is the same with the default parameters of CP-SAT, whose
        answers are not proved.
    trees, depth : number of trees and maximum depth of each model, 0 for no limit.
    queries : number of rows per model.
    seed : random seed of models, rows and solvers.
    norm : norm as in ``explain``, as text.
    time_limit_s : seconds for each query and backend.
    threads : number of solver threads, None for all cores.
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
    """Run of one backend on one query.

    Attributes
    ----------
    query : position of the row in the data set.
    seconds : seconds from the call to the verified answer, at least the limit after a timeout.
    distance : distance of the answer, None without one.
    by_reduction : bool, whether presolve proved the answer without a backend.
    options, leaves : size of the problem after presolve (options beyond one per axis).
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
    """Train each model once and solve the same queries with all backends in turn.

    As in the paper's protocol, the actions of the data sets are ignored. A first query is a warm-up
    and does not count.
    """
    run_each_model(
        benchmark, lambda dataset, kind, model: _runs_of(benchmark, dataset, kind, model), on_run
    )


def run_each_model(
    benchmark: Benchmark,
    runs_of: Callable[[Dataset, str, Any], Iterator[Run]],
    on_run: Callable[[Run], None],
) -> None:
    """Train each model once, and pass its runs to a callback."""
    with noted_interrupts(terminate=True) as stop:
        for dataset in datasets(benchmark.folder, benchmark.only):
            for kind in benchmark.kinds:
                if kind not in KIND_NAMES:
                    raise InputError(f"unknown kind {kind!r}. Use one of {', '.join(KIND_NAMES)}.")
                name, trees = KIND_NAMES[kind], benchmark.trees
                model = train(dataset, name, trees, benchmark.depth, benchmark.seed)
                for run in runs_of(dataset, kind, model):
                    on_run(run)
                    if stop.is_set():
                        raise KeyboardInterrupt


def size(benchmark: Benchmark) -> int:
    """Return the number of runs of a benchmark."""
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
        # Each query starts with another backend, so that no backend is always the first.
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
    if result.stop_reason == "interrupted":  # Ctrl-C ends the whole benchmark
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
    """Summary of one backend on one data set and kind of model.

    Attributes
    ----------
    queries : number of queries.
    median, p90 : median and 90th percentile of the seconds.
    proved, by_reduction : shares of the queries, 0 to 1.
    ratio : median seconds of the baseline divided by those of the backend; None without a baseline.
    options, leaves : medians of the size after presolve.
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
    """Return medians and shares by data set, kind and backend; timeouts count at the limit."""
    lines = []
    keys = dict.fromkeys((r.dataset, r.kind) for r in runs)
    for dataset, kind in keys:
        group = [r for r in runs if (r.dataset, r.kind) == (dataset, kind)]
        base = [r.seconds for r in group if r.backend == against]
        for backend in sorted({r.backend for r in group}):
            of_backend = [r for r in group if r.backend == backend]
            seconds = [r.seconds for r in of_backend]
            median = statistics.median(seconds)
            lines.append(
                BackendSummary(
                    dataset=dataset,
                    kind=kind,
                    backend=backend,
                    queries=len(of_backend),
                    median=median,
                    p90=float(np.quantile(seconds, 0.9)),
                    proved=sum(r.status in PROOFS for r in of_backend) / len(of_backend),
                    ratio=statistics.median(base) / median if base else None,
                    by_reduction=sum(r.by_reduction for r in of_backend) / len(of_backend),
                    options=statistics.median(r.options for r in of_backend),
                    leaves=statistics.median(r.leaves for r in of_backend),
                )
            )
    return lines


def disagreements(runs: list[BenchmarkRun]) -> list[str]:
    """Return the queries on which two proofs contradict each other; must be empty."""
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
    """Return a run or summary as plain values for JSON."""
    return asdict(item)
