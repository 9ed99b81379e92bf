"""Atomic writes: a file is written completely or not at all."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from encoders.core.errors import InputError


def write_all(file: BinaryIO, content: bytes) -> None:
    """Write all bytes, also to a raw file that takes fewer per call; OSError may leave a part."""
    written = 0
    while written < len(content):
        written += file.write(content[written:])


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Replace a file in one step, so that readers never see a half-written file."""
    # Processes and threads that write the same file use different partial files.
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text as UTF-8 and move it into place in one step; InputError if that fails."""
    try:
        replace_whole(Path(path), lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}. Use a path in a writable folder."
        ) from error
