"""Benchmarks of queries, timed from the call to the verified answer."""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.core import system
from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.bench.cases import Case, train_case
from portfolio.data.collection import one_dataset
from portfolio.results.result import Result
from portfolio.workers.local_executor import LocalExecutor
from selector.logs.record import PROOFS

LIMIT_S = 60.0  # time limit of each query
WARM_UP_S = 2.0  # time limit of the warm-up
SEED = 7  # random seed of the rows
SLOW_S = 0.5  # faster queries do not justify the start of a second thread
PEAK = Path("/proc/self/clear_refs")  # writing "5" there resets the peak memory
GIGA = 1e9

Figures = dict[str, float]


def _case(folder: Path, dataset: str, kind: str, trees: int, depth: int) -> Case:
    return train_case(one_dataset(folder, dataset), kind, trees, depth)


def queries(
    name: str, kind: str, trees: int, depth: int, folder: Path, rows: int = 20, isolation: int = 0
) -> Figures:
    """Measure queries to a model, with isolation forests if their number of trees is not 0."""
    case = _case(folder, name, kind, trees, depth)
    inliers = case.plausibility(n_estimators=isolation) if isolation else None
    return measure_reading(partial(case.explainer, plausibility=inliers), case.dataset.X, rows)


def measure_reading(read: Callable[[], Explainer], table: pd.DataFrame, rows: int) -> Figures:
    """Return the figures of reading a model and of its queries, and the peak memory."""
    _forget_peak()
    began = time.process_time()
    explainer = read()
    read_s = time.process_time() - began
    figures = time_rows(explainer, _drawn(table, rows + 1))
    return {"read, CPU s": read_s, **figures, "peak, GB": _peak_gb()}


def _drawn(table: pd.DataFrame, count: int) -> pd.DataFrame:
    return table.iloc[np.random.default_rng(SEED).choice(len(table), count, replace=False)]


def time_rows(explainer: Explainer, rows: pd.DataFrame, **settings: Any) -> Figures:
    """Return the figures of all rows except the first one, which is a short warm-up."""
    explainer.explain(rows.iloc[0], time_limit_s=WARM_UP_S, **settings)
    seconds: list[float] = []
    results: list[Result] = []
    for _, row in rows.iloc[1:].iterrows():
        began = time.perf_counter()
        results.append(explainer.explain(row, time_limit_s=LIMIT_S, **settings))
        seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds)
    return {
        "first, s": statistics.median(map(_first, results)),
        "median, s": median,
        "max, s": max(seconds),
        "max, medians": max(seconds) / median,
        "proved": _proved(results),
    }


def _first(result: Result) -> float:
    """Return the seconds until the first answer, LIMIT_S without one."""
    return next((at for at, upper, _ in result.trace if np.isfinite(upper)), LIMIT_S)


def _proved(results: Sequence[Result]) -> float:
    return sum(result.status in PROOFS for result in results) / len(results)


def digits(folder: Path) -> Figures:
    """Measure a boosted model of many trees over dense features, with norm "inf"."""
    from sklearn.datasets import load_digits
    from xgboost import XGBClassifier

    data = load_digits(as_frame=True)
    chosen = data.target.isin((2, 6)).to_numpy()
    X, y = data.data[chosen] / data.data.to_numpy().max(), (data.target[chosen] == 6).to_numpy()
    # With a small learning rate all trees have splits, although the table is small.
    model = XGBClassifier(n_estimators=1000, max_depth=4, learning_rate=0.02, random_state=0)
    explainer = Explainer(model.fit(X, y), X)
    return time_rows(explainer, _drawn(X, 21), norm="inf", scale="none")


def dense(folder: Path) -> Figures:
    """Measure a boosted model of ten classes and 300 deep trees, with norm "inf"."""
    from sklearn.datasets import make_classification
    from xgboost import XGBClassifier

    X, y = make_classification(
        n_samples=10_000,
        n_features=28,
        n_informative=20,
        n_redundant=4,
        n_classes=10,
        n_clusters_per_class=1,
        random_state=0,
    )
    table = pd.DataFrame((X - X.min(axis=0)) / np.ptp(X, axis=0)).add_prefix("x")
    model = XGBClassifier(n_estimators=30, max_depth=8, learning_rate=0.1, random_state=0)
    explainer = Explainer(model.fit(table, y), table)
    return time_rows(explainer, _drawn(table, 11), norm="inf", scale="none")


def large_forest(folder: Path) -> Figures:
    """Measure a default forest of many rows and classes, also relative to the model's memory."""
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier

    X, y = make_classification(
        n_samples=500_000, n_features=50, n_informative=25, n_classes=7, random_state=0
    )
    table = pd.DataFrame(X).add_prefix("x")
    model = RandomForestClassifier(random_state=0, n_jobs=-1).fit(X, y)
    model_bytes = sum(
        part.nbytes
        for tree in model.estimators_
        for part in (tree.tree_.value, tree.tree_.__getstate__()["nodes"])
    )
    figures = measure_reading(partial(Explainer, model.set_params(n_jobs=1), table), table, rows=3)
    return {**figures, "peak, x the model's": figures["peak, GB"] * GIGA / model_bytes}


def map_batch(name: str, folder: Path) -> Figures:
    """Measure a batch with a map."""
    case = _case(folder, name, "xgb", 100, 5)
    explainer, table = case.explainer(), case.dataset.X
    explainer.with_map().explain(table.iloc[0])  # compiles
    began = time.process_time()
    explainer = explainer.with_map()
    made_s = time.process_time() - began
    places = np.random.default_rng(SEED).choice(len(table), 4000)
    rows = table.iloc[places].reset_index(drop=True)
    pace = _pace(explainer, rows, executor=LocalExecutor(workers=1))
    return {"made, CPU s": made_s, "a row, ms": 1000 / pace}


def two_threads(folder: Path) -> Figures:
    """Measure the speed-up of the search backend by a second thread, on slow rows."""
    case = _case(folder, "SE", "soft", 500, 5)
    explainer = case.explainer(plausibility=case.plausibility(n_estimators=500))
    explainer.explain(case.dataset.X.iloc[0], time_limit_s=LIMIT_S)  # compiles
    seconds = {1: 0.0, 2: 0.0}
    for _, row in _drawn(case.dataset.X, 10).iterrows():
        took: dict[int, float] = {}
        results: list[Result] = []
        for threads in seconds:
            began = time.perf_counter()
            results.append(
                explainer.explain(row, strategy="search", threads=threads, time_limit_s=LIMIT_S)
            )
            took[threads] = time.perf_counter() - began
        if took[1] > SLOW_S and _proved(results) == 1.0:  # timeouts do not count
            seconds = {threads: seconds[threads] + took[threads] for threads in seconds}
    if not seconds[2]:
        raise InputError(f"no proved row took more than {SLOW_S:g} s on one thread.")
    return {"speed-up": seconds[1] / seconds[2]}


def batch(folder: Path) -> Figures:
    """Measure rows per second of a batch, with and without the start of its workers."""
    case = _case(folder, "AD", "soft", 100, 5)
    explainer, rows = case.explainer(), _drawn(case.dataset.X, 1500)
    explainer.explain(rows.iloc[0])  # compiles
    began = time.perf_counter()
    running = _pace(explainer, rows)
    return {"rows/s": len(rows) / (time.perf_counter() - began), "rows/s, running": running}


def _pace(explainer: Explainer, rows: pd.DataFrame, **settings: Any) -> float:
    """Return rows per second from the first answer of a batch to the last."""
    answered: list[tuple[float, int]] = []
    explainer.explain_batch(
        rows, on_answer=lambda now, rows: answered.append((time.perf_counter(), now)), **settings
    )
    (began, first), (ended, last) = answered[0], answered[-1]
    return (last - first) / (ended - began)


def _forget_peak() -> None:
    if PEAK.exists():
        PEAK.write_text("5")


def _peak_gb() -> float:
    """Return the peak memory of this process since :func:`_forget_peak`, in gigabytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        return system.peak_bytes() / GIGA
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) * 1024 / GIGA
