"""Record of one attempt of a backend, and its columns in files."""

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, get_type_hints

from encoders.problem.descriptors import Shape
from selector.descriptors import EnsembleDescriptors

SCHEMA = 3
LEFT = "left_"  # prefix of what describes the problem that the backend was given
PROOFS = ("optimal", "infeasible")
STATUSES = ("optimal", "feasible", "infeasible", "unknown")
REASONS = ("proved", "time_limit", "memory_limit", "interrupted", "gap", "error")


@dataclass(frozen=True)
class LogRecord:
    """Record of one attempt. Seconds are wall-clock seconds; costs are in the query's unit.

    Attributes
    ----------
    run : str
        Unique id of the attempt.
    race : str
        Id shared by the attempts of a race, "" otherwise.
    query, forest : str
        Digest of the model, the row and the settings of the query; digest of the model alone.
    row : str
        Digest of the row alone, which several models and queries may share.
    dataset : str
        Name of the group, such as a data set. Evaluation holds out whole groups.
    time : str
        Time in UTC, in the format of ISO 8601.
    mode : {"solo", "race", "session", "map", "plain", "second"}
        Kind of run. "session" is a stored model of the whole problem, "map" an answer from a map.
        "plain" is the whole problem in the published formulation. "second" is the same, solved
        only for answers cheaper than a known one.
    competitors : str
        Other backends of the race, separated by commas.
    machine : str
        Processor as the operating system names it, number of cores, and system.
    load : float
        One-minute load average of the machine when the record was made.
    ensemble : EnsembleDescriptors
        Descriptors of the model.
    describe_s : float
        Seconds to compute the descriptors.
    norm, scale, constraints, target : str
        Settings of the query; a digest for the constraints.
    plausible : bool
        Whether the query requires plausibility.
    left : Shape or None
        Shape of the problem that the backend received, None if presolve solved it.
    backend : str
        Name of the backend, "reduce" if no solver was needed, "map" if the answer is from a map.
    engine, formulation : str
        Options of the backend, "" for its defaults.
    versions : str
        Versions of the packages used, separated by commas.
    seed : int
        Random seed of the solver.
    threads : int
        Number of threads of the attempt, 0 if no solver was needed.
    limit_s : float
        Time limit in seconds, 0 if no solver was needed.
    memory_limit : int
        Limit in bytes, 0 for none.
    pose_s, reduce_s, verify_s : float
        Seconds of encoding, presolve and verification of the whole query.
    build_s, solve_s : float
        Seconds in which the attempt built its model and solved it.
    queue_s : float
        Seconds of waiting in a race.
    stop_s : float
        Seconds by which the attempt exceeded its time limit, nan if it was interrupted.
    total_s : float
        Seconds of encoding, presolve, the attempt itself and verification.
    peak_bytes : int
        Largest resident memory so far of the process that ran the attempt, 0 if unknown.
    status : str
        Status of the whole query, one of ``STATUSES``; a proof only if it is one of ``PROOFS``.
    stop_reason : str
        Reason why the attempt ended, one of ``REASONS``.
    censored : bool
        Whether the attempt was interrupted, so that a proof would have taken at least as long.
    upper, lower : float
        Bounds on the minimal cost, inf for none.
    bound_source : {"own", "shared"}
        "shared" if a choice of another backend closed the gap.
    certified_by : str
        Kind of proof in a race, "proved" or "bounds_meet".
    trace : tuple of (float, float, float)
        Seconds since the attempt began, upper and lower bound at each improvement.
    verified : bool
        Whether the model itself predicts the target for the answer.
    error : str
        Error message, "" otherwise.

    Examples
    --------
    >>> from pathlib import Path
    >>> from portfolio.engine.logbook import PendingLogbook
    >>> book = PendingLogbook(Path("logs"), dataset="loans")
    >>> result = explainer.explain(row, strategy="plain-cp", log=book)
    >>> record = book.records[0]
    >>> record.dataset, record.backend, record.status, record.verified
    ('loans', 'cp', 'optimal', True)
    """

    run: str
    race: str
    query: str
    forest: str
    row: str
    dataset: str
    time: str
    mode: str
    competitors: str
    machine: str
    load: float
    ensemble: EnsembleDescriptors
    describe_s: float
    norm: str
    scale: str
    constraints: str
    plausible: bool
    target: str
    left: Shape | None
    backend: str
    engine: str
    formulation: str
    versions: str
    seed: int
    threads: int
    limit_s: float
    memory_limit: int
    pose_s: float
    reduce_s: float
    build_s: float
    solve_s: float
    verify_s: float
    queue_s: float
    stop_s: float
    total_s: float
    peak_bytes: int
    status: str
    stop_reason: str
    censored: bool
    upper: float
    lower: float
    bound_source: str
    certified_by: str
    trace: tuple[tuple[float, float, float], ...]
    verified: bool
    error: str


def flat(record: LogRecord) -> dict[str, Any]:
    """Return the plain values of a record by column name, with None for inf and nan.

    Each descriptor of the model and of the problem is a column; those of the problem have the
    prefix ``LEFT``. The column ``trace`` is JSON text.

    Parameters
    ----------
    record : LogRecord
        Record of one attempt.

    Returns
    -------
    dict
        Value of each column of :func:`columns`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from portfolio.engine.logbook import PendingLogbook
    >>> from selector.logs.record import columns, flat
    >>> book = PendingLogbook(Path("logs"))
    >>> result = explainer.explain(row, strategy="plain-cp", log=book)
    >>> values = flat(book.records[0])
    >>> [*values] == columns(), values["trees"], values["left_axes"]
    (True, 8, 8)
    """
    row: dict[str, Any] = {"schema": SCHEMA}
    for field in fields(LogRecord):
        value = getattr(record, field.name)
        if field.name == "ensemble":
            row |= asdict(value)
        elif field.name == "left":
            empty = dict.fromkeys(f.name for f in fields(Shape))
            row |= {LEFT + k: v for k, v in (empty if value is None else asdict(value)).items()}
        elif field.name == "trace":
            row["trace"] = json.dumps([[round(s, 6), _none(u), _none(low)] for s, u, low in value])
        else:
            row[field.name] = value
    return {name: _none(value) for name, value in row.items()}


def _none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def columns() -> list[str]:
    """Return the names of the columns that :func:`flat` fills, in their order.

    Examples
    --------
    >>> from selector.logs.record import columns
    >>> columns()[:7]
    ['schema', 'run', 'race', 'query', 'forest', 'row', 'dataset']
    """
    parts = {
        "ensemble": [f.name for f in fields(EnsembleDescriptors)],
        "left": [LEFT + f.name for f in fields(Shape)],
    }
    return ["schema", *(n for f in fields(LogRecord) for n in parts.get(f.name, [f.name]))]


def types() -> dict[str, type]:
    """Return the type of each column but the schema's: str, bool, int or float.

    Examples
    --------
    >>> from selector.logs.record import types
    >>> types()["backend"], types()["threads"], types()["total_s"]
    (<class 'str'>, <class 'int'>, <class 'float'>)
    """
    parts = {
        "ensemble": get_type_hints(EnsembleDescriptors),
        "left": {LEFT + name: kind for name, kind in get_type_hints(Shape).items()},
        "trace": {"trace": str},
    }
    hints = get_type_hints(LogRecord)
    return {
        column: kind
        for name, own in hints.items()
        for column, kind in parts.get(name, {name: own}).items()
    }
