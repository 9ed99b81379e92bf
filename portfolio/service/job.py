"""A job: what it asks, how far it is, and its state on disk."""

import json
import logging
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import pyarrow.parquet

from encoders.errors import InputError
from portfolio.as_json import as_plain
from portfolio.batch.answer_log import TABLE
from portfolio.batch.run import NOT_REACHED
from portfolio.service.group_work import RESULT
from portfolio.service.job_files import read_object, replace_synced
from portfolio.service.messages import AUDIT, GROUP, Bounds
from portfolio.service.problems import clipped
from portfolio.service.questions import QUESTIONS

log = logging.getLogger("counterfolio.service")
JOB, STATE, ANSWERS = "job.json", "state.json", "answers"
ROWS_FILES = ("rows.json", "rows.csv", "rows.parquet")
OPEN = ("queued", "running")
State = Literal["queued", "running", "done", "cancelled", "failed"]


@dataclass(frozen=True)
class Batch:
    """What a job asks.

    Attributes
    ----------
    model, digest : str, name and digest of the model
    question : str, name in :data:`portfolio.service.questions.QUESTIONS`, or of a group or audit
    arguments : dict, of JSON, without the rows
    rows : str, name of the file with the rows
    owner : str, digest of the API key that began the job, "" without keys
    created : float, seconds since the epoch
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
        """Return the batch of a file; raise InputError where it is none."""
        texts = dict.fromkeys(("model", "digest", "question", "rows"), str)
        optional = {"owner": str, "created": float}
        given = read_object(path, texts | {"arguments": dict}, optional)
        if given["rows"] not in ROWS_FILES:
            raise InputError(f"its rows are not in one of {', '.join(ROWS_FILES)}")
        if given["question"] not in (*QUESTIONS, GROUP, AUDIT):
            raise InputError(f"{given['question'][:80]!r} is not a question")
        return Batch(**given)


@dataclass(eq=False)
class Job:
    """A batch, and how far it is.

    Attributes
    ----------
    folder : Path, where all of it is kept, named by the job's id
    batch : Batch, what it asks
    state, message : str, how it stands, and why it failed
    answered, total : int, rows
    bounds : Bounds, of a group: how many rows actions may serve and do by now
    stop : Event, ends it
    busy : bool, whether it is worked on, as it is for a moment after its end, too
    resumable : bool, whether it failed for lack of room, and may be resumed
    ended : float, seconds since the epoch at which it ended, 0 before
    held : DataFrame, its answers where there was no room for their table
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
    held: pd.DataFrame | None = field(default=None, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def told(self) -> dict[str, Any]:
        """Return how it stands, as plain values."""
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
        """Enter another state, on disk too, if there is room; a job that has ended keeps its own.

        Where there is none, a service that starts again goes on from the state before.
        """
        with self._turn:  # it may be cancelled while its rows are read
            if self.state in OPEN:
                self.state, self.message, self.resumable = state, clipped(message), resumable
                self.ended = 0.0 if state in OPEN else time.time()
                self._keep()

    def reopen(self) -> bool:
        """Queue a job that failed for lack of room again; return False for any other."""
        with self._turn:
            if not self.resumable:
                return False
            self.state, self.message, self.resumable, self.ended = "queued", "", False, 0.0
            self._keep()
            return True

    def lacks_room(self, reason: str) -> None:
        """Let it fail, and say how it goes on."""
        rows = "" if self.total is None else f"; {self.answered} of {self.total} rows are answered"
        again = f"make room, then POST /v1/jobs/{self.folder.name}/resume."
        self.put("failed", f"what was found can't be kept ({reason}){rows}; {again}", True)

    def _keep(self) -> None:
        told = {"state": self.state, "message": self.message, "resumable": self.resumable}
        told |= {"answered": self.answered, "total": self.total, "ended": self.ended}
        try:
            replace_synced(self.folder / STATE, json.dumps(told).encode())
        except OSError as error:
            log.error("the state of job %s was not kept: %s", self.folder.name, error)

    def recall(self) -> None:
        """Take up the state of the job's folder; raise InputError where it is damaged."""
        path = self.folder / STATE
        if not path.exists() and not path.is_symlink():
            return
        members = {"state": str, "message": str, "answered": int}
        told = read_object(path, members, {"total": int, "resumable": bool, "ended": float})
        if told["state"] not in get_args(State):
            raise InputError(f"{told['state'][:80]!r} is not a state")
        self.state, self.message = told["state"], told["message"]
        self.answered, self.total = told["answered"], told.get("total")
        self.ended = told.get("ended") or path.stat().st_mtime
        if told.get("resumable"):  # what was held is gone with the process
            self.state, self.message = "queued", ""

    def result(self) -> str | None:
        """Return what was found of a group or by an audit, as JSON; None where there is nothing."""
        path = self.folder / RESULT
        return path.read_text() if path.exists() else None

    def page(self, offset: int, limit: int) -> list[dict[str, Any]] | None:
        """Return some answers of a job that has ended; None while the last ones come in."""
        if self.busy and self.state == "cancelled":
            return None
        frame, path = self.held, self.folder / ANSWERS / TABLE
        if frame is None and not path.exists():
            return []
        if frame is None:  # no more than the page becomes Python objects
            try:
                table = pyarrow.parquet.read_table(path)
            except (pyarrow.ArrowException, OSError) as error:
                raise InputError("the answers of the job are damaged; ask again.") from error
            if not table.num_rows:  # pandas makes empty rows of a table without columns
                return []
            frame = table.slice(offset, limit).to_pandas()
        else:
            frame = frame.iloc[offset : offset + limit]
        if self.state == "cancelled":
            left = (frame == NOT_REACHED).any(axis=1)
            frame = frame.replace(NOT_REACHED, "not reached, as the job was cancelled")
            frame.loc[left, "stop_reason"] = "interrupted"
        found: list[dict[str, Any]] = as_plain(frame.to_dict("records"))
        return found


def kept_job(folder: Path) -> Job:
    """Return the job of a folder; one whose folder is damaged has failed, and says why."""
    job = Job(folder, Batch("", "", "", {}, "", created=0.0))
    try:
        if linked := [own for own in (folder, *folder.rglob("*")) if own.is_symlink()]:
            raise InputError(f"{linked[0].name} is a symbolic link")
        job.batch = Batch.read(folder / JOB)
        job.recall()
    except (InputError, OSError) as error:
        why = str(error) if isinstance(error, InputError) else error.strerror
        job.state, job.ended = "failed", job.ended or time.time()
        job.message = clipped(f"the folder of the job {folder.name} is damaged ({why}); delete it.")
        log.error(job.message)
    return job
