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
    run : unique id of the attempt.
    race : id shared by the attempts of one query that ran at once, "" otherwise.
    query, forest : digests of (model, row, question) and of the model.
    row : digest of the row alone, which several models and questions may share.
    dataset : group that evaluation leaves out as a whole.
    time : ISO 8601, UTC.
    mode : "solo", "race", "session" (a kept model of the whole problem) or "map" (an answer from a
        map). "plain" is the whole problem in the published formulation. "second" is the same,
        solved only for answers cheaper than a known one.
    competitors : the race's other backends, with commas.
    machine : processor as the operating system names it, number of cores, and system.
    load : one-minute load average of the machine when the record was made.
    ensemble, describe_s : descriptors of the model, and the seconds to compute them.
    norm, scale, constraints, plausible, target : the query; constraints as a digest.
    left : shape of the problem that the backend was given, None if presolve left none.
    backend : name, "reduce" if no solver was needed, "map" if the answer is from a map.
    engine, formulation : options of the backend, "" for its defaults.
    versions : versions of the packages used, with commas.
    seed : random seed of the solver.
    threads : number of threads of the attempt, 0 if no solver was needed.
    limit_s, memory_limit : limits; 0 if no solver was needed, 0 bytes for no limit.
    pose_s, reduce_s, verify_s : seconds of encoding, presolve and verification of the whole query.
    build_s, solve_s : seconds in which the attempt built its model and solved it.
    queue_s : seconds of waiting in a race.
    stop_s : seconds from the time limit to the end; nan if it was stopped and not waited for.
    total_s : encoding, presolve, own time and verification.
    peak_bytes : largest resident memory so far of the process it ran in, 0 if unknown.
    status : one of ``STATUSES``, of the whole query; a proof only if it is one of ``PROOFS``.
    stop_reason : one of ``REASONS``.
    censored : whether it was stopped before its own limit; it would have taken at least as long.
    upper, lower : bounds on the least cost, inf for none.
    bound_source : "own", or "shared" if another's choice closed the gap.
    certified_by : kind of proof in a race, "proved" or "bounds_meet".
    trace : triples (seconds since the attempt began, upper, lower).
    verified : whether the model itself predicts the target for the answer.
    error : error message, "" otherwise.

    Examples
    --------
    >>> from pathlib import Path
    >>> from portfolio.logbook import PendingLogbook
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
    >>> from portfolio.logbook import PendingLogbook
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
