"""SHA-256 of files."""

import hashlib
from pathlib import Path

from encoders.core.errors import InputError


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    if not isinstance(path, str | Path):
        raise InputError(f"model_file must be a path, got {path!r}.")
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the model file {path} cannot be read: {error.strerror}.") from error
