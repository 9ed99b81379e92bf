"""What logs teach: one row per query and metric, with what every backend costs there."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray
from encoders.backends.registry import all_backends
from encoders.errors import InputError
from encoders.problem.descriptors import Shape
from selector.case import NAMES, Case, Metric
from selector.descriptors import EnsembleDescriptors
from selector.learning.contention import CORES, Contention
from selector.learning.costs import Runs, Spent, spent_by
from selector.learning.exact import Table
from selector.learning.schedules import candidates
from selector.logs.record import LEFT, PROOFS
from selector.logs.summary import PAR_FACTOR
from selector.logs.whole_runs import whole_runs
from selector.schedule import Schedule

METRIC_OF_MODE = MappingProxyType[str, Metric]({"solo": "total", "session": "solver"})
# Of the longest limit on a query: whoever had less was stopped by a schedule, or tried by a session
# that learns, so that this says little of what the whole limit would have been good for.
BRIEF = 0.5
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
    questions : types of questions, in words, text (n_rows,); see the glossary
    contention : what races cost
    known : the examples whose runs tell what others would have taken, None for these
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
    questions: TextArray
    contention: Contention = field(default_factory=Contention)
    known: "Examples | None" = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def of(self, rows: BoolArray) -> "Examples":
        """Some of the rows."""
        own = {name: getattr(self, name)[rows] for name in OF_ROWS}
        return replace(self, **own, known=None)

    def judging(self, rows: BoolArray) -> "Examples":
        """Some of the rows, to judge by: what was not seen to its end counts by all of these."""
        return replace(self.of(rows), known=self)

    @property
    def digest(self) -> str:
        """Of descriptors and seconds, 16 hexadecimal digits."""
        whole = hashlib.sha256(self.values.tobytes() + self.seconds.tobytes())
        return whole.hexdigest()[:16]

    @property
    def imputed(self) -> BoolArray:
        """Runs of which only a bound from below is known, less than the limit: they lost a race,
        had a brief turn, or were never made; bool (n_rows, n_backends)."""
        followed = self.least >= self.limit_s[:, None] * (1 - 1e-6)
        return ~np.isfinite(self.seconds) & ~followed

    def penalised(self, factor: int = PAR_FACTOR) -> FloatArray:
        """Seconds, float64 (n_rows, n_backends); without proof ``factor`` times the limit (PAR).

        One that was stopped before its limit (it lost a race, or had a brief turn), or never made,
        counts what runs of the same backend cost on average that took longer, and at least twice
        the time to which it was followed, and twice what proved the row first: a run that nobody
        saw end does not beat one that did.
        """
        cost, cut = self._followed(factor), self.imputed
        fastest = self.seconds.min(axis=1, initial=np.inf)
        pool = self if self.known is None else self.known
        known = np.where(pool.imputed, np.nan, pool._followed(factor))
        for row, column in np.argwhere(cut).tolist():
            others, followed = known[:, column], self.least[row, column]
            longer = others[others > followed]
            least = fastest[row] if np.isfinite(fastest[row]) else followed
            cost[row, column] = max(longer.mean() if longer.size else 0.0, 2 * followed, 2 * least)
        return cost

    def _followed(self, factor: int) -> FloatArray:
        limit = self.limit_s[:, None]
        return np.where(np.isfinite(self.seconds), self.seconds, factor * limit)

    def schedules(self, cores: int = CORES, switches: int = 0) -> tuple[Schedule, ...]:
        """What a leaf may hold, see :func:`selector.learning.schedules.candidates`."""
        return candidates(self.backends, cores, self.seconds, switches)

    def table(
        self,
        objective: Objective = "regret",
        factor: int = PAR_FACTOR,
        cores: int = CORES,
        switches: int = 0,
    ) -> Table:
        """What schedules cost, one column each.

        With "regret" in seconds: what a row's best backend takes is the same for all, so the
        least cost is the least regret. With "accuracy" 1 where another backend is the best one;
        leaves then hold single backends, as in the paper.
        """
        schedules = self.schedules(cores, switches)
        if objective == "accuracy":
            each = self.penalised(factor)
            missed = (each > each.min(axis=1, keepdims=True)).astype(np.float64)
            return Table(NAMES, self.values, schedules[: len(self.backends)], missed)
        runs = self._runs(factor)
        cost = [spent_by(schedule, runs, self.contention).wall for schedule in schedules]
        return Table(NAMES, self.values, schedules, np.column_stack(cost))

    def spent(self, schedule: Schedule, factor: int = PAR_FACTOR) -> Spent:
        """What a schedule takes on each row, see :func:`selector.learning.costs.spent_by`."""
        return spent_by(schedule, self._runs(factor), self.contention)

    def _runs(self, factor: int) -> Runs:
        each = self.penalised(factor)
        return Runs(
            lambda name: self.seconds[:, self._column(name)],
            lambda name: each[:, self._column(name)],
            self.limit_s,
            factor * self.limit_s,
            self.solver,
        )

    def _column(self, backend: str) -> int:
        if backend not in self.backends:
            raise InputError(f"the logs hold no run of {backend}.")
        return self.backends.index(backend)


OF_ALL = ("backends", "contention", "known")
OF_ROWS = tuple(field.name for field in fields(Examples) if field.name not in OF_ALL)


def examples(
    frame: pd.DataFrame, backends: Sequence[str] = (), contention: Contention | None = None
) -> Examples:
    """Queries that some backend proved, but reduction alone did not.

    A query's runs with a kept model are a row of their own.
    """
    runs = solver_runs(frame)
    proofs = runs[runs["status"].isin(PROOFS)]
    gaps = {backend.name for backend in all_backends() if backend.capability.epsilon}
    names = tuple(backends) or tuple(sorted(set(proofs["backend"]) - gaps))
    runs = runs[runs["backend"].isin(names)]
    _check(runs, names)
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
        raise InputError(
            f"the logs hold no query that a backend proved: {frame['query'].nunique()} queries, "
            "which presolve alone proved or nothing did."
        )
    values, *columns = (np.array(column) for column in zip(*found, strict=True))
    own: dict[str, Any] = dict(zip(OF_ROWS[1:], columns, strict=True))
    return Examples(values, names, **own, contention=contention or Contention())


def solver_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of backends on problems that presolve did not finish, one row for each."""
    runs = frame[frame["mode"].isin([*METRIC_OF_MODE, "race"]) & (frame["backend"] != "reduce")]
    return whole_runs(runs[runs["left_options"].notna()])


def _check(runs: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise :class:`InputError` where there is nothing of a backend, or no time of a run."""
    if lacking := sorted(set(names) - set(runs["backend"])):
        raise InputError(f"the logs hold no run of {lacking[0]}.")
    times = runs[["total_s", "solve_s", "limit_s"]]
    bad = ~((times.abs() < math.inf).all(axis=1) & (runs["limit_s"] > 0))
    if bad.any():
        raise InputError(
            f"the record of run {runs.loc[bad, 'run'].iloc[0]} lacks its seconds or its limit; "
            "`counterfolio logs check` finds more of them."
        )


def _row(
    runs: Sequence[Record], names: Sequence[str], solver: bool
) -> tuple[list[float], list[float], list[float], float, str, bool, float, str, str]:
    first = runs[0]
    limit = float(max(run["limit_s"] for run in runs))
    took = "solve_s" if solver else "total_s"
    seconds, least = [], []
    for name in names:
        own = [run for run in runs if run["backend"] == name]
        proofs = [float(run[took]) for run in own if run["status"] in PROOFS]
        seconds.append(min(proofs, default=math.inf))
        brief = all(run["limit_s"] < BRIEF * limit for run in own)
        cut = (brief or any(run["censored"] for run in own)) and not proofs
        longest = max((float(run["total_s"]) for run in own), default=0.0)  # never asked
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
        _question_type(first, solver),
    )  # fmt: skip


def _question_type(run: Record, solver: bool) -> str:
    """What a record tells of the question, but not of the model or the row, and what kind of sums
    it is about."""
    sums = "votes" if run["votes"] else "boosted" if run["boosted"] else "means"
    parts = [f"norm {run['norm']}", sums, f"constraints {str(run['constraints'])[:6]}"]
    parts += ["plausible"] if run["plausible"] else []
    return ", ".join([*parts, "kept model"] if solver else parts)


def _number(value: float) -> float:
    return math.inf if pd.isna(value) else float(value)
