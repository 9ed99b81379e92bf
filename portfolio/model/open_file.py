"""Readers of model files by library, without protection against damaged files."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from encoders.readers.reader import file_formats, format_of
from encoders.readers.refusals import first_line

LARGEST_FILE = 2**31  # bytes, of a file or of its unpacked content
PICKLE = (".pkl", ".pickle", ".joblib")
ENDINGS = (*(ending for form in file_formats() for ending in form.endings), ".skops")
# Modules of model classes, none of which runs code when it is loaded.
TRUSTED_PREFIXES = ("sklearn.", "numpy.", "scipy.", "encoders.trees.voting.", "collections.")


def open_model(path: Path) -> Any:
    """Load a model in this process without protection; see :func:`load_model`."""
    try:
        model = _loader(path)(path)
        _touch_names(model)
        return model
    except InputError:
        raise
    except Exception as error:  # libraries raise many types of errors
        raise InputError(sentence(error)) from error


def _loader(path: Path) -> Callable[[Path], Any]:
    if path.suffix.lower() in PICKLE:
        return _load_pickle
    form = format_of(path)
    return _load_skops if form is None else form.load


def sentence(error: BaseException) -> str:
    """Return a library's error about a file as a sentence."""
    words = first_line(error)
    if not any(letter.isalpha() for letter in str(error)):
        words = f"it is empty or damaged ({type(error).__name__})"
    return f"{words.rstrip('.')}."


def _touch_names(model: Any) -> None:
    """Read the names of a model, which are decoded on access and may raise errors."""
    for name in ("feature_names", "feature_name", "feature_names_in_"):
        names = getattr(model, name, None)
        if callable(names):
            names()


def _load_skops(path: Path) -> Any:
    import skops.io

    with zipfile.ZipFile(path) as packed:
        unpacked = sum(entry.file_size for entry in packed.infolist())
    if unpacked > LARGEST_FILE:
        raise InputError(f"it unpacks to more than {LARGEST_FILE >> 20} MiB.")
    unknown = skops.io.get_untrusted_types(file=path)
    strange = [name for name in unknown if not name.startswith(TRUSTED_PREFIXES)]
    if strange:
        raise InputError(
            f"it holds an object of type {strange[0]}, which is not trusted in a .skops file. If "
            "you trust its source, save the model with joblib.dump and add --trust-pickle, or "
            "explain it in Python."
        )
    return skops.io.load(path, trusted=unknown)


def _load_pickle(path: Path) -> Any:
    import joblib

    return joblib.load(path)
