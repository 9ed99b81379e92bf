"""Model files -> fitted models; nothing from a stranger is unpickled without being told to."""

from pathlib import Path
from typing import Any

from encoders.errors import InputError

LARGEST_FILE = 2**31
XGBOOST = (".json", ".ubj")
PICKLE = (".pkl", ".pickle", ".joblib")
KNOWN = "XGBoost .json or .ubj, LightGBM .txt, scikit-learn .skops, and with trust .pkl or .joblib"
# Classes of the models themselves, none of which runs code when it is loaded.
TRUSTED_PREFIXES = ("sklearn.", "numpy.", "scipy.", "encoders.voting.", "collections.")


def load_model(path: str | Path, trust_pickle: bool = False) -> Any:
    """Load a model by its file ending.

    Parameters
    ----------
    trust_pickle : allow .pkl, .pickle and .joblib, which can run any code when loaded

    Raises
    ------
    InputError
        Missing, oversized or corrupt file, unknown ending, or pickle without trust.
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
    loaders = {".skops": _load_skops, ".txt": _load_lightgbm}
    loaders |= dict.fromkeys(XGBOOST, _load_xgboost) | dict.fromkeys(PICKLE, _load_pickle)
    if ending not in loaders:
        raise InputError(f"{path}: unknown model ending {ending!r}; known are {KNOWN}.")
    try:
        return loaders[ending](path)
    except InputError:
        raise
    except Exception as error:  # each library has its own zoo of errors for a corrupt file
        reason = str(error).strip().splitlines()
        raise InputError(
            f"the model file {path} can't be read: {(reason or [type(error).__name__])[0][:200]}"
        ) from error


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
            f"{path} needs lightgbm; install it with: pip install 'counterfolio[lightgbm]'"
        ) from error

    # The file is read here because lightgbm's own reader ends the process on some bad files.
    text = path.read_text(encoding="utf-8")
    if not text.startswith("tree"):
        raise InputError(f"{path} is not a LightGBM model text file.")
    return lightgbm.Booster(model_str=text)


def _load_skops(path: Path) -> Any:
    import skops.io

    unknown = skops.io.get_untrusted_types(file=path)
    strange = [name for name in unknown if not name.startswith(TRUSTED_PREFIXES)]
    if strange:
        raise InputError(f"{path} holds an object of type {strange[0]}, which is not trusted.")
    return skops.io.load(path, trusted=unknown)


def _load_pickle(path: Path) -> Any:
    import joblib

    return joblib.load(path)
