"""Training examples from logs: one row per query and metric, with the time of each backend."""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from encoders.backends.registry import all_backends
from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import InputError
from encoders.problem.descriptors import Shape
from selector.candidates import backend_of
from selector.descriptors import NAMES, Case, EnsembleDescriptors, Metric
from selector.learning.contention import CORES, Contention
from selector.learning.costs import Runs, Spent, candidates, spent_by
from selector.learning.exact import Table
from selector.logs.record import LEFT, PROOFS
from selector.logs.summary import PAR_FACTOR, whole_runs
from selector.schedule import Schedule

METRIC_OF_MODE = MappingProxyType[str, Metric]({"solo": "total", "session": "solver"})
# Runs with a shorter limit than this share of the longest limit on a query count as censored: a
# schedule or a learning session gave the backend only a brief turn.
BRIEF = 0.5
FEW = 0.5  # share of the solved queries; logs that compare backends on fewer are called sparse
TextArray: TypeAlias = np.ndarray[Any, np.dtype[np.str_]]
Objective = Literal["regret", "accuracy"]
LOG_RUNS = "Log runs of every backend; see `counterfolio bench --protocol`."
Record = dict[str, Any]  # a log record by column name


@dataclass(frozen=True, eq=False)
class Examples:
    """Training rows, one per query and metric.

    Times are wall-clock seconds: of whole queries if the metric is "total", of solving alone if it
    is "solver". Methods do not change arrays, so threads can share an object.

    Attributes
    ----------
    values : finite descriptors in the order of :data:`selector.descriptors.NAMES`, float64 (n_rows,
        n_descriptors).
    backends : names, one per column of ``seconds``.
    seconds : time until the proof, inf without one, float64 (n_rows, n_backends).
    least : lower bound of the time until the proof, float64 (n_rows, n_backends); less than
        ``seconds`` only where that is inf.
    limit_s : time limit of the row's runs, float64 (n_rows,).
    groups : data sets, text (n_rows,).
    solver : whether a backend reused its model, bool (n_rows,).
    describe_s : seconds that computing descriptors took, float64 (n_rows,).
    time : ISO 8601 times of the newest runs, text (n_rows,).
    questions : question types, text (n_rows,).
    contention : measured slow-down of races.
    known : examples from which censored runs are imputed, None for these examples.
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
        """Return the examples of some rows."""
        arrays = {name: getattr(self, name)[rows] for name in OF_ROWS}
        return replace(self, **arrays, known=None)

    def judging(self, rows: BoolArray) -> "Examples":
        """Return some rows for testing; their censored runs are imputed from all of these rows."""
        return replace(self.of(rows), known=self)

    @property
    def digest(self) -> str:
        """Digest of descriptors and seconds, 16 hexadecimal digits."""
        whole = hashlib.sha256(self.values.tobytes() + self.seconds.tobytes())
        return whole.hexdigest()[:16]

    @property
    def imputed(self) -> BoolArray:
        """Mask of runs with only a lower bound below the time limit, bool (n_rows, n_backends).

        They lost a race, had a brief turn, or never took place.
        """
        complete = self.least >= self.limit_s[:, None] * (1 - 1e-6)
        return ~np.isfinite(self.seconds) & ~complete

    def penalised(self, factor: int = PAR_FACTOR) -> FloatArray:
        """Return seconds, or ``factor`` limits without proof (PAR), float64 (n_rows, n_backends).

        A censored run lost a race, had a brief turn, or never took place. It counts as the mean of
        the backend's runs that took longer. It counts as at least twice its observed time and twice
        the fastest proof of the row. So an unfinished run never beats a finished one.
        """
        cost, cut = self.followed(factor), self.imputed
        fastest = self.seconds.min(axis=1, initial=np.inf)
        pool = self if self.known is None else self.known
        known = np.where(pool.imputed, np.nan, pool.followed(factor))
        for row, column in np.argwhere(cut).tolist():
            others, observed = known[:, column], self.least[row, column]
            longer = others[others > observed]
            least = fastest[row] if np.isfinite(fastest[row]) else observed
            cost[row, column] = max(longer.mean() if longer.size else 0.0, 2 * observed, 2 * least)
        return cost

    def followed(self, factor: int) -> FloatArray:
        limit = self.limit_s[:, None]
        return np.where(np.isfinite(self.seconds), self.seconds, factor * limit)

    def schedules(self, cores: int = CORES, switches: int = 0) -> tuple[Schedule, ...]:
        """Return the schedules for leaves, see :func:`selector.learning.costs.candidates`."""
        return candidates(self.backends, cores, self.seconds, switches)

    def table(
        self,
        objective: Objective = "regret",
        factor: int = PAR_FACTOR,
        cores: int = CORES,
        switches: int = 0,
    ) -> Table:
        """Return the cost of schedules on each row, one column per schedule.

        With "regret" the unit is seconds: the best backend's time is a constant per row, so minimal
        cost is minimal regret. With "accuracy" the cost is 1 where another backend is faster, and
        leaves hold single backends, as in the paper.
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
        """Return the time of a schedule per row, see :func:`selector.learning.costs.spent_by`."""
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
            raise InputError(f"The logs hold no run of {backend}. {LOG_RUNS}")
        return self.backends.index(backend)


OF_ALL = ("backends", "contention", "known")
OF_ROWS = tuple(field.name for field in fields(Examples) if field.name not in OF_ALL)


def examples(
    frame: pd.DataFrame, backends: Sequence[str] = (), contention: Contention | None = None
) -> Examples:
    """Return one row per query that a backend proved and presolve alone did not.

    Runs of a query with a reused model form a separate row.
    """
    runs = solver_runs(frame)
    ended = runs[runs["status"].isin(PROOFS) | ~runs["censored"]]
    gaps = {backend.name for backend in all_backends() if backend.capability.epsilon}
    proving = {name for name in ended["backend"] if backend_of(name) not in gaps}
    names = tuple(backends) or tuple(sorted(proving))
    runs = runs[runs["backend"].isin(names)]
    _check(runs, names)
    solver = runs["mode"] == "session"
    records: list[Record] = [
        dict(zip(runs.columns, row, strict=True)) for row in runs.itertuples(index=False, name=None)
    ]
    rows: dict[tuple[str, bool], list[Record]] = {}
    for record, kept in zip(records, solver.tolist(), strict=True):
        rows.setdefault((record["query"], kept), []).append(record)
    table = [
        _row(rows[key], names, key[1])
        for key in sorted(rows)
        if any(record["status"] in PROOFS for record in rows[key])
    ]
    if not table:
        raise InputError(
            f"The logs hold no query that a backend proved: presolve alone or nothing proved their "
            f"{frame['query'].nunique()} queries. Log more or harder queries."
        )
    values, *columns = (np.array(column) for column in zip(*table, strict=True))
    arrays: dict[str, Any] = dict(zip(OF_ROWS[1:], columns, strict=True))
    return Examples(values, names, **arrays, contention=contention or Contention())


def solver_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of backends on problems that presolve did not finish, one row for each.

    Names of backends include an engine and a formulation that are not the defaults.
    """
    runs = frame[frame["mode"].isin([*METRIC_OF_MODE, "race"]) & (frame["backend"] != "reduce")]
    runs = whole_runs(runs[runs["left_options"].notna()])
    engine = ("/" + runs["engine"]).where(runs["engine"] != "", "")
    formulation = (":" + runs["formulation"]).where(runs["formulation"] != "", "")
    return runs.assign(backend=runs["backend"] + engine + formulation)


def _check(runs: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise :class:`InputError` if a backend has no run, or a run has no time."""
    if lacking := sorted(set(names) - set(runs["backend"])):
        raise InputError(f"The logs hold no run of {lacking[0]}. {LOG_RUNS}")
    times = runs[["total_s", "solve_s", "limit_s"]]
    bad = ~((times.abs() < math.inf).all(axis=1) & (runs["limit_s"] > 0))
    if bad.any():
        raise InputError(
            f"The record of run {runs.loc[bad, 'run'].iloc[0]} lacks its seconds or its limit. Run "
            "`counterfolio logs check` to list all such records."
        )


def _row(
    runs: Sequence[Record], names: Sequence[str], solver: bool
) -> tuple[list[float], list[float], list[float], float, str, bool, float, str, str]:
    first = runs[0]
    limit = float(max(run["limit_s"] for run in runs))
    took = "solve_s" if solver else "total_s"
    seconds, least = [], []
    for name in names:
        attempts = [run for run in runs if run["backend"] == name]
        proofs = [float(run[took]) for run in attempts if run["status"] in PROOFS]
        seconds.append(min(proofs, default=math.inf))
        brief = all(run["limit_s"] < BRIEF * limit for run in attempts)
        cut = (brief or any(run["censored"] for run in attempts)) and not proofs
        longest = max((float(run["total_s"]) for run in attempts), default=0.0)  # 0 if never run
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
    """Return the question type of a record: norm, kind of ensemble, constraints, plausibility."""
    sums = "votes" if run["votes"] else "boosted" if run["boosted"] else "means"
    parts = [f"norm {run['norm']}", sums, f"constraints {str(run['constraints'])[:6]}"]
    parts += ["plausible"] if run["plausible"] else []
    return ", ".join([*parts, "kept model"] if solver else parts)


def _number(value: float) -> float:
    return math.inf if pd.isna(value) else float(value)


EXPLORE = (
    "Run every backend on some queries and train again: explain(..., log=FOLDER, explore=0.05), "
    "counterfolio explain or batch --log FOLDER --explore 0.05, or counterfolio bench --protocol."
)


@dataclass(frozen=True)
class Coverage:
    """Counts of the queries and runs in logs.

    A query that is solved once alone and once with a kept model counts twice, as in
    :class:`selector.learning.examples.Examples`.

    Attributes
    ----------
    presolved : number of queries that presolve alone proved.
    solved : number of queries that a backend proved.
    compared : number of these on which at least two backends can be compared.
    complete : number of runs on solved queries that ended by themselves, by backend.
    interrupted : number of runs on solved queries that were stopped early, by backend.
    """

    presolved: int
    solved: int
    compared: int
    complete: Mapping[str, int]
    interrupted: Mapping[str, int]

    @property
    def missing(self) -> list[str]:
        """Return the names of the backends without a complete run."""
        return [name for name in rankable() if not self.complete.get(name)]

    @property
    def sparse(self) -> bool:
        """Return whether logs compare backends on few queries, or lack an installed backend."""
        installed = {backend.name for backend in all_backends() if backend.available}
        never = installed.intersection(self.missing) - set(self.interrupted)
        return self.compared < FEW * self.solved or bool(never)

    def __str__(self) -> str:
        ranked = {name: count for name, count in self.complete.items() if count}
        missing = self.missing
        parts = [
            f"These logs compare backends on {self.compared} of {self.solved} solved queries",
            f"complete runs: {_counts(ranked)}",
            f"interrupted runs: {_counts(self.interrupted)}",
            *([f"no complete run of {', '.join(missing)}"] if missing else []),
            f"presolve alone proved {self.presolved} more queries",
        ]
        return "; ".join(parts) + "."


def rankable() -> list[str]:
    """Return the names of the backends that the selector chooses among."""
    return [b.name for b in all_backends() if not b.capability.epsilon]


def covered(
    frame: pd.DataFrame, backends: Sequence[str] = (), contention: Contention | None = None
) -> tuple[Examples, Coverage]:
    """Return the queries on which logs compare backends, and count what the logs hold.

    A backend takes part in a comparison where it ended, or ran at least as long as the fastest
    proof. Other queries show only what the one backend took that happened to run: they are left
    out.
    """
    data = examples(frame, backends, contention)
    fastest = data.seconds.min(axis=1, keepdims=True)
    known = np.isfinite(data.seconds) | (data.least >= fastest) | ~data.imputed
    compared = known.sum(axis=1) >= 2
    return data.of(compared), _counted(frame, int(compared.sum()))


def _counted(frame: pd.DataFrame, compared: int) -> Coverage:
    """Count queries and runs; ``compared`` of the queries compare backends."""
    runs = solver_runs(frame)
    runs = runs[runs["backend"].map(backend_of).isin(rankable())]
    runs = runs.assign(kept=runs["mode"] == "session", proof=runs["status"].isin(PROOFS))
    by_query = runs.groupby(["query", "kept"])
    runs = runs.assign(
        solved=by_query["proof"].transform("any"), longest=by_query["limit_s"].transform("max")
    )
    runs = runs[runs["solved"]]
    whole = runs["proof"] | (~runs["censored"] & (runs["limit_s"] >= BRIEF * runs["longest"]))
    others = frame[~frame["query"].isin(runs["query"]) & frame["status"].isin(PROOFS)]
    return Coverage(
        presolved=others["query"].nunique(),
        solved=len(runs[["query", "kept"]].drop_duplicates()),
        compared=compared,
        complete=Counter(runs.loc[whole, "backend"]),
        interrupted=Counter(runs.loc[~whole, "backend"]),
    )


def _counts(runs: Mapping[str, int]) -> str:
    """Write counts by backend, most first."""
    order = sorted(runs.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in order) or "none"
