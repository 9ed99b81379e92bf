"""Finished answers on disk: one JSON line each, kept whatever ends the job."""

import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO, BinaryIO

from encoders.errors import InputError
from encoders.whole_files import write_all
from portfolio.running.work import Record

LINES, TABLE = "answers.jsonl", "answers.parquet"
SYNC_S = 1.0


class AnswerLog:
    """Appends records to a file; every line is handed to the system before the next is begun.

    A last line that was torn by a crash or a full disk is cut off, on reading and on failing.
    Use by one thread of one process at a time.

    Attributes
    ----------
    records : those that were there, by key
    """

    def __init__(
        self,
        folder: str | Path,
        resume: bool,
        fields: frozenset[str],
        on_disk: frozenset[str] = frozenset(),
    ) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / LINES
            _refuse_earlier(path, resume)
            self._file: BinaryIO = path.open("ab", buffering=0)
            _lock(self._file, self.folder)
            self.records, whole = _read(path, fields, on_disk)
            self._file.truncate(whole)
        except InputError:
            if hasattr(self, "_file"):
                self._file.close()
            raise
        except OSError as error:
            raise InputError(f"can't write to {self.folder}: {error.strerror}.") from error
        self._synced = time.monotonic()

    def append(self, record: Record) -> None:
        """Write one record."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            write_all(self._file, line)
        except OSError:
            self._file.truncate(end)
            raise
        if time.monotonic() - self._synced > SYNC_S:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def sync(self) -> None:
        """Wait until all is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file; another batch may go on with it."""
        self._file.close()


def refuse_used(folder: Path, resume: bool) -> None:
    """Say at once what :class:`AnswerLog` would say once it is opened."""
    path = folder / LINES
    if path.exists():
        _refuse_earlier(path, resume)
        with path.open("ab") as file:
            _lock(file, folder)


def _refuse_earlier(path: Path, resume: bool) -> None:
    if path.exists() and path.stat().st_size and not resume:
        raise InputError(
            f"{path} holds answers of an earlier run; "
            "resume it (--resume) or choose another folder."
        )


def _lock(file: IO[bytes], folder: Path) -> None:
    """Until the file is closed, by whatever end of the process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(
            f"another batch is writing to {folder}; wait for it, or choose another folder."
        ) from error


def _read(
    path: Path, fields: frozenset[str], on_disk: frozenset[str]
) -> tuple[dict[str, Record], int]:
    """The last record of each key, and how many bytes of the file are whole lines."""
    if not path.exists():
        return {}, 0
    records, whole = {}, 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                if fields - record.keys():
                    raise KeyError
                records[record["key"]] = {k: v for k, v in record.items() if k not in on_disk}
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise InputError(
                    f"{path} is damaged at byte {whole}: {line[:40]!r} is no answer; "
                    "move the file away or cut it off there."
                ) from error
            whole += len(line)
    return records, whole
