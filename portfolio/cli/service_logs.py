"""The part of a service's logs from which a selector can learn."""

from pathlib import Path

import pandas as pd

from encoders.core.errors import InputError
from portfolio.engine.logbook import EXPLORED
from selector import logs
from selector.learning.train import FOLDS
from selector.logs.record import PROOFS


def explored(folder: Path) -> Path:
    """Return the folder of explored queries; raise InputError if there are too few.

    Other records are ignored: a single backend's answer does not compare backends.
    """
    source = folder / EXPLORED
    frame = logs.read(source) if source.is_dir() else pd.DataFrame(columns=["query", "status"])
    count = frame.loc[frame["status"].isin(PROOFS), "query"].nunique()
    if count < FOLDS:
        raise InputError(
            f"{folder} has {count} explored queries with a proof, but training needs {FOLDS}. "
            "Run counterfolio serve --logs FOLDER --explore 0.05 longer."
        )
    return source
