"""What logs teach: one row per query and metric, with what every backend costs there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray
from encoders.backends.registry import all_backends, find_backend
from encoders.errors import InputError
from encoders.problem.descriptors import Shape
from selector.backend_facts import HEAD_STARTER
from selector.case import NAMES, Case, Metric
from selector.descriptors import EnsembleDescriptors
from selector.learning.exact import Table
from selector.logs.record import LEFT, PROOFS
from selector.logs.summary import PAR_FACTOR
from selector.schedule import Schedule, alone

# The head starter itself proves 97 % of the solo queries of training_logs within the first, and
# 77 % within the second, in which no other process need be woken.
SLICE_S = 2.0  # of the first of two that follow each other
HEAD_START_S = 0.1  # before others join a race
CORES = 2  # of the machine that the shipped logs are from
METRIC_OF_MODE = MappingProxyType[str, Metric]({"solo": "total", "session": "solver"})
TextArray = np.ndarray[Any, np.dtype[np.str_]]
Objective = Literal["regret", "accuracy"]
Record = dict[str, Any]  # of a log, by the names of its columns


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows to learn from, a query and a metric each; all arrays have one entry per row.

    Times are wall-clock seconds: whole queries where the metric is "total", solving alone where
    it is "solver". Nothing here changes an array, so that threads may share one.

    Attributes
    ----------
    values : descriptors, float64 (n_rows, n_descriptors), in the order of
        :data:`selector.case.NAMES`; finite
    backends : names, one per column of ``seconds``
    seconds : float64 (n_rows, n_backends), until the proof; inf without one
    least : float64 (n_rows, n_backends), it takes at least this long: less than ``seconds`` only
        where that is inf
    limit_s : time limit of the row's runs, float64 (n_rows,)
    groups : data sets, text (n_rows,)
    solver : whether seconds are those of a kept model, bool (n_rows,)
    describe_s : what the descriptors took, float64 (n_rows,)
    time : when, ISO 8601 as in the logs, text (n_rows,)
    """

    values: FloatArray
    backends: tuple[str, ...]
    seconds: FloatArray
    least: FloatArray
    limit_s: FloatArray
    groups: TextArray
    solver: BoolArray
    describe_s: FloatArray
    time: TextArray

    def __len__(self) -> int:
        return len(self.values)

    def of(self, rows: BoolArray) -> "Examples":
        """Some of the rows.

        Parameters
        ----------
        rows : which, bool (n_rows,)
        """
        return Examples(
            self.values[rows], self.backends, self.seconds[rows], self.least[rows],
            self.limit_s[rows], self.groups[rows], self.solver[rows], self.describe_s[rows],
            self.time[rows],
        )  # fmt: skip

    def penalised(self, factor: int = PAR_FACTOR) -> FloatArray:
        """Seconds, float64 (n_rows, n_backends); without proof ``factor`` times the limit (PAR).

        One that was stopped before its limit (it lost a race) counts what such runs of the same
        backend cost on average, as far as they were followed: the mean over rows on which it
        took longer than that, or the time itself if there is none.

        Parameters
        ----------
        factor : what a run without proof counts, in time limits
        """
        limit = self.limit_s[:, None]
        cost = np.where(np.isfinite(self.seconds), self.seconds, factor * limit)
        cut = ~np.isfinite(self.seconds) & (self.least < limit * (1 - 1e-6))
        known = np.where(cut, np.nan, cost)
        for row, column in np.argwhere(cut).tolist():
            others = known[:, column]
            longer = others[others > self.least[row, column]]
            cost[row, column] = longer.mean() if longer.size else self.least[row, column]
        return cost

    def schedules(self, cores: int = CORES) -> tuple[Schedule, ...]:
        """What a leaf may hold; what copes with more surprises comes last.

        Single backends; a slice of the head starter before another one, or of another one before
        it; as many that race as there are cores, the head starter being alone for a moment.

        Parameters
        ----------
        cores : that a query has; at most so many race
        """
        single = [alone(name) for name in self.backends]
        others = [name for name in self.backends if name != HEAD_STARTER]
        turns: list[Schedule] = []
        if len(others) < len(self.backends):
            turns += [(((HEAD_STARTER,), SLICE_S), *alone(name)) for name in others]
            turns += [(((name,), SLICE_S), *alone(HEAD_STARTER)) for name in others]
        first = sorted(self.backends, key=lambda name: name != HEAD_STARTER)
        races = [
            _race(names) for count in range(2, cores + 1) for names in combinations(first, count)
        ]
        return (*single, *turns, *races)

    def table(
        self, objective: Objective = "regret", factor: int = PAR_FACTOR, cores: int = CORES
    ) -> Table:
        """What schedules cost, one column each.

        With "regret" in seconds: what a row's best backend takes is the same for all, so the
        least cost is the least regret. With "accuracy" 1 where another backend is the best one;
        leaves then hold single backends, as in the paper.

        Parameters
        ----------
        objective : what a schedule's cost on a row is
        factor : what a run without proof counts, in time limits
        cores : that a query has; at most so many race
        """
        schedules, each = self.schedules(cores), self.penalised(factor)
        if objective == "accuracy":
            missed = (each > each.min(axis=1, keepdims=True)).astype(np.float64)
            return Table(NAMES, self.values, schedules[: len(self.backends)], missed)
        cost = np.column_stack([self._cost(schedule, each, factor) for schedule in schedules])
        return Table(NAMES, self.values, schedules, cost)

    def cost(self, schedule: Schedule, factor: int = PAR_FACTOR) -> FloatArray:
        """Seconds of a schedule on each row, float64 (n_rows,); racers have a core each.

        What runs in a turn and the next one goes on. A kept model is solved by the first of the
        last turn that can keep one, as in a session.

        Parameters
        ----------
        schedule : of backends that the examples have
        factor : what a run without proof counts, in time limits

        Raises
        ------
        InputError
            No example is of one of its backends.
        """
        return self._cost(schedule, self.penalised(factor), factor)

    def _cost(self, schedule: Schedule, each: FloatArray, factor: int) -> FloatArray:
        cost = np.full(len(self), np.inf)
        offset, begun = 0.0, dict[str, float]()
        for names, seconds in schedule:
            begun = {name: begun.get(name, offset) for name in names}
            offset += seconds
            last = math.isinf(offset)  # it goes on until the limit
            alone_s = (each if last else self.seconds)[:, self._columns(names)]
            found = (alone_s + list(begun.values())).min(axis=1)
            cost = np.where(np.isinf(cost) & (found <= offset), found, cost)
        if len(schedule) > 1:
            cost = np.where(cost <= self.limit_s, cost, factor * self.limit_s)
        last_ones = schedule[-1][0]
        keepers = [name for name in last_ones if find_backend(name).capability.sessions]
        kept = each[:, self._columns((keepers or last_ones)[:1])[0]]
        return np.where(self.solver, kept, cost)

    def _columns(self, names: Sequence[str]) -> list[int]:
        return [self._column(name) for name in names]

    def _column(self, backend: str) -> int:
        if backend not in self.backends:
            raise InputError(f"the logs hold no run of {backend}.")
        return self.backends.index(backend)


def examples(frame: pd.DataFrame, backends: Sequence[str] = ()) -> Examples:
    """Queries that some backend proved, but reduction alone did not.

    A query's runs with a kept model are a row of their own.

    Parameters
    ----------
    frame : records as :func:`selector.logs.read` gives them
    backends : names, default all that proved something, but for those that stop at a gap

    Raises
    ------
    InputError
        The logs hold no such query.
    """
    runs = frame[frame["mode"].isin([*METRIC_OF_MODE, "race"]) & (frame["backend"] != "reduce")]
    runs = runs[runs["left_options"].notna()]
    proofs = runs[runs["status"].isin(PROOFS)]
    gaps = {backend.name for backend in all_backends() if backend.capability.epsilon}
    names = tuple(backends) or tuple(sorted(set(proofs["backend"]) - gaps))
    runs = runs[runs["backend"].isin(names)]
    solver = runs["mode"] == "session"
    records: list[Record] = [
        dict(zip(runs.columns, row, strict=True)) for row in runs.itertuples(index=False, name=None)
    ]
    rows: dict[tuple[str, bool], list[Record]] = {}
    for record, kept in zip(records, solver.tolist(), strict=True):
        rows.setdefault((record["query"], kept), []).append(record)
    found = [
        _row(rows[key], names, key[1])
        for key in sorted(rows)
        if any(record["status"] in PROOFS for record in rows[key])
    ]
    if not found:
        raise InputError("the logs hold no query that a backend had to prove.")
    columns = list(zip(*found, strict=True))
    return Examples(
        np.array(columns[0], dtype=np.float64),
        names,
        np.array(columns[1], dtype=np.float64),
        np.array(columns[2], dtype=np.float64),
        *(np.array(column) for column in columns[3:]),
    )


def _race(names: tuple[str, ...]) -> Schedule:
    race = (names, math.inf)
    return ((names[:1], HEAD_START_S), race) if HEAD_STARTER in names else (race,)


def _row(
    runs: Sequence[Record], names: Sequence[str], solver: bool
) -> tuple[list[float], list[float], list[float], float, str, bool, float, str]:
    first = runs[0]
    limit = float(max(run["limit_s"] for run in runs))
    took = "solve_s" if solver else "total_s"
    seconds, least = [], []
    for name in names:
        own = [run for run in runs if run["backend"] == name]
        proofs = [float(run[took]) for run in own if run["status"] in PROOFS]
        seconds.append(min(proofs, default=math.inf))
        cut = any(run["censored"] for run in own) and not proofs
        longest = max((float(run["total_s"]) for run in own), default=math.nan)
        least.append(longest if cut else min(seconds[-1], limit))
    case = Case(
        EnsembleDescriptors(**{f.name: first[f.name] for f in fields(EnsembleDescriptors)}),
        str(first["norm"]),
        bool(first["plausible"]),
        "solver" if solver else "total",
    )
    shape: dict[str, Any] = {f.name: _number(first[LEFT + f.name]) for f in fields(Shape)}
    values = case.values(Shape(**shape))
    return (
        [values[name] for name in NAMES], seconds, least, limit, str(first["dataset"]), solver,
        float(first["describe_s"]), max(str(run["time"]) for run in runs),
    )  # fmt: skip


def _number(value: float) -> float:
    return math.inf if pd.isna(value) else float(value)
