"""A job: its request, its progress, and its files, written atomically and read with checks."""

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import pandas as pd
import pyarrow.parquet
from pydantic import TypeAdapter, ValidationError

from encoders.core import system
from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole, write_all
from portfolio.batch.answer_log import TABLE
from portfolio.batch.run import NOT_REACHED
from portfolio.results.codec import encode
from portfolio.service.messages import AUDIT, GROUP, Bounds
from portfolio.service.problems import clipped
from portfolio.service.questions import QUESTIONS

log = logging.getLogger("counterfolio.service")
JOB, STATE, ANSWERS, RESULT = "job.json", "state.json", "answers", "result.json"
ROWS_FILES = ("rows.json", "rows.csv", "rows.parquet")
OPEN = ("queued", "running")
LARGEST = 2**24  # bytes of a file that describes a job
PARTIAL = ".partial"
T = TypeVar("T")
State = Literal["queued", "running", "done", "cancelled", "failed"]


@dataclass(frozen=True)
class Batch:
    """The request of a job.

    Attributes
    ----------
    model, digest : str, name and digest of the model.
    question : str, name in :data:`portfolio.service.questions.QUESTIONS`, or a group or an audit.
    arguments : dict, JSON values, without the rows.
    rows : str, name of the file with the rows.
    owner : str, digest of the API key that created the job, "" without keys.
    created : float, seconds since the epoch.
    """

    model: str
    digest: str
    question: str
    arguments: dict[str, Any]
    rows: str
    owner: str = ""
    created: float = field(default_factory=time.time, compare=False)

    @staticmethod
    def read(path: Path) -> "Batch":
        """Return the batch that a file describes; raise InputError if the file is invalid."""
        batch = read_record(path, Batch)
        if batch.rows not in ROWS_FILES:
            raise InputError(f"the rows file is not one of {', '.join(ROWS_FILES)}")
        if batch.question not in (*QUESTIONS, GROUP, AUDIT):
            raise InputError(f"{batch.question[:80]!r} is not a question")
        return batch


@dataclass(frozen=True)
class SavedState:
    """The state of a job in its folder; see :class:`Job`."""

    state: State
    message: str
    answered: int
    total: int | None = None
    resumable: bool = False
    ended: float = 0.0


@dataclass(eq=False)
class Job:
    """A batch and its progress.

    Attributes
    ----------
    folder : Path, folder of the job, named by its id.
    batch : Batch, the request.
    state, message : str, current state, and the reason of a failure.
    answered, total : int, number of answered rows and of all rows.
    bounds : Bounds or None, bounds on the number of rows that the actions of a group serve.
    stop : Event, set to end the job.
    busy : bool, True while a thread works on it, which may end shortly after the job.
    resumable : bool, True if it failed for lack of disk space and can be resumed.
    ended : float, seconds since the epoch at which it ended, 0 before.
    unsaved : DataFrame or None, answers that could not be written to disk.
    """

    folder: Path
    batch: Batch
    state: State = "queued"
    message: str = ""
    answered: int = 0
    total: int | None = None
    bounds: Bounds | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    busy: bool = False
    resumable: bool = False
    ended: float = 0.0
    unsaved: pd.DataFrame | None = field(default=None, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def summary(self) -> dict[str, Any]:
        """Return the state of the job as plain values."""
        return {
            "id": self.folder.name,
            "model": {"name": self.batch.model, "digest": self.batch.digest},
            "question": self.batch.question,
            "state": self.state,
            "answered": self.answered,
            "rows": self.total,
            "bounds": None if self.bounds is None else vars(self.bounds),
            "message": self.message,
            "resumable": self.resumable,
        }

    def put(self, state: State, message: str = "", resumable: bool = False) -> None:
        """Change the state, also on disk; a job that has ended keeps its state.

        If the disk is full, a restarted service resumes from the previous state.
        """
        with self._turn:  # the job may be cancelled while its rows are read
            if self.state in OPEN:
                self.state, self.message, self.resumable = state, clipped(message), resumable
                self.ended = 0.0 if state in OPEN else time.time()
                self._keep()

    def reopen(self) -> bool:
        """Reopen a job that failed for lack of disk space; return False for any other job."""
        with self._turn:
            if not self.resumable:
                return False
            self.state, self.message, self.resumable, self.ended = "queued", "", False, 0.0
            self._keep()
            return True

    def lacks_room(self, reason: str) -> None:
        """Mark the job as failed for lack of disk space; the message says how to resume it."""
        rows = "" if self.total is None else f" {self.answered} of {self.total} rows are answered."
        again = f"Free disk space, then POST /v1/jobs/{self.folder.name}/resume."
        self.put("failed", f"cannot store the answers ({reason}).{rows} {again}", True)

    def _keep(self) -> None:
        saved = SavedState(
            self.state, self.message, self.answered, self.total, self.resumable, self.ended
        )
        try:
            replace_synced(self.folder / STATE, json.dumps(asdict(saved)).encode())
        except OSError as error:
            log.error("storing the state of job %s failed: %s", self.folder.name, error)

    def recall(self) -> None:
        """Read the state from the job's folder; raise InputError if it is damaged."""
        path = self.folder / STATE
        if not path.exists() and not path.is_symlink():
            return
        saved = read_record(path, SavedState)
        self.state, self.message = saved.state, saved.message
        self.answered, self.total = saved.answered, saved.total
        self.ended = saved.ended or path.stat().st_mtime
        if saved.resumable:  # unsaved answers are lost with the process
            self.state, self.message = "queued", ""

    def result(self) -> str | None:
        """Return the result of a group or an audit as JSON; None if there is none."""
        path = self.folder / RESULT
        return path.read_text() if path.exists() else None

    def page(self, offset: int, limit: int) -> list[dict[str, Any]] | None:
        """Return a page of answers of a job that has ended; None while it still writes them."""
        if self.busy and self.state == "cancelled":
            return None
        frame, path = self.unsaved, self.folder / ANSWERS / TABLE
        if frame is None and not path.exists():
            return []
        if frame is None:  # only the rows of the page are converted to Python objects
            try:
                table = pyarrow.parquet.read_table(path)
            except (pyarrow.ArrowException, OSError) as error:
                raise InputError(
                    "the answers of the job are damaged. Start the job again."
                ) from error
            if not table.num_rows:  # pandas creates empty rows for a table without columns
                return []
            frame = table.slice(offset, limit).to_pandas()
        else:
            frame = frame.iloc[offset : offset + limit]
        if self.state == "cancelled":
            unreached = (frame == NOT_REACHED).any(axis=1)
            frame = frame.replace(NOT_REACHED, "not reached: the job was cancelled")
            frame.loc[unreached, "stop_reason"] = "interrupted"
        rows: list[dict[str, Any]] = encode(frame.to_dict("records"))
        return rows


def kept_job(folder: Path) -> Job:
    """Return the job of a folder; if the folder is damaged, a failed job with the reason."""
    job = Job(folder, Batch("", "", "", {}, "", created=0.0))
    try:
        if linked := [path for path in (folder, *folder.rglob("*")) if path.is_symlink()]:
            raise InputError(f"{linked[0].name} is a symbolic link")
        job.batch = Batch.read(folder / JOB)
        job.recall()
    except (InputError, OSError) as error:
        why = str(error) if isinstance(error, InputError) else error.strerror
        job.state, job.ended = "failed", job.ended or time.time()
        job.message = clipped(
            f"the folder of job {folder.name} is damaged ({why}). Delete the job."
        )
        log.error(job.message)
    return job


def replace_synced(path: Path, write: bytes | Callable[[Path], object]) -> None:
    """Replace a file atomically and durably, even if the power fails."""

    def synced(partial: Path) -> None:
        if isinstance(write, bytes):
            with partial.open("wb") as file:
                write_all(file, write)
        else:
            write(partial)
        system.sync(partial)

    replace_whole(path, synced)
    system.sync(path.parent)


def make_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create a folder with files atomically."""
    partial = folder.with_name(folder.name + PARTIAL)
    try:
        partial.mkdir()
        for name, content in files.items():
            replace_synced(partial / name, content)
        partial.rename(folder)
        system.sync(folder.parent)
    except BaseException:
        remove(partial)
        raise


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with its content; ignore errors."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink()


def read_record(path: Path, kind: type[T]) -> T:
    """Return the record in a small JSON file; raise InputError if the file is invalid."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        raise InputError(f"{path.name} is not a regular file of at most {LARGEST >> 20} MB")
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = f"member {first['loc'][0]!r}: " if first["loc"] else ""
        raise InputError(f"{path.name} is invalid ({place}{first['msg']})") from error
