"""What logs teach: one row per query and metric, with what every backend costs there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray
from encoders.backend import BACKENDS, find_backend
from encoders.errors import InputError
from encoders.shape import Shape
from selector.descriptors import EnsembleDescriptors
from selector.diagram import Schedule, alone
from selector.learn import Table
from selector.logs import LEFT, PROOFS
from selector.vector import NAMES, Case, Metric

PAR = 10
OURS = "search"  # the one that proves most
SLICE_S = 2.0
HEAD_START_S = 0.1  # of ours, which runs in this process, before another process is woken
CORES = 2
MODES: dict[str, Metric] = {"solo": "total", "session": "solver"}
ENDLESS = math.inf
Words = np.ndarray[Any, np.dtype[np.str_]]
Objective = Literal["regret", "accuracy"]


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows to learn from; all arrays have one entry per row.

    Attributes
    ----------
    backends : names, one per column of ``seconds``
    seconds : float64 (n_rows, n_backends), until the proof; inf without one
    least : float64 (n_rows, n_backends), it takes at least this long: less than ``seconds`` only
        where that is inf
    limit_s : time limit of the row's runs
    groups : data sets
    solver : whether seconds are those of a kept model
    describe_s : what the descriptors took
    time : when, as in the logs
    """

    values: FloatArray
    backends: tuple[str, ...]
    seconds: FloatArray
    least: FloatArray
    limit_s: FloatArray
    groups: Words
    solver: BoolArray
    describe_s: FloatArray
    time: Words

    def __len__(self) -> int:
        return len(self.values)

    def of(self, rows: BoolArray) -> "Examples":
        """Some of the rows."""
        return Examples(
            self.values[rows], self.backends, self.seconds[rows], self.least[rows],
            self.limit_s[rows], self.groups[rows], self.solver[rows], self.describe_s[rows],
            self.time[rows],
        )  # fmt: skip

    def penalised(self, factor: int = PAR) -> FloatArray:
        """Seconds; a run without proof counts ``factor`` times its limit.

        One that was stopped before its limit (it lost a race) counts what such runs of the same
        backend cost on average, as far as they were followed: the mean over rows on which it
        took longer than that, or the time itself if there is none.
        """
        limit = self.limit_s[:, None]
        cost = np.where(np.isfinite(self.seconds), self.seconds, factor * limit)
        cut = ~np.isfinite(self.seconds) & (self.least < limit * (1 - 1e-6))
        known = np.where(cut, np.nan, cost)
        for row, column in np.argwhere(cut).tolist():
            own = known[:, column]
            longer = own[own > self.least[row, column]]
            cost[row, column] = longer.mean() if longer.size else self.least[row, column]
        return cost

    def schedules(self, cores: int = CORES) -> tuple[Schedule, ...]:
        """What a leaf may hold: a backend; a slice of ours before another one, or of another one
        before ours; as many that race as there are cores, ours with a head start. What copes
        with more surprises comes last."""
        single = [alone(name) for name in self.backends]
        others = [name for name in self.backends if name != OURS]
        turns: list[Schedule] = []
        if len(others) < len(self.backends):
            turns += [(((OURS,), SLICE_S), *alone(name)) for name in others]
            turns += [(((name,), SLICE_S), *alone(OURS)) for name in others]
        together = [
            names
            for count in range(2, cores + 1)
            for names in combinations(sorted(self.backends, key=lambda name: name != OURS), count)
        ]
        races: list[Schedule] = [
            ((names[:1], HEAD_START_S), (names, ENDLESS)) if OURS in names else ((names, ENDLESS),)
            for names in together
        ]
        return (*single, *turns, *races)

    def table(
        self, objective: Objective = "regret", factor: int = PAR, cores: int = CORES
    ) -> Table:
        """What schedules cost.

        With "regret" in seconds: what a row's best backend takes is the same for all, so the
        least cost is the least regret. With "accuracy" 1 where another backend is the best one;
        leaves then hold single backends, as in the paper.
        """
        schedules, each = self.schedules(cores), self.penalised(factor)
        if objective == "accuracy":
            missed = (each > each.min(axis=1, keepdims=True)).astype(np.float64)
            return Table(NAMES, self.values, schedules[: len(self.backends)], missed)
        cost = np.column_stack([self._cost(schedule, each, factor) for schedule in schedules])
        return Table(NAMES, self.values, schedules, cost)

    def cost(self, schedule: Schedule, factor: int = PAR) -> FloatArray:
        """Seconds of a schedule on each row, float64 (n_rows,); racers have a core each.

        What runs in a turn and the next one goes on. A kept model is solved by the first of the
        last turn that can keep one, as in a session.
        """
        return self._cost(schedule, self.penalised(factor), factor)

    def _cost(self, schedule: Schedule, each: FloatArray, factor: int) -> FloatArray:
        cost = np.full(len(self), np.inf)
        offset, begun = 0.0, dict[str, float]()
        for names, seconds in schedule:
            begun = {name: begun.get(name, offset) for name in names}
            offset += seconds
            last = math.isinf(offset)  # it goes on until the limit
            own = (each if last else self.seconds)[:, self._columns(names)] + list(begun.values())
            found = own.min(axis=1)
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

    Parameters
    ----------
    backends : names, default all that proved something, but for those that stop at a gap

    Raises
    ------
    InputError
        The logs hold no such query.
    """
    own = frame[frame["mode"].isin([*MODES, "race"]) & (frame["backend"] != "reduce")]
    own = own[own["left_options"].notna()]
    proofs = own[own["status"].isin(PROOFS)]
    gaps = {backend.name for backend in BACKENDS if backend.capability.epsilon}
    names = tuple(backends) or tuple(sorted(set(proofs["backend"]) - gaps))
    own = own[own["backend"].isin(names)]
    solver = (own["mode"] == "session").rename("solver")
    found = [
        _row(group, names, bool(key[1]))
        for key, group in own.groupby(["query", solver])
        if group["status"].isin(PROOFS).any()
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


def _row(
    group: pd.DataFrame, names: Sequence[str], solver: bool
) -> tuple[list[float], list[float], list[float], float, str, bool, float, str]:
    first = group.iloc[0]
    limit = float(group["limit_s"].max())
    seconds, least = [], []
    for name in names:
        runs = group[group["backend"] == name]
        proved = runs[runs["status"].isin(PROOFS)]
        took = proved["solve_s" if solver else "total_s"]
        seconds.append(float(took.min()) if len(took) else math.inf)
        cut = runs["censored"].any() and not len(took)
        least.append(float(runs["total_s"].max()) if cut else min(seconds[-1], limit))
    case = Case(
        EnsembleDescriptors(**{f.name: first[f.name] for f in fields(EnsembleDescriptors)}),
        str(first["norm"]),
        bool(first["plausible"]),
        "solver" if solver else "total",
    )
    shape: dict[str, Any] = {f.name: _number(first[LEFT + f.name]) for f in fields(Shape)}
    left = Shape(**shape)
    values = case.values(left)
    return (
        [values[name] for name in NAMES], seconds, least, limit, str(first["dataset"]), solver,
        float(first["describe_s"]), str(group["time"].max()),
    )  # fmt: skip


def _number(value: float) -> float:
    return math.inf if pd.isna(value) else float(value)
