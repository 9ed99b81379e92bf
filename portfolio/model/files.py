"""Loading of model files; pickles are loaded only if the user trusts them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from portfolio.model.open_file import ENDINGS, LARGEST_FILE, PICKLE, open_model
from portfolio.model.probe import probe

KNOWN = (
    "XGBoost .json or .ubj, LightGBM .txt, CatBoost .cbm or .json, scikit-learn .skops, and .pkl "
    "or .joblib from a trusted source"
)


def load_model(
    path: str | Path, trust_pickle: bool = False, remedy: str = "add --trust-pickle"
) -> Any:
    """Load a model by its file ending, in a child process first.

    A damaged file can crash or hang the process that reads it, or fill its memory. So a child with
    limits on memory and time loads the file, reads the model and calls predict. Only then is it
    loaded in this process.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"model file {path} does not exist. Check the path.")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(
            f"the model file {path} is larger than {LARGEST_FILE >> 20} MiB. Load the model in "
            "Python and pass it to Explainer."
        )
    ending = path.suffix.lower()
    if ending in PICKLE and not trust_pickle:
        raise InputError(
            f"{path} is a pickle, which can run any code when loaded. If you trust its source, "
            f"{remedy}."
        )
    if ending not in (*ENDINGS, *PICKLE):
        raise InputError(f"{path}: unknown model file ending {ending!r}. Use one of {KNOWN}.")
    complaint = probe(path)
    if complaint:
        raise InputError(f"the model file {path} cannot be read: {complaint}")
    return open_model(path)


def to_probe(paths: Iterable[Path], trust_pickle: bool) -> list[Path]:
    """Return the files among some that :func:`load_model` would probe."""
    endings = (*ENDINGS, *(PICKLE if trust_pickle else ()))
    return [
        path
        for path in paths
        if path.suffix.lower() in endings and path.is_file() and path.stat().st_size <= LARGEST_FILE
    ]
