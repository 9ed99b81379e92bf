"""Input tables of the members of a model, joined side by side.

The last step of a pipeline reads another table than the pipeline does. So a model with pipelines as
members reads several tables. They are joined into one, and each member reads columns of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from encoders.core.arrays import IntArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import (
    is_pipeline,
    last_step,
    require_inherited,
    steps_before,
    unwrapped,
)
from encoders.readers.reader import reader_of
from encoders.trees.ensemble import Ensemble

SETS_TWICE = (
    "a member of the model splits on native categories, or treats numbers as missing, and has a "
    "column twice. Set bootstrap_features=False."
)


@dataclass(frozen=True, eq=False)
class InputTable:
    """Table that members read: the user's table, or the output of a pipeline's steps.

    Attributes
    ----------
    source : index of the table that the steps read, -1 for the user's table.
    columns : columns of the source that a bagging passes as an array, int64 (n_columns,); None for
        the whole source.
    pipeline : pipeline whose first steps (all but the last) compute the table; None for the user's.
    name : name of the pipeline in ``get_params``, "" for the whole model.
    """

    source: int = -1
    columns: IntArray | None = None
    pipeline: Any = None
    name: str = ""

    def same(self, other: "InputTable") -> bool:
        """Return whether two tables hold the same columns."""
        if self.source != other.source or self.pipeline is not other.pipeline:
            return False
        if self.columns is None or other.columns is None:
            return self.columns is other.columns
        return np.array_equal(self.columns, other.columns)


@dataclass(frozen=True, eq=False)
class Place:
    """Input of one model: a table, or some of its columns."""

    table: int = 0  # index of the table
    columns: IntArray | None = None  # columns of the table, int64 (n_inputs,); None for all
    name: str = ""  # name of the model in ``get_params``

    def member(self, columns: IntArray | None, name: str) -> "Place":
        """Return the place of a member of the model."""
        both = self.columns
        if columns is not None:
            both = columns if self.columns is None else self.columns[columns]
        return Place(self.table, both, f"{self.name}__{name}" if self.name else name)


@dataclass(frozen=True, eq=False)
class Layout:
    """Tables of a model, and the place of each in the joint table.

    Attributes
    ----------
    tables : tuple of InputTable; the user's table is first, and each follows its source.
    leaves : models without members, each with its place.
    widths : number of columns of each table that leaves read, by index.
    """

    tables: tuple[InputTable, ...]
    leaves: tuple[tuple[Any, Place], ...]
    widths: Mapping[int, int]

    @property
    def piped(self) -> bool:
        """True if the model contains a pipeline."""
        return len(self.tables) > 1

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Yield the index of each table that leaves read, and its columns in the joint table."""
        first = 0
        for table in sorted(self.widths):
            yield table, slice(first, first + self.widths[table])
            first += self.widths[table]

    def columns_of(self, place: Place) -> IntArray:
        """Return the columns of the joint table that a model reads, int64 (n_inputs,)."""
        block = dict(self.blocks())[place.table]
        columns = np.arange(block.start, block.stop)
        return columns if place.columns is None else columns[place.columns]

    def after(self, pipeline: Any, place: Place) -> Place:
        """Return the place of the last step of a pipeline."""
        output = InputTable(place.table, place.columns, pipeline)
        at = next(at for at, table in enumerate(self.tables) if table.same(output))
        return Place(at).member(None, place.member(None, pipeline.steps[-1][0]).name)

    def with_ways(self, ensemble: Ensemble) -> Ensemble:
        """Return the trees of a member with directions for missing values if others may have them.

        The steps before a member that accepts no missing values may fill them. If they do not, the
        model itself rejects such a row.
        """
        if ensemble.default_left is not None or not self.piped or len(self.leaves) < 2:
            return ensemble
        return replace(ensemble, default_left=frozen(np.zeros(ensemble.column.size, np.bool_)))

    def placed(self, ensemble: Ensemble, place: Place) -> Ensemble:
        """Return the trees of a leaf over the columns of the joint table."""
        if place.columns is None and len(self.widths) < 2:
            return ensemble
        columns = self.columns_of(place)
        column = np.where(ensemble.column >= 0, columns[np.maximum(ensemble.column, 0)], -1)
        sets = ensemble.sets
        if sets is not None:
            if np.unique(columns).size < columns.size:
                raise UnsupportedModelError(SETS_TWICE)
            at = columns.tolist()
            sets = replace(
                sets,
                edges={at[column]: edges for column, edges in sets.edges.items()},
                numbers=frozenset(at[column] for column in sets.numbers),
            )
        n_columns = sum(self.widths.values())
        return replace(ensemble, n_columns=n_columns, column=frozen(column), sets=sets)


def layout_of(model: Any) -> Layout:
    """Return the tables that the members of a model read."""
    walk = _Walk()
    walk.through(model, Place(), None)
    return Layout(tuple(walk.tables), tuple(walk.leaves), walk.widths)


def is_owner(model: Any) -> bool:
    """Return whether a model has members that may read categories or have steps."""
    return reader_of(model).owns


@dataclass
class _Walk:
    """Recursive walk through a model that collects tables and leaves."""

    tables: list[InputTable] = field(default_factory=lambda: [InputTable()])
    leaves: list[tuple[Any, Place]] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)

    def through(self, model: Any, place: Place, width: int | None) -> None:
        """Collect the tables and leaves of a model; ``width`` is the table's, None if unknown."""
        inner = unwrapped(model)
        if inner is not model:
            place = place.member(None, "estimator")
        require_inherited(inner)
        if is_pipeline(inner):
            output = InputTable(place.table, place.columns, inner, place.name)
            if not any(output.same(table) for table in self.tables):
                self.tables.append(output)
            layout = Layout(tuple(self.tables), (), {})
            self.through(last_step(inner), layout.after(inner, place), None)
        elif is_owner(inner):
            for member, columns, name in reader_of(inner).members(inner):
                if columns is not None and place.columns is None:
                    width = int(inner.n_features_in_)
                self.through(member, place.member(columns, name), width)
        else:
            self.leaves.append((inner, place))
            self.widths.setdefault(
                place.table, reader_of(inner).width(inner) if width is None else width
            )


def inputs_of(pipeline: Any, rows: Any) -> Any:
    """Return the input of a pipeline's last step."""
    for _, step in steps_before(pipeline):
        rows = step.transform(rows)
    return rows


def as_bagging_passes(rows: Any, columns: IntArray) -> Any:
    """Return the array that a bagging passes to a member."""
    from sklearn.utils import check_array

    array = check_array(rows, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False)
    return array[:, columns]
