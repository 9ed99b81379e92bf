"""File of finished answers, one JSON line each, which survives any end of the job."""

import json
import os
import time
from pathlib import Path
from typing import IO, BinaryIO

from encoders.core import system
from encoders.core.errors import InputError
from encoders.core.whole_files import write_all
from portfolio.workers.work import Record

LINES, TABLE = "answers.jsonl", "answers.parquet"
SYNC_S = 1.0


class AnswerLog:
    """File to which records are appended.

    Each line is passed to the operating system before the next one starts. An incomplete last line,
    after a crash or on a full disk, is cut off on reading and on failure. One thread of one process
    may use the file at a time.

    Attributes
    ----------
    records : dict of the records that the file had when it was opened, by key.
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
            raise InputError(
                f"can't write to {self.folder}: {error.strerror}. Choose another folder."
            ) from error
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
        """Wait until all records are on disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file and release its lock; another batch may then resume it."""
        self._file.close()


def refuse_used(folder: Path, resume: bool) -> None:
    """Raise InputError at once if :class:`AnswerLog` would reject the folder."""
    path = folder / LINES
    if path.exists():
        _refuse_earlier(path, resume)
        with path.open("ab") as file:
            _lock(file, folder)


def _refuse_earlier(path: Path, resume: bool) -> None:
    if path.exists() and path.stat().st_size and not resume:
        raise InputError(
            f"{path} has answers of an earlier run. Resume it with resume=True (--resume), or "
            "choose another folder."
        )


def _lock(file: IO[bytes], folder: Path) -> None:
    """Lock the file until it is closed or the process ends."""
    try:
        system.lock(file, wait=False)
    except BlockingIOError as error:
        raise InputError(
            f"another batch is writing to {folder}. Wait for it or choose another folder."
        ) from error


def _read(
    path: Path, fields: frozenset[str], on_disk: frozenset[str]
) -> tuple[dict[str, Record], int]:
    """Return the last record of each key and the number of bytes of all complete lines."""
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
                    f"{path} is damaged at byte {whole}: {line[:40]!r} is not an answer. "
                    "Move the file away or truncate it there."
                ) from error
            whole += len(line)
    return records, whole
