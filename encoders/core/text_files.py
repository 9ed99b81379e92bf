"""Reading of small text files of settings, with errors for users."""

from collections import Counter
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError

LARGEST = 2**26  # bytes
# Exceptions that unexpected JSON content may raise.
FAULTS = (
    ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError, RecursionError,
)  # fmt: skip


def fault_of(error: Exception) -> str:
    """Return a description of the fault in a text."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def distinct_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object without repeated members; for ``json``'s ``object_pairs_hook``."""
    document = dict(members)
    if len(document) < len(members):
        ((name, _),) = Counter(name for name, _ in members).most_common(1)
        raise ValueError(f"the member {name[:80]!r} appears twice in one object")
    return document


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated text."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def read_text(path: str | Path, what: str) -> str:
    """Return the text of a file; ``what`` names it in errors, as in "the feature file x.json"."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{what} {path} is not a regular file. Pass the path of a file.")
        if path.exists() and path.stat().st_size > LARGEST:
            raise InputError(
                f"{what} {path} is larger than {LARGEST >> 20} MiB. Use a smaller file."
            )
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot read {what} {path}: {error.strerror}. Check the path and its permissions."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is not UTF-8 text ({error}). Save it as UTF-8.") from error
