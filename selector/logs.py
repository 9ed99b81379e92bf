"""Training logs: one record per attempt of a backend, appended as JSON lines, kept as Parquet."""

import json
import math
import os
import socket
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.errors import InputError
from encoders.shape import Shape
from selector.descriptors import EnsembleDescriptors

SCHEMA = 1
LINES, TABLE = "*.jsonl", "logs.parquet"
LATER = ("stop_s",)  # columns that the first records of this schema lack: nan
LEFT = "left_"  # prefix of what describes the problem that the backend was given
AGREEMENT = 2e-6
PROOFS = ("optimal", "infeasible")
STATUSES = ("optimal", "feasible", "infeasible", "unknown")
REASONS = ("proved", "time_limit", "memory_limit", "interrupted", "gap", "error")


@dataclass(frozen=True)
class LogRecord:
    """One attempt. Seconds are wall-clock seconds, bytes are bytes.

    Attributes
    ----------
    run : unique id of the attempt
    race : id shared by the attempts of one query that ran at once, "" otherwise
    query, forest : digests of (model, row, question) and of the model
    dataset : the group that evaluation leaves out as a whole
    time : ISO 8601, UTC
    mode : "solo", "race", "session" (a kept model of the whole problem) or "plain" (the whole
        problem in the published formulation)
    competitors : the race's other backends, with commas
    load : one-minute load average of the machine when the record was made
    ensemble, describe_s : descriptors of the model, and what they took
    norm, scale, constraints, plausible, target : the question; constraints as a digest
    left : the problem that the backend was given, None where reduction left none
    backend : "reduce" where no solver was needed
    limit_s, memory_limit : what it was given; 0 for no limit
    queue_s : waited in line in a race
    stop_s : went on after its time limit; nan where it was told to stop and not waited for
    total_s : pose, reduce, own time and verification
    censored : stopped by us before its own limit; it would have taken at least this long
    upper, lower : bounds, None for infinite
    bound_source : "own", or "shared" where another's choice closed the gap
    trace : (seconds since the attempt began, upper, lower)
    """

    run: str
    race: str
    query: str
    forest: str
    dataset: str
    time: str
    mode: str
    competitors: str
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
    """Plain values by column name; what JSON can't hold is None."""
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


def _columns() -> list[str]:
    parts = {
        "ensemble": [f.name for f in fields(EnsembleDescriptors)],
        "left": [LEFT + f.name for f in fields(Shape)],
    }
    return ["schema", *(n for f in fields(LogRecord) for n in parts.get(f.name, [f.name]))]


def _needed() -> list[str]:
    return [name for name in _columns() if name not in LATER]


def append(folder: str | Path, records: Iterable[LogRecord]) -> None:
    """Append records to this process' own file in a folder, in one write.

    Safe for any number of processes. A line torn by an earlier crash is closed first, so that it
    spoils nothing but itself.

    Raises
    ------
    InputError
        The folder can't be written to.
    """
    text = "".join(json.dumps(flat(record), allow_nan=False) + "\n" for record in records)
    path = Path(folder) / f"{socket.gethostname()}-{os.getpid()}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end and _last_byte(file, end) != b"\n":
                text = "\n" + text
            try:
                _write(file, text.encode())
            except OSError:
                file.truncate(end)
                raise
    except OSError as error:
        raise InputError(f"can't write logs to {folder}: {error.strerror}.") from error


def _write(file: Any, content: bytes) -> None:
    """All of it: a raw file may take less at a time."""
    written = 0
    while written < len(content):
        written += file.write(content[written:])


def _last_byte(file: Any, end: int) -> bytes:
    file.seek(end - 1)
    byte: bytes = file.read(1)
    return byte


def read(source: str | Path) -> pd.DataFrame:
    """All records of a folder (JSON lines and Parquet) or of one file, each run once.

    Lines that are torn, or lack fields, are skipped with a warning.

    Raises
    ------
    InputError
        Nothing there, or records of another schema.
    """
    source = Path(source)
    if source.is_dir():
        paths = [*sorted(source.glob("*.parquet")), *sorted(source.glob(LINES))]
    else:
        paths = [source] if source.is_file() else []
    if not paths:
        raise InputError(f"there are no logs at {source}.")
    frames = [_table(path) if path.suffix == ".parquet" else _lines(path) for path in paths]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        raise InputError(f"the logs at {source} hold no record.")
    joined = pd.concat(frames, ignore_index=True).drop_duplicates("run", keep="first")
    return joined.reset_index(drop=True)


def _table(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read as Parquet: {error}") from error
    _check_schema(path, set(frame.get("schema", pd.Series([None])).unique()))
    lacking = [name for name in _needed() if name not in frame.columns]
    if lacking:
        raise InputError(f"{path} holds no log records: it lacks the column {lacking[0]}.")
    return _typed(frame.reindex(columns=_columns()))


def _lines(path: Path) -> pd.DataFrame:
    rows, torn, needed = [], 0, set(_needed())
    with path.open("rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                torn += bool(line.strip())
                continue
            if isinstance(row, dict) and row.get("schema") == SCHEMA and needed - row.keys():
                torn += 1
                continue
            rows.append(row)
    if torn:
        warnings.warn(f"{path}: skipped {torn} torn line(s)", stacklevel=3)
    _check_schema(path, {row.get("schema") if isinstance(row, dict) else None for row in rows})
    return _typed(pd.DataFrame(rows, columns=_columns()))


def _check_schema(path: Path, found: set[Any]) -> None:
    other = [version for version in found if version != SCHEMA]
    if other:
        raise InputError(
            f"{path} holds records of log schema {other[0]}; this version reads {SCHEMA}."
        )


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as float64 where a value may be missing, so that all parts have one type."""
    frame = frame.copy()
    frame["upper"] = frame["upper"].astype("float64").fillna(math.inf)
    frame["lower"] = frame["lower"].astype("float64").fillna(math.inf)
    for name in ("stop_s", *(LEFT + field.name for field in fields(Shape))):
        frame[name] = frame[name].astype("float64")
    return frame[_columns()]


def compact(folder: str | Path, out: str | Path | None = None) -> Path:
    """All records of a folder as one Parquet file, moved into place whole; the lines stay.

    Parameters
    ----------
    out : default ``logs.parquet`` in the folder
    """
    frame = read(folder)
    path = Path(folder) / TABLE if out is None else Path(out)
    write_table(frame, path)
    return path


def merge(sources: Iterable[str | Path], out: str | Path) -> int:
    """Records of several folders and files as one Parquet file, each run once; their number."""
    joined = pd.concat([read(source) for source in sources], ignore_index=True)
    joined = joined.drop_duplicates("run", keep="first").reset_index(drop=True)
    write_table(joined, Path(out))
    return len(joined)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write Parquet, moved into place whole."""
    partial = path.with_name(path.name + ".partial")
    try:
        frame.to_parquet(partial, compression="zstd", index=False)
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror or error}.") from error


def check(frame: pd.DataFrame) -> list[str]:
    """What is wrong with records: values out of range, proofs that contradict each other."""
    wrong = []
    proof = frame["status"].isin(PROOFS)
    ranges = {
        "an unknown status": ~frame["status"].isin(STATUSES),
        "an unknown stop reason": ~frame["stop_reason"].isin(REASONS),
        "negative seconds": (frame[[c for c in _columns() if c.endswith("_s")]] < 0).any(axis=1),
        "a lower bound above the upper": (frame["lower"] > frame["upper"] * (1 + AGREEMENT))
        & (frame["status"] != "infeasible"),
        "a proof that was not verified": (frame["status"] == "optimal") & ~frame["verified"],
        "a proof without a reason": proof & (frame["stop_reason"] != "proved"),
        "no query, forest or data set": (frame[["query", "forest", "dataset"]] == "").any(axis=1),
    }
    for words, bad in ranges.items():
        if bad.any():
            wrong.append(f"{int(bad.sum())} record(s) with {words}, the first of run "
                         f"{frame.loc[bad, 'run'].iloc[0]}")  # fmt: skip
    return wrong + _contradictions(frame)


def _contradictions(frame: pd.DataFrame) -> list[str]:
    proofs = frame[frame["status"].isin(PROOFS)]
    wrong = []
    for query, group in proofs.groupby("query"):
        cost = group["upper"].where(group["status"] == "optimal", math.inf)
        low, high = cost.min(), cost.max()
        if high > low and high - low > AGREEMENT * max(1.0, low):
            told = ", ".join(f"{b} {c:.9g}" for b, c in zip(group["backend"], cost, strict=True))
            wrong.append(f"proofs of query {query} disagree: {told}")
    return wrong
