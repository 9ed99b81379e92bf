"""Small text files of settings, read with care."""

from collections import Counter
from pathlib import Path
from typing import Any

from encoders.errors import InputError

LARGEST = 2**26  # bytes
# What reading JSON of another kind than was expected may raise.
FAULTS = (
    ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError, RecursionError,
)  # fmt: skip


def fault_of(error: Exception) -> str:
    """What was wrong with a text, in words."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def distinct_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; pass it to ``json`` as ``object_pairs_hook``."""
    found = dict(members)
    if len(found) < len(members):
        ((name, _),) = Counter(name for name, _ in members).most_common(1)
        raise ValueError(f"the member {name[:80]!r} comes twice in one object")
    return found


def read_text(path: str | Path, what: str) -> str:
    """The text of a file; ``what`` names it in errors, as in "the feature file x.json"."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{what} {path} is no regular file.")
        if path.exists() and path.stat().st_size > LARGEST:
            raise InputError(f"{what} {path} is larger than {LARGEST >> 20} MiB.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't read {what} {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is no UTF-8 text: {error}.") from error
