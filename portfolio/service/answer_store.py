"""An object store, or a folder that servers share, for the rows and answers of jobs."""

import errno
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from encoders.core.errors import InputError
from portfolio.service.job import FULL, PARTIAL, replace_synced
from portfolio.service.problems import Problem

log = logging.getLogger("counterfolio.service")
MARKER = "counterfolio-answers"  # object in the root of each store that is in use
# Package that fsspec needs for the scheme of a URL.
PACKAGES = {
    "file": "fsspec",
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
}
UNREACHABLE = "the store of answers is not reachable. Retry later."


class StoreProblem(Problem):
    """An error of the store, with the reason for the log of the server."""

    def __init__(self, reason: str) -> None:
        super().__init__(503, UNREACHABLE, {"Retry-After": "5"})
        self.reason = reason


def check_url(url: str) -> None:
    """Raise InputError if a URL is not that of a store, without showing secrets in it."""
    if any(mark in url for mark in ("@", "?", "::")):
        raise InputError(
            "the URL of the store of answers contains '@', '?' or '::'. Give credentials and "
            "options in environment variables of the store's library."
        )
    parts = urlsplit(url)
    is_folder = parts.scheme == "file" and not parts.netloc and parts.path.startswith("/")
    if not (is_folder or (parts.scheme in PACKAGES.keys() - {"file"} and parts.netloc)):
        raise InputError(
            f"{url!r} is not the URL of a store of answers. Give s3://BUCKET/PREFIX, gs://..., "
            "az://... or file:///FOLDER."
        )


class AnswerStore:
    """Objects under a URL. Methods raise StoreProblem, but OSError if a local disk is full."""

    def __init__(self, url: str) -> None:
        check_url(url)
        self.url, package = url, PACKAGES[urlsplit(url).scheme]
        try:
            from fsspec.core import url_to_fs

            # Listings of other servers change, so they are not cached.
            self._files, self._root = url_to_fs(url, use_listings_cache=False)
        except ImportError as error:
            raise InputError(
                f"{url} needs {package}, which is not installed. Install it: pip install "
                f"'counterfolio[service,store]' {package}."
            ) from error
        self._is_local = url.startswith("file:")

    def check(self, is_new: bool) -> None:
        """Raise InputError if the store can't be used; mark a new one."""
        try:
            if is_new:
                with self._problems():
                    if self._is_local and not Path(self._root).is_dir():
                        raise FileNotFoundError(errno.ENOENT, "the folder does not exist")
                    self._put(MARKER, b"Rows and answers of jobs of counterfolio.\n")
            with self._access():
                pass
        except (StoreProblem, OSError) as error:
            reason = error.reason if isinstance(error, StoreProblem) else error.strerror
            raise InputError(
                f"cannot use the store of answers {self.url} ({reason}). Check the URL, the "
                "credentials and their rights."
            ) from error

    def write(self, name: str, content: bytes) -> None:
        """Write an object in one step."""
        with self._access():
            self._put(name, content)

    def upload(self, path: Path, name: str) -> None:
        """Copy a file to an object in one step."""
        with self._access():
            if self._is_local:
                self._replace(name, lambda partial: shutil.copyfile(path, partial))
            else:
                self._files.put_file(str(path), self._place(name))

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects in a folder, sorted."""
        with self._access():
            paths = self._files.find(self._place(folder))
        start = len(self._place(""))
        return sorted(each[start:] for each in paths if not each.endswith(PARTIAL))

    def read(self, name: str) -> bytes:
        """Return the content of an object, by one request, as another server may replace it."""
        with self._access():
            content: bytes = self._files.cat_file(self._place(name))
            return content

    def remove(self, folder: str) -> None:
        """Remove all objects in a folder."""
        with self._access(), suppress(FileNotFoundError):
            self._files.rm(self._place(folder), recursive=True)

    def _place(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _put(self, name: str, content: bytes) -> None:
        if self._is_local:
            self._replace(name, content)
        else:
            self._files.pipe_file(self._place(name), content)

    def _replace(self, name: str, write: Any) -> None:
        """Replace a file in one step, which fsspec does not do."""
        path = Path(self._place(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_synced(path, write)

    @contextmanager
    def _access(self) -> Iterator[None]:
        """Check that the store is there, as a folder may not be mounted."""
        with self._problems():
            try:
                self._files.info(self._place(MARKER))
            except FileNotFoundError as error:
                raise FileNotFoundError(errno.ENOENT, f"the object {MARKER} is missing") from error
            yield

    @contextmanager
    def _problems(self) -> Iterator[None]:
        """Turn errors into StoreProblem, and log their reasons."""
        try:
            yield
        except Exception as error:  # each library of a store has its own errors
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            log.error("the store of answers %s failed: %s", self.url, reason)
            raise StoreProblem(reason) from error
