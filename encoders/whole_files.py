"""Files that are written whole, or not at all."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from encoders.errors import InputError


def write_all(file: BinaryIO, content: bytes) -> None:
    """Write all of it: a raw file may take less at a time. Raises OSError, some of it written."""
    written = 0
    while written < len(content):
        written += file.write(content[written:])


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Put a new file in the place of another in one step, so that nobody ever reads half of it."""
    # Two processes or threads that write the same file do not share its beginnings.
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text as UTF-8, moved into place whole."""
    try:
        replace_whole(Path(path), lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror or error}.") from error
