"""Readers of model files by library, without protection against damaged files."""

import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from encoders.readers.reader import file_formats, format_of
from encoders.readers.refusals import first_line

LARGEST_FILE = 2**31  # bytes, of a file or of its unpacked content
PICKLE = (".pkl", ".pickle", ".joblib")
ENDINGS = (*(ending for form in file_formats() for ending in form.endings), ".skops")
# Modules and classes of models, none of which runs code when it is loaded. Libraries that wrap
# native objects are listed by class: only these read the objects from the bytes of a file.
TRUSTED_PREFIXES = (
    *("sklearn.", "numpy.", "scipy.", "collections.", "encoders.trees."),
    *("imblearn.", "interpret.glassbox.", "optbinning.", "quantile_forest.", "sksurv."),
    "feature_engine.",
    *("catboost.core.CatBoost", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBM"),
    *("xgboost.core.Booster", "xgboost.sklearn.XGB"),
)
PARTIAL = "PartialNode"  # class of skops for partial calls
HARMLESS = {
    "__class__": "check_array",
    "__module__": "sklearn.utils.validation",
    "__loader__": "FunctionNode",
}


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
    remedy = ""
    if isinstance(error, ImportError):  # a pickle names the modules that it needs
        remedy = " Install the packages that the model was saved with, in the same versions."
    return f"{words.rstrip('.')}.{remedy}"


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
    types = skops.io.get_untrusted_types(file=path)
    if strange := _strange(path, types):
        raise InputError(
            f"it holds an object of type {strange}, which is not trusted in a .skops file. If "
            "you trust its source, save the model with joblib.dump and add --trust-pickle, or "
            "explain it in Python."
        )
    return skops.io.load(path, trusted=types)


def strange_type(path: Path) -> str:
    """Return the first type in a .skops file that is not trusted; "" if all are."""
    import skops.io

    return _strange(path, skops.io.get_untrusted_types(file=path))


def _strange(path: Path, types: Sequence[str]) -> str:
    """Return the first of a file's types that is not trusted; "" if all are.

    A partial call is trusted only if it is the one in histogram models of scikit-learn.
    """
    with zipfile.ZipFile(path) as packed:
        schema = packed.read("schema.json")
    calls = list(_partial_calls(json.loads(schema))) if PARTIAL.encode() in schema else []
    wrong = any(call != HARMLESS for call in calls)
    trusted = TRUSTED_PREFIXES if wrong else (*TRUSTED_PREFIXES, "functools.partial")
    strange = next((name for name in types if not name.startswith(trusted)), "")
    return strange or ("functools.partial" if wrong else "")


def _partial_calls(schema: Any) -> Iterator[Any]:
    """Yield the function of each partial call in the schema of a .skops file."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("__loader__") == PARTIAL:
                function = node["content"]["func"]
                yield {name: each for name, each in function.items() if name != "__id__"}
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _load_pickle(path: Path) -> Any:
    import joblib

    return joblib.load(path)
