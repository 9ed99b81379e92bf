"""Files of log records: JSON lines that many processes append to, and Parquet tables."""

import json
import math
import os
import socket
import warnings
from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole, write_all
from encoders.problem.descriptors import Shape
from selector.logs.check import check
from selector.logs.record import (
    LEFT,
    PROOFS,
    SCHEMA,
    LogRecord,
    columns,
    flat,
    types,
)

__all__ = [
    "PROOFS",
    "TABLE",
    "LogRecord",
    "append",
    "check",
    "compact",
    "merge",
    "read",
    "write_table",
]

LINES, TABLE = "*.jsonl", "logs.parquet"
# Numbers that may be missing.
OPEN = {"upper", "lower", "stop_s", *(LEFT + field.name for field in fields(Shape))}


def append(folder: str | Path, records: Iterable[LogRecord]) -> None:
    """Append records to the file of this process in a folder, in one write.

    Any number of processes may append at the same time; threads of one process must take turns.
    After a line that an earlier crash has left incomplete, a new line is started first.

    Parameters
    ----------
    folder : str or Path
        Folder of the logs. It is created if it does not exist.
    records : iterable of LogRecord
        Records to append. Without any, only the access to the folder is tested.

    Raises
    ------
    InputError
        If the folder is not writable.

    Examples
    --------
    >>> from selector.logs.files import append
    >>> append("logs", [])  # raises an error if the folder is not writable
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
                write_all(file, text.encode())
            except OSError:
                file.truncate(end)
                raise
    except OSError as error:
        raise InputError(f"can't write logs to {folder}: {error.strerror}.") from error


def _last_byte(file: Any, end: int) -> bytes:
    file.seek(end - 1)
    byte: bytes = file.read(1)
    return byte


def read(source: str | Path) -> pd.DataFrame:
    """Read all records of a folder or a file, each run once.

    Lines that are incomplete or lack members are skipped with a warning.

    Parameters
    ----------
    source : str or Path
        Folder with JSON lines and Parquet files, or one such file.

    Returns
    -------
    DataFrame
        One row per record, with the columns :func:`selector.logs.record.columns`.

    Raises
    ------
    InputError
        If records are missing or have another schema.

    Examples
    --------
    >>> from selector.logs.files import read
    >>> result = explainer.explain(row, strategy="plain-cp", log="logs")
    >>> read("logs")["status"].tolist()
    ['optimal']
    """
    source = Path(source)
    if source.is_dir():
        paths = [*sorted(source.glob("*.parquet")), *sorted(source.glob(LINES))]
    else:
        paths = [source] if source.is_file() else []
    if not paths:
        raise InputError(f"{source} does not contain logs. Correct the path.")
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
    lacking = [name for name in columns() if name not in frame.columns]
    if lacking:
        raise InputError(f"{path} holds no log records: it lacks the column {lacking[0]}.")
    return _typed(frame.reindex(columns=columns()), path)


def _lines(path: Path) -> pd.DataFrame:
    rows, torn, needed = [], 0, set(columns())
    with path.open("rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                torn += bool(line.strip())
                continue
            if not isinstance(row, dict) or not isinstance(row.get("schema"), int):
                torn += 1
                continue
            if row["schema"] == SCHEMA and needed - row.keys():
                torn += 1
                continue
            rows.append(row)
    if torn:
        warnings.warn(f"{path}: {torn} torn line(s) skipped.", stacklevel=3)
    _check_schema(path, {row["schema"] for row in rows})
    try:
        frame = pd.DataFrame(rows, columns=columns())
    except OverflowError:  # pandas 2 makes floats of very large whole numbers
        frame = pd.DataFrame(rows, columns=columns(), dtype=object)
    return _typed(frame, path)


def _check_schema(path: Path, found: set[Any]) -> None:
    unknown = found - {SCHEMA}
    if unknown:
        raise InputError(
            f"{path} contains records of log schema {unknown.pop()}; this version reads schema "
            f"{SCHEMA} only."
        )


def _typed(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Numbers as float64 where a value may be missing, so that all parts have one type."""
    frame = frame.copy()
    frame["schema"] = SCHEMA
    kinds = types()
    for name, kind in kinds.items():
        own = frame[name]
        try:
            if kind is not str:
                dtype: Any = "float64" if name in OPEN else _dtype(own, kind)
                frame[name] = own.astype(dtype)
            elif not own.map(lambda value: isinstance(value, str) or pd.isna(value)).all():
                raise ValueError
        except (TypeError, ValueError, OverflowError) as error:
            words = {str: "text", bool: "true or false"}.get(kind, "a number")
            raise InputError(f"{path}: a record's {name} must be {words}.") from error
    for name in ("upper", "lower"):
        frame[name] = frame[name].fillna(math.inf)
    for name in ("row", "machine"):
        frame[name] = frame[name].astype("object").fillna("").astype(str)
    return frame[columns()]


def _dtype(own: "pd.Series[Any]", kind: type) -> str:
    if kind is bool:
        if not own.map(lambda value: value in (False, True)).all():  # 0 and 1 as well
            raise ValueError
        return "bool"
    if own.map(lambda value: isinstance(value, str)).any():  # which floats may be made of
        raise ValueError
    return "float64" if kind is float or own.isna().any() else "int64"


def compact(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write all records of a folder to one Parquet file.

    The file is replaced atomically, and the JSON lines are kept.

    Parameters
    ----------
    folder : str or Path
        Folder of the records, as in :func:`read`.
    out : str, Path or None, default None
        File to write. None writes ``logs.parquet`` in the folder.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        As :func:`read` and :func:`write_table`.

    Examples
    --------
    >>> from selector.logs.files import compact
    >>> result = explainer.explain(row, strategy="plain-cp", log="logs")
    >>> compact("logs").name
    'logs.parquet'
    """
    frame = read(folder)
    path = Path(folder) / TABLE if out is None else Path(out)
    write_table(frame, path)
    return path


def merge(sources: Iterable[str | Path], out: str | Path) -> int:
    """Write the records of several folders and files to one Parquet file, each run once.

    Parameters
    ----------
    sources : iterable of str or Path
        Folders and files, each as in :func:`read`.
    out : str or Path
        Parquet file to write.

    Returns
    -------
    int
        Number of records written.

    Raises
    ------
    InputError
        As :func:`read` and :func:`write_table`.

    Examples
    --------
    >>> from selector.logs.files import merge
    >>> result = explainer.explain(row, strategy="plain-cp", log="logs")
    >>> merge(["logs"], "all.parquet")
    1
    """
    joined = pd.concat([read(source) for source in sources], ignore_index=True)
    joined = joined.drop_duplicates("run", keep="first").reset_index(drop=True)
    write_table(joined, Path(out))
    return len(joined)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write records to a Parquet file, which is replaced atomically.

    Parameters
    ----------
    frame : DataFrame
        Records as returned by :func:`read`.
    path : Path
        File to write, in an existing folder.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selector.logs.files import read, write_table
    >>> result = explainer.explain(row, strategy="plain-cp", log="logs")
    >>> write_table(read("logs"), Path("copy.parquet"))
    """
    write = partial(frame.to_parquet, compression="zstd", index=False)
    try:
        replace_whole(path, write)
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror or error}.") from error
