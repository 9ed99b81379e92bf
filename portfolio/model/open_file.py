"""Readers of model files by library, without protection against damaged files."""

import re
import zipfile
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.trees.refusals import first_line

LARGEST_FILE = 2**31  # bytes, of a file or of its unpacked content
XGBOOST = (".json", ".ubj")
HEAD = 4096  # bytes
CATBOOST_KEYS = (b"features_info", b"model_info", b"oblivious_trees", b"trees", b"scale_and_bias")
CATBOOST_CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "Focal")  # prefixes of losses
PICKLE = (".pkl", ".pickle", ".joblib")
# Modules of model classes, none of which runs code when it is loaded.
TRUSTED_PREFIXES = ("sklearn.", "numpy.", "scipy.", "encoders.trees.voting.", "collections.")


def open_model(path: Path) -> Any:
    """Load a model in this process without protection; see :func:`load_model`."""
    loaders = {".skops": _load_skops, ".txt": _load_lightgbm, ".cbm": _load_catboost}
    loaders |= dict.fromkeys(XGBOOST, _load_xgboost) | dict.fromkeys(PICKLE, _load_pickle)
    try:
        loader = _load_catboost if is_catboost_json(path) else loaders[path.suffix.lower()]
        model = loader(path)
        _touch_names(model)
        return model
    except InputError:
        raise
    except Exception as error:  # libraries raise many types of errors
        raise InputError(sentence(error)) from error


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


def _load_xgboost(path: Path) -> Any:
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(path)
    if booster.attr("scikit_learn") is None:
        return booster
    # An estimator: its predict stops at best_iteration, and returns classes.
    regression = '"regressor"' in booster.attr("scikit_learn")
    estimator = xgboost.XGBRegressor() if regression else xgboost.XGBClassifier()
    estimator.load_model(path)
    return estimator


def is_catboost_json(path: Path) -> bool:
    """Return whether a .json file starts as CatBoost's do; XGBoost's start with the learner."""
    if path.suffix.lower() != ".json":
        return False
    with path.open("rb") as file:
        key = re.match(rb'\s*\{\s*"(\w+)"', file.read(HEAD))
    return key is not None and key[1] in CATBOOST_KEYS


def _load_catboost(path: Path) -> Any:
    try:
        import catboost
    except ImportError as error:
        raise InputError(
            "it needs catboost. Install it: pip install 'counterfolio[catboost]'"
        ) from error

    form = path.suffix.lower()[1:]
    loss = catboost.CatBoost().load_model(str(path), format=form).get_all_params()["loss_function"]
    classifies = any(loss.startswith(prefix) for prefix in CATBOOST_CLASSIFIERS)
    model = catboost.CatBoostClassifier() if classifies else catboost.CatBoostRegressor()
    return model.load_model(str(path), format=form)


def _load_lightgbm(path: Path) -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise InputError(
            "it needs lightgbm. Install it: pip install 'counterfolio[lightgbm]'"
        ) from error

    # Read the file here, as LightGBM's own reader ends the process on some damaged files.
    text = path.read_text(encoding="utf-8")
    _check_lightgbm(text)
    return lightgbm.Booster(model_str=text)


def _check_lightgbm(text: str) -> None:
    """Raise InputError unless trees are as long as stated; lightgbm reads past missing parts."""
    if not text.startswith("tree"):
        raise InputError("it is not a LightGBM model text file.")
    head, tree, _ = text.partition("\nTree=0\n")
    if "\nend of trees" not in text or (not tree and "\nTree=" in text):
        raise InputError("it ends before its last tree; it is truncated or damaged.")
    sizes = next((line for line in head.splitlines() if line.startswith("tree_sizes=")), "")
    content = text.encode()
    at = len(head.encode()) + 1
    for number, size in enumerate(sizes.partition("=")[2].split()):
        if not content.startswith(f"Tree={number}\n".encode(), at) or not size.isdecimal():
            raise InputError(
                f"its tree {number} is not where its header says. The file is damaged."
            )
        at += int(size)
    if sizes and not content.startswith(b"end of trees", at):
        raise InputError("its trees are not as long as its header says. The file is damaged.")


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
