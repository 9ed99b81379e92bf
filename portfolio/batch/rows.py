"""The rows of a batch, as they were read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import NothingAdmissibleError
from encoders.query.features import same
from encoders.query.goal import ClassGoal
from portfolio.goals import checked_target, value_goal
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.replaced import frame_with
from portfolio.model.row import Origin, Row
from portfolio.model.table import Table
from portfolio.model.tabular import in_labels, own_columns, read_rows
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
    own : the rows in the model's order, with their values as their user has them
    table : the user's columns, where not all of them hold numbers
    whole : whether tasks are rows in the user's values, and not in numbers alone
    """

    index: "pd.Index[Any]"
    columns: Sequence[str]
    values: Sequence[FloatArray | str]
    own: pd.DataFrame
    table: Table | None = None
    whole: bool = False

    @cached_property
    def payloads(self) -> Sequence[FloatArray | Row | str]:
        """What tasks are about: numbers, rows, or what is wrong with a row."""
        if not self.whole:
            return self.values
        own = zip(*(self.own.iloc[:, at].tolist() for at in range(self.own.shape[1])), strict=True)
        return [
            value if isinstance(value, str) else self._row(value, row)
            for value, row in zip(self.values, own, strict=True)
        ]

    def _row(self, values: FloatArray, own: tuple[Any, ...]) -> Row:
        given = dict(zip(self.columns, own, strict=True))
        return in_labels(
            Row(values, Origin(given, values, np.arange(values.size)), self.table), own
        )

    def identities(self) -> Iterator[tuple[Any, ...]]:
        """What the answer to each row depends on."""
        for value in self.payloads:
            if isinstance(value, Row):
                beyond = value.beyond()
                yield (value.values, beyond) if beyond else (value.values,)
            else:
                yield (value,)

    def some(self, places: Sequence[int]) -> "BatchRows":
        """Return some of the rows."""
        values = [self.values[at] for at in places]
        own, index = self.own.iloc[list(places)], self.index[list(places)]
        return replace(self, index=index, values=values, own=own)

    def answered(self, found: Sequence[FloatArray | None]) -> pd.DataFrame:
        """Return the answers in the types of the rows; what did not change is as it was."""
        none = np.full(len(self.columns), np.nan)
        pairs = list(zip(self.values, found, strict=True))
        good = np.array([not isinstance(own, str) and row is not None for own, row in pairs], bool)
        before = np.array([none if isinstance(own, str) else own for own, _ in pairs])
        after = np.array([none if row is None else row for _, row in pairs])
        shape = len(pairs), len(self.columns)
        before, after = before.reshape(shape), after.reshape(shape)
        spelled = self._respelled()
        if self.table is not None:
            spelled &= ~self.table.new_in(before)
        moved = (~same(before, after) | spelled) & good[:, None]
        return frame_with(self.own, moved, after, good, self._user_values)

    def _respelled(self) -> BoolArray:
        """Where a category is written otherwise than in the training frame, (n_rows, n_columns)."""
        other = np.zeros(self.own.shape, dtype=np.bool_)
        for at, column in enumerate(() if self.table is None else self.table.columns):
            if column.labels is not None and not column.unread:
                index, known = pd.factorize(self.own.iloc[:, at].astype(object))
                other[:, at] = np.array([*map(column.respells, known), False])[index]
        return other

    def _user_values(self, column: int, numbers: FloatArray) -> Any:
        return numbers if self.table is None else self.table.columns[column].values(numbers)

    def ids(self) -> Any:
        """Labels as they are, or as text where a table on disk could not hold them."""
        index = self.index
        try:
            pyarrow.array(index, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            return [str(label) for label in index]
        return [str(label) for label in index] if isinstance(index, pd.MultiIndex) else index


def rows_of(model: ExplainedModel, X: Any, whole: bool = False) -> BatchRows:
    """Read the rows of a table, and find what is wrong with those that are none."""
    model.check_unchanged()
    table = model.native.table
    read = read_rows(X, model.space, model.input_type, table)
    return BatchRows(*read, own_columns(X, model.space, table), table, whole)


def read_batch(asker: Asker, question: Question, X: Any, whole: bool = False) -> BatchRows:
    """The rows of a table, and what is wrong with those that are none."""
    model = asker.model
    wanted = checked_target(model, question.target)
    asker.check_classes()
    rows = rows_of(model, X, whole)
    nothing: NothingAdmissibleError | None = None
    for values in rows.values:
        if isinstance(values, str):
            continue
        goal = ClassGoal(0) if wanted is None else value_goal(model, wanted, values)
        try:
            question.query(model, Row(values), goal)
            return rows
        except NothingAdmissibleError as error:  # of this row; others may well have an answer
            nothing = nothing or error
    if nothing is not None:
        raise nothing
    return rows
