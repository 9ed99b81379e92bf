"""A job: its request, its progress, and its files, written atomically and read with checks."""

import errno
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow.parquet

from encoders.core import system
from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole, write_all
from portfolio.batch.answer_log import LINES, TABLE
from portfolio.batch.run import NOT_REACHED
from portfolio.service.messages import CODES, Bounds
from portfolio.service.problems import clipped, clipped_arguments

ANSWERS, RESULT = "answers", "result.json"
OPEN = ("queued", "running")
PARTIAL = ".partial"
FULL = (errno.ENOSPC, errno.EDQUOT)
State = Literal["queued", "running", "done", "cancelled", "failed"]


@dataclass(frozen=True)
class Worded:
    """The code of a message, and the names and values in it."""

    code: str
    arguments: dict[str, str | float]

    @staticmethod
    def of(error: Exception) -> "Worded | None":
        """Return the code and arguments of an error; None if it has no code."""
        if not isinstance(error, InputError) or not error.code:
            return None
        return Worded(error.code, clipped_arguments(error.arguments))


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


class NotAtOnceError(Exception):
    """A reading that would delay the event loop."""


@dataclass(frozen=True)
class JobRecord:
    """A job as the database has it.

    Attributes
    ----------
    id : str, name of the job and of its folder.
    model, digest, question : see :class:`Batch`.
    state, message : str, state, and the reason of a failure.
    problem : Worded or None, code and arguments of the message for other languages.
    answered, total : int, number of answered rows and of all rows.
    bounds : Bounds or None, bounds on the number of rows that the actions of a group serve.
    resumable : bool, True if it failed for lack of disk space and can be resumed.
    busy : bool, True while a server works on it, which may end shortly after the job.
    created : float, seconds since the epoch.
    attempt : int, number of times that a server has begun or continued it.
    stored : int or None, attempt whose answers the store has, 0 for only the rows; None if the rows
        and answers are in a folder.
    """

    id: str
    model: str
    digest: str
    question: str
    state: State = "queued"
    message: str = ""
    answered: int = 0
    total: int | None = None
    bounds: Bounds | None = None
    resumable: bool = False
    busy: bool = False
    created: float = 0.0
    attempt: int = 0
    stored: int | None = None
    problem: Worded | None = None

    def summary(self) -> dict[str, Any]:
        """Return the state of the job as plain values."""
        return {
            "id": self.id,
            "model": {"name": self.model, "digest": self.digest},
            "question": self.question,
            "created": datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds"),
            "state": self.state,
            "answered": self.answered,
            "rows": self.total,
            "bounds": None if self.bounds is None else vars(self.bounds),
            "message": self.message,
            "code": CODES.get(self.message, "") if self.problem is None else self.problem.code,
            "arguments": {} if self.problem is None else self.problem.arguments,
            "resumable": self.resumable,
        }


@dataclass(eq=False)
class Job:
    """A job that this server works on; attributes are those of :class:`JobRecord`.

    Attributes
    ----------
    folder : Path, folder of the job, whose name starts with its id.
    store : callable, function that stores the progress of the job.
    stop : Event, set to end the job.
    waits : str, reason why it waits for the store of answers, "" if it does not.
    """

    folder: Path
    batch: Batch
    state: State = "queued"
    message: str = ""
    answered: int = 0
    total: int | None = None
    bounds: Bounds | None = None
    resumable: bool = False
    attempt: int = 0
    stored: int | None = None
    problem: Worded | None = None
    waits: str = ""
    store: "Callable[[Job], object]" = field(default=lambda _: None, repr=False)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def id(self) -> str:
        """Name of the job."""
        return self.folder.name.partition(".")[0]

    def put(
        self,
        state: State,
        message: str = "",
        resumable: bool = False,
        problem: Worded | None = None,
    ) -> None:
        """Change the state; store it unless the job ends, which its server stores."""
        self.state, self.message, self.resumable = state, clipped(message), resumable
        self.problem = problem
        if state in OPEN:
            self.store(self)

    def lacks_room(self, reason: str) -> None:
        """Mark the job as failed for lack of disk space; the message says how to resume it."""
        rows = "" if self.total is None else f" {self.answered} of {self.total} rows are answered."
        again = f"Free disk space, then POST /v1/jobs/{self.id}/resume."
        self.put("failed", f"cannot store the answers ({reason}).{rows} {again}", True)


@dataclass(frozen=True)
class JobFiles:
    """Files of a job.

    Attributes
    ----------
    folder : Path, folder of the job.
    """

    folder: Path

    def check(self) -> None:
        """Raise InputError if the folder is a symbolic link or contains one."""
        for path in (self.folder, *self.folder.rglob("*")):
            if path.is_symlink():
                raise InputError(
                    f"the folder of job {self.folder.name} is damaged ({path.name} is a symbolic "
                    "link). Delete the job."
                )

    def result(self) -> str | None:
        """Return the result of a group or an audit as JSON; None if there is none."""
        self.check()
        path = self.folder / RESULT
        return path.read_text() if path.exists() else None

    @property
    def table(self) -> Path:
        """File with the table of answers."""
        return self.folder / ANSWERS / TABLE

    @property
    def lines(self) -> Path:
        """File with a line for each answer, and with its record if the batch has records."""
        return self.folder / ANSWERS / LINES

    def page(self, offset: int, limit: int | None) -> pd.DataFrame:
        """Return a page of the table of answers, which is empty if there is none."""
        self.check()
        path = self.table
        if not path.exists():
            return pd.DataFrame()
        try:
            table = pyarrow.parquet.read_table(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError("the answers of the job are damaged. Start the job again.") from error
        if not table.num_rows:  # pandas creates empty rows for a table without columns
            return pd.DataFrame()
        # Only the rows of the page are converted to Python objects.
        frame: pd.DataFrame = table.slice(offset, limit).to_pandas()
        return frame


def answers_of(frame: pd.DataFrame, state: State) -> pd.DataFrame:
    """Return answers of a job with the reason why rows were not reached."""
    if state == "cancelled" and len(frame):
        unreached = (frame == NOT_REACHED).any(axis=1)
        frame = frame.replace(NOT_REACHED, "not reached: the job was cancelled")
        frame.loc[unreached, "stop_reason"] = "interrupted"
    return frame


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
