"""Numbers in the user's columns that a model reads as missing."""

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.trees.from_xgboost import xgboost_missing
from encoders.trees.inputs import Layout
from encoders.trees.kinds import kind_of
from portfolio.model.pipeline import Preprocessing


def missing_number(layout: Layout) -> float:
    """Return the number that all members of a model read as missing, or NaN if there is none."""
    leaves = [member for member, _ in layout.leaves]
    of_xgboost = all(kind_of(member).library == "xgboost" for member in leaves)
    numbers = {xgboost_missing(member) for member in leaves} if of_xgboost else set()
    return numbers.pop() if len(numbers) == 1 else float("nan")


def missing_numbers(steps: Preprocessing, rows: FloatArray) -> dict[str, float]:
    """Return, by column, the number that the members of a model read as missing.

    Only columns count that have an input equal to that number where the column is. Another input
    may mark missing values.
    """
    number = missing_number(steps.layout)
    whole = rows[~np.isnan(rows).any(axis=1)][:1]
    if np.isnan(number) or not len(whole):
        return {}
    source = np.array([each.column for each in steps.sources], dtype=np.int64)
    numbers = {}
    for at, column in enumerate(steps.table.columns):
        if column.labels is not None:
            continue
        row = whole.copy()
        row[0, at] = number
        try:
            inputs = steps.inputs(row, True)[0, source == at]
        except InputError:  # a step rejects the number
            continue
        if inputs.size and np.any(inputs == number):
            numbers[str(column.name)] = number
    return numbers
