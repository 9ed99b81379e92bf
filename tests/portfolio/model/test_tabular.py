"""Rows and frames as users give them."""

import numpy as np
import pandas as pd

from encoders.errors import InputError
from portfolio.model.tabular import read_row, read_rows


def test_rows_read_at_once_are_those_read_one_by_one(explainer, credit):
    frame = pd.concat([credit[1]] * 2, ignore_index=True).astype(object)
    for place, (column, value) in enumerate(
        [("age", "33"), ("age", 33.5), ("age", "old"), ("income", np.inf), ("income", 1e300),
         ("home_own", 2.0), ("employed", True), ("income", None), ("age", 10**400)]
    ):  # fmt: skip
        frame.loc[place, column] = value
    space = explainer.features
    _, _, found = read_rows(frame, space, np.dtype(np.float32))
    for place, values in enumerate(frame.to_numpy()):
        try:
            expected = read_row(values, space, np.dtype(np.float32)).values
        except InputError as error:
            expected = str(error)
        if isinstance(expected, str):
            assert found[place] == expected
        else:
            np.testing.assert_array_equal(found[place], expected)
