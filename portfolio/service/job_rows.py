"""The rows of a job, read from the file that was sent."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.errors import InputError
from encoders.query.features import FeatureSpace
from portfolio.data.datasets import open_table
from portfolio.service.catalogue import Model


def read_rows(path: Path, model: Model, by: Any = None) -> tuple[pd.DataFrame, Any]:
    """The rows of a file, and a column of theirs besides.

    Parameters
    ----------
    path : ending in .csv, .parquet, or .json for a list of rows
    model : whose columns they have
    by : name of a column that may be none of the model's; anything else is none

    Returns
    -------
    The model's columns, and the other one, or None.

    Raises
    ------
    InputError
        It is no such file.
    """
    text = [name for name, value in model.example.items() if isinstance(value, str)]
    if path.suffix == ".json":
        frame = pd.DataFrame(json.loads(path.read_bytes()))
    else:
        try:
            frame = open_table(path, text, _categories(model.explainer.features))
        except InputError as error:  # folders of this machine are nobody's business
            raise InputError(str(error).replace(str(path), path.name)) from error
    space = model.explainer.features
    lacking = [name for name in space.columns if name not in frame.columns]
    if lacking:
        one = path.suffix == ".csv" and len(frame.columns) == 1
        hint = f"; commas separate columns, and it has one only, {frame.columns[0]!r}" * one
        raise InputError(f"the rows lack the column {lacking[0]!r}{hint}.")
    for name in space.columns:
        if not frame[name].map(pd.api.types.is_hashable).all():  # lists and objects of Parquet
            raise InputError(f"the column {name!r} has values that are neither numbers nor text.")
    beside = isinstance(by, str) and space.named(by) is None and by in frame.columns
    return frame[list(space.columns)], frame[by] if beside else None


def _categories(space: FeatureSpace) -> dict[str, set[str]]:
    """By column, those that its values are named by; an empty text is a missing value."""
    return {
        space.columns[feature.column]: set(feature.labels) - {""}
        for feature in space.features
        if feature.labels and not feature.one_hot
    }
