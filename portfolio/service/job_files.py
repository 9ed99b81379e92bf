"""Files of jobs: written atomically, read with checks, removed without following links."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.whole_files import replace_whole, write_all

LARGEST = 2**24  # bytes of a file that describes a job
PARTIAL = ".partial"


def replace_synced(path: Path, write: bytes | Callable[[Path], object]) -> None:
    """Replace a file atomically and durably, even if the power fails."""

    def synced(partial: Path) -> None:
        if isinstance(write, bytes):
            with partial.open("wb") as file:
                write_all(file, write)
        else:
            write(partial)
        sync(partial)

    replace_whole(path, synced)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create a folder with files atomically."""
    partial = folder.with_name(folder.name + PARTIAL)
    try:
        partial.mkdir()
        for name, content in files.items():
            replace_synced(partial / name, content)
        partial.rename(folder)
        sync(folder.parent)
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


def read_object(
    path: Path, needed: Mapping[str, type], optional: Mapping[str, type]
) -> dict[str, Any]:
    """Return the known members of a small JSON object file; raise InputError if it is invalid."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        raise InputError(f"{path.name} is not a regular file of at most {LARGEST >> 20} MB")
    try:
        members = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path.name} is not JSON") from error
    if not isinstance(members, dict):
        raise InputError(f"{path.name} is not an object")
    for name, kind in {**needed, **optional}.items():
        value = members.get(name)
        if name in optional and value is None:
            continue
        number = kind is float and type(value) is int
        if type(value) is not kind and not number:
            raise InputError(f"{path.name} has no member {name!r} of type {kind.__name__}")
    names = needed.keys() | optional.keys()
    return {name: item for name, item in members.items() if name in names and item is not None}
