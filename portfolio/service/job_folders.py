"""Folders of jobs on the disk of this server, and their copies in a store of answers."""

import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from portfolio.service.answer_store import AnswerStore
from portfolio.service.job import OPEN, PARTIAL, Batch, Job, JobRecord, make_folder, remove
from portfolio.service.problems import Problem

PART = 8_000_000  # bytes of a part of a file that grows
GROWING = ".jsonl"  # ending of files to which lines are appended
POSITION = re.compile(r"(?<=\.jsonl)\.\d+$")  # of a part in its file, at the end of its name
RUNNING = ".running"
ENDING = "the job is about to end. Retry in a second."


class JobFolders:
    """Folders of jobs, and their objects.

    Without a store, the folder of a job has its id as name and contains its rows and answers. Jobs
    that a store contains have the rows in ``ID/0``, and each attempt writes its answers to
    ``ID/ATTEMPT``. Thus a server that has lost its lease can't overwrite objects of another one.
    Local folders are ``ID.ATTEMPT.running`` of the current job, and ``ID.ATTEMPT`` of a job that
    has ended.
    """

    def __init__(self, folder: Path, answers: AnswerStore | None) -> None:
        self._folder, self._answers = folder, answers

    @property
    def first_attempt(self) -> int | None:
        """Attempt that writes the rows, None without a store."""
        return None if self._answers is None else 0

    def add(self, number: str, batch: Batch, rows: bytes) -> None:
        """Store the rows of a new job."""
        if self._answers is None:
            make_folder(self._folder / number, {batch.rows: rows})
        else:
            self._answers.write(f"{number}/0/{batch.rows}", rows)

    def work_folder(self, record: JobRecord) -> Path:
        """Return the folder in which this server works on a job."""
        if record.stored is None:
            return self._folder / record.id
        return self._folder / f"{record.id}.{record.attempt}{RUNNING}"

    def answer_folder(self, record: JobRecord) -> Path:
        """Return the folder of a job that has ended; copy it from the store once."""
        if record.stored is None:
            return self._folder / record.id
        if record.busy:
            raise Problem(409, ENDING)
        folder = self._folder / f"{record.id}.{record.stored}"
        if not folder.exists():
            self._copy_to(folder, record)
        return folder

    def _copy_to(self, folder: Path, record: JobRecord) -> None:
        try:
            start = f"{folder.name}."
            partial = Path(tempfile.mkdtemp(PARTIAL, start, self._folder))
            try:
                self._copy(record.id, record.stored or 0, partial)
                partial.rename(folder)
            except OSError:
                if not folder.exists():  # no other thread was faster
                    raise
            finally:
                remove(partial)
        except OSError as error:
            words = f"cannot copy the answers ({error.strerror}). Free disk space, then retry."
            raise Problem(507, words) from error

    def fetch(self, job: Job) -> None:
        """Copy the rows and the answers so far from the store to the folder of a job."""
        remove(job.folder)
        job.folder.mkdir()
        self._copy(job.id, job.stored or 0, job.folder)

    def _copy(self, number: str, attempt: int, folder: Path) -> None:
        """Copy the rows and the answers of an attempt to a folder."""
        for place in sorted({f"{number}/0", f"{number}/{attempt}"}):
            for name in self._store.names(place):
                relative = PurePosixPath(name).relative_to(place)
                if ".." in relative.parts:
                    continue
                path = folder / POSITION.sub("", str(relative))
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:  # the parts of a file follow one another
                    file.write(self._store.read(name))

    def upload_of(self, job: Job) -> "FolderUpload":
        """Return the upload of the answers of a job."""
        return FolderUpload(self._store, job.folder, f"{job.id}/{job.attempt}", job.batch.rows)

    def keep(self, job: Job) -> None:
        """Keep the folder of a job whose answers are in the store, to read them."""
        folder = self._folder / f"{job.id}.{job.attempt}"
        remove(folder)
        job.folder.rename(folder)

    def remove_objects(self, number: str) -> None:
        """Remove all objects of a job."""
        self._store.remove(number)

    def hide(self, record: JobRecord) -> list[Path]:
        """Remove the objects of a job, and rename its folders; return them, to be removed.

        If the server is killed before it removes them, one that starts later does so.
        """
        if record.stored is not None:
            self.remove_objects(record.id)
        folders = (self._folder / record.id, *self._folder.glob(f"{record.id}.*"))
        return [
            folder.rename(folder.with_name(folder.name + PARTIAL))
            for folder in folders
            if folder.suffix != PARTIAL and (folder.exists() or folder.is_symlink())
        ]

    def remove_outdated(self, record_of: Callable[[str], JobRecord | None]) -> None:
        """Remove copies of jobs that were removed or continued by other servers."""
        for folder in self._folder.glob("*.*"):
            number, attempt, *rest = folder.name.split(".")
            if not attempt.isdigit() or PARTIAL[1:] in rest:
                continue
            record = record_of(number)
            current = None if record is None else record.stored
            if rest and record is not None:
                current = record.attempt if record.busy or record.state in OPEN else None
            if int(attempt) != current:
                remove(folder)

    @property
    def _store(self) -> AnswerStore:
        """The store; raise Problem without one."""
        if self._answers is None:
            raise Problem(503, "the answers are in a store. Start this server with --job-answers.")
        return self._answers


class FolderUpload:
    """Repeated upload of a folder, which sends only what has changed.

    A file to which lines are appended becomes several objects of complete lines. Only the last of
    them is written again.
    """

    def __init__(self, store: AnswerStore, folder: Path, place: str, without: str) -> None:
        self._store, self._folder, self._place, self._without = store, folder, place, without
        self._sent: dict[str, tuple[int, int]] = {}  # size and time of each file
        self._last: dict[str, int] = {}  # position of the last part of a file that grows
        self._lock = threading.Lock()

    def __call__(self) -> None:
        """Upload changed files."""
        with self._lock:
            self._upload()

    def _upload(self) -> None:
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            if path.suffix == PARTIAL or name == self._without or not path.is_file():
                continue
            about = path.stat()
            version = (about.st_size, about.st_mtime_ns)
            if self._sent.get(name) == version:
                continue
            if path.suffix == GROWING:
                self._upload_lines(path, name)
            else:
                self._store.upload(path, f"{self._place}/{name}")
            self._sent[name] = version

    def _upload_lines(self, path: Path, name: str) -> None:
        """Upload complete lines from the last part on."""
        position = self._last.get(name, 0)
        with path.open("rb") as file:
            while True:
                file.seek(position)
                lines = file.readlines(PART)
                if lines and not lines[-1].endswith(b"\n"):  # its end is not written yet
                    lines.pop()
                content = b"".join(lines)
                if content:
                    self._store.write(f"{self._place}/{name}.{position:015d}", content)
                if len(content) < PART:
                    return
                position += len(content)
                self._last[name] = position
