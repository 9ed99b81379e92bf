"""Logs of a service, as far as there is something to learn from them."""

from pathlib import Path

import pandas as pd

from encoders.errors import InputError
from portfolio.logbook import EXPLORED
from selector import logs
from selector.learning.train import FOLDS
from selector.logs.record import PROOFS


def explored(folder: Path) -> Path:
    """Where the explored questions are.

    What one backend answered teaches nothing of the others, so the rest is left alone.
    """
    found = folder / EXPLORED
    frame = logs.read(found) if found.is_dir() else pd.DataFrame(columns=["query", "status"])
    count = frame.loc[frame["status"].isin(PROOFS), "query"].nunique()
    if count < FOLDS:
        raise InputError(
            f"{folder} has {count} explored questions that were proved, and {FOLDS} are needed: "
            "keep counterfolio serve --logs FOLDER --explore 0.05 running until there are more."
        )
    return found
