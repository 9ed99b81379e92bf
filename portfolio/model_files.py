"""Model files -> fitted models; nothing from a stranger is unpickled without being told to."""

import zipfile
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.refusals import first_line
from portfolio.model_probe import probe

LARGEST_FILE = 2**31
XGBOOST = (".json", ".ubj")
PICKLE = (".pkl", ".pickle", ".joblib")
KNOWN = "XGBoost .json or .ubj, LightGBM .txt, scikit-learn .skops, and with trust .pkl or .joblib"
# Classes of the models themselves, none of which runs code when it is loaded.
TRUSTED_PREFIXES = ("sklearn.", "numpy.", "scipy.", "encoders.voting.", "collections.")


def load_model(path: str | Path, trust_pickle: bool = False) -> Any:
    """Load a model by its file ending, in a process of its own first.

    A damaged file can crash, hang or fill the process that reads it: only what was loaded, read
    and asked to predict in a child with limits on memory and time is loaded here.

    Parameters
    ----------
    trust_pickle : allow .pkl, .pickle and .joblib, which can run any code when loaded

    Raises
    ------
    InputError
        Missing, oversized or corrupt file, unknown ending, a model that can't be explained, or
        pickle without trust.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no model file {path}.")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"the model file {path} is larger than {LARGEST_FILE >> 20} MiB.")
    ending = path.suffix.lower()
    if ending in PICKLE and not trust_pickle:
        raise InputError(
            f"{path} is a pickle, which can run any code when loaded; if you trust where it "
            "comes from, say --trust-pickle."
        )
    if ending not in (*XGBOOST, *PICKLE, ".txt", ".skops"):
        raise InputError(f"{path}: unknown model ending {ending!r}; known are {KNOWN}.")
    complaint = probe(path)
    if complaint:
        raise InputError(f"the model file {path} can't be read: {complaint}")
    return open_model(path)


def open_model(path: Path) -> Any:
    """Load a model in this process, whatever that does to it; see :func:`load_model`.

    Raises
    ------
    InputError
        One sentence on what the library that reads it makes of it.
    """
    loaders = {".skops": _load_skops, ".txt": _load_lightgbm}
    loaders |= dict.fromkeys(XGBOOST, _load_xgboost) | dict.fromkeys(PICKLE, _load_pickle)
    try:
        model = loaders[path.suffix.lower()](path)
        _touch_names(model)
        return model
    except InputError:
        raise
    except Exception as error:  # each library has its own zoo of errors
        raise InputError(sentence(error)) from error


def sentence(error: BaseException) -> str:
    """What a library says of a file, as a sentence."""
    words = first_line(error)
    if not any(letter.isalpha() for letter in str(error)):
        words = f"it is empty or damaged ({type(error).__name__})"
    return f"{words.rstrip('.')}."


def _touch_names(model: Any) -> None:
    """Names are decoded when they are asked for, which may fail."""
    for name in ("feature_names", "feature_name", "feature_names_in_"):
        found = getattr(model, name, None)
        if callable(found):
            found()


def _load_xgboost(path: Path) -> Any:
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(path)
    if booster.attr("scikit_learn") is None:
        return booster
    # A classifier's file: its predict stops at best_iteration, and has its own way with classes.
    classifier = xgboost.XGBClassifier()
    classifier.load_model(path)
    return classifier


def _load_lightgbm(path: Path) -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise InputError(
            "it needs lightgbm; install it with: pip install 'counterfolio[lightgbm]'"
        ) from error

    # The file is read here because lightgbm's own reader ends the process on some bad files.
    text = path.read_text(encoding="utf-8")
    _check_lightgbm(text)
    return lightgbm.Booster(model_str=text)


def _check_lightgbm(text: str) -> None:
    """Every tree is as long as the header says: lightgbm itself reads on over what is missing."""
    if not text.startswith("tree"):
        raise InputError("it is not a LightGBM model text file.")
    head, tree, _ = text.partition("\nTree=0\n")
    if "\nend of trees" not in text or (not tree and "\nTree=" in text):
        raise InputError("it ends before its trees do; it is cut off or damaged.")
    sizes = next((line for line in head.splitlines() if line.startswith("tree_sizes=")), "")
    content = text.encode()
    at = len(head.encode()) + 1
    for number, size in enumerate(sizes.partition("=")[2].split()):
        if not content.startswith(f"Tree={number}\n".encode(), at) or not size.isdecimal():
            raise InputError(f"its tree {number} is not where its header says; it is damaged.")
        at += int(size)
    if sizes and not content.startswith(b"end of trees", at):
        raise InputError("its trees are not as long as its header says; it is damaged.")


def _load_skops(path: Path) -> Any:
    import skops.io

    with zipfile.ZipFile(path) as packed:
        unpacked = sum(entry.file_size for entry in packed.infolist())
    if unpacked > LARGEST_FILE:
        raise InputError(f"it unpacks to more than {LARGEST_FILE >> 20} MiB.")
    unknown = skops.io.get_untrusted_types(file=path)
    strange = [name for name in unknown if not name.startswith(TRUSTED_PREFIXES)]
    if strange:
        raise InputError(f"it holds an object of type {strange[0]}, which is not trusted.")
    return skops.io.load(path, trusted=unknown)


def _load_pickle(path: Path) -> Any:
    import joblib

    return joblib.load(path)
