"""The rows of a batch, as they were read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow

from encoders.arrays import FloatArray
from encoders.errors import NothingAdmissibleError
from encoders.query.goal import ClassGoal
from portfolio.goals import value_goal, wanted_of
from portfolio.model.table import Table
from portfolio.model.tabular import Row, read_rows
from portfolio.question import Question
from portfolio.solving.ask import Asker


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of a batch: their labels, values, and what is wrong with those without values.

    Attributes
    ----------
    index : (n_rows,), the ids of the table
    columns : names in the model's order
    values : float64 (n_columns,) or a sentence, per row
    table : the user's columns, where not all of them hold numbers
    """

    index: "pd.Index[Any]"
    columns: Sequence[str]
    values: Sequence[FloatArray | str]
    table: Table | None = None

    def ids(self) -> Any:
        """Labels as they are, or as text where a table on disk could not hold them."""
        index = self.index
        try:
            pyarrow.array(index, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            return [str(label) for label in index]
        return [str(label) for label in index] if isinstance(index, pd.MultiIndex) else index


def read_batch(asker: Asker, question: Question, X: Any) -> BatchRows:
    """The rows of a table, and what is wrong with those that are none.

    Parameters
    ----------
    asker : of the model
    question : that will be asked of all of them
    X : DataFrame or array (n_rows, n_columns)

    Raises
    ------
    InputError
        What would go wrong with every row: the question, or the columns.
    """
    model = asker.model
    wanted = wanted_of(model, question.target)
    if wanted is None and question.target is not None:
        model.native.class_index(question.target)
    asker.check_classes()
    table = model.native.table
    rows = BatchRows(*read_rows(X, model.space, model.input_type, table), table)
    nothing: NothingAdmissibleError | None = None
    for values in rows.values:
        if isinstance(values, str):
            continue
        goal = ClassGoal(0) if wanted is None else value_goal(model, wanted, values)
        try:
            question.query(model, Row.of_values(values), goal)
            return rows
        except NothingAdmissibleError as error:  # of this row; others may well have an answer
            nothing = nothing or error
    if nothing is not None:
        raise nothing
    return rows
