"""Records of model files that were checked, so that they need no further child process.

A record is an empty file in the user's cache folder. Its name is a digest of the content and the
ending of the model file, of the versions of the libraries, and of the machine. Only this user can
write to the folder. Programs that run as this user could as well change the code of this library.
"""

import hashlib
import json
import platform
from contextlib import suppress
from pathlib import Path

from encoders.core.errors import InputError
from portfolio.model.cache_folder import cache_folder
from portfolio.model.file_digest import digest_of
from portfolio.model.library_versions import library_versions
from portfolio.model.open_file import PICKLE

FOLDER = "checked"
MOST = 1000  # records; the oldest ones are removed


def record_of(path: Path) -> Path | None:
    """Return the path of a file's record, existing or not; None if it can have none.

    A pickle has none, as code beside the file determines what it does.
    """
    folder = cache_folder(FOLDER)
    if folder is None or path.suffix.lower() in PICKLE or not path.is_file():
        return None
    try:
        content = digest_of(path)
    except InputError:  # opening the file raises it again
        return None
    key = (path.suffix.lower(), content, dict(library_versions()), platform.machine())
    return folder / hashlib.sha256(json.dumps(key).encode()).hexdigest()


def add_record(record: Path) -> None:
    """Write a record and remove old ones; do nothing if the folder is not writable."""
    with suppress(OSError):
        record.touch(mode=0o600)
        by_age = sorted(record.parent.iterdir(), key=lambda file: -file.lstat().st_mtime)
        for file in by_age[MOST:]:
            file.unlink(missing_ok=True)
