"""The tables that the members of a model read, and their places side by side.

The last step of a pipeline reads another table than the pipeline does. So a model of which some
members are pipelines reads several tables. They are joined, and a member reads columns of the joint
table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from encoders.arrays import IntArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.kinds import kind_of, require_inherited
from encoders.trees.refusals import not_fitted, require_fitted
from encoders.trees.wrappers import is_pipeline, last_step, unwrapped

# By class the attribute that holds its fitted members.
OWNERS = {
    "BaggingClassifier": "estimators_",
    "BaggingRegressor": "estimators_",
    "CalibratedClassifierCV": "calibrated_classifiers_",
    "TransformedTargetRegressor": "regressor_",
    "VotingClassifier": "estimators_",
    "VotingRegressor": "estimators_",
}
SETS_TWICE = (
    "a member of the model splits on native categories, or takes numbers for missing, and has a "
    "column twice; set bootstrap_features=False."
)


@dataclass(frozen=True, eq=False)
class InputTable:
    """One table that members read: the user's own, or the output of a pipeline's steps.

    Attributes
    ----------
    source : int, index of the table that the steps read; -1 for the user's own table
    columns : int64 (n_given,), columns of the source that a bagging passes as an array; None: the
        source as it is
    pipeline : pipeline whose steps before the last one make the table; None for the user's own
    name : str, name of the pipeline as ``get_params`` has it, "" for the whole model
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
    """What one model is given: a table, or some of its columns.

    Attributes
    ----------
    table : int, index of the table
    columns : int64 (n_inputs,), columns of the table; None for all
    name : str, name of the model as ``get_params`` has it
    """

    table: int = 0
    columns: IntArray | None = None
    name: str = ""

    def member(self, columns: IntArray | None, name: str) -> "Place":
        """Return the place of a member of the model."""
        both = self.columns
        if columns is not None:
            both = columns if self.columns is None else self.columns[columns]
        return Place(self.table, both, f"{self.name}__{name}" if self.name else name)


@dataclass(frozen=True, eq=False)
class Layout:
    """All tables of a model, and the place of each in the joint table.

    Attributes
    ----------
    tables : tuple of InputTable, the user's own first; each after its source
    leaves : tuple of models without members, each with its place
    widths : mapping from index to number of columns, of the tables that leaves read
    """

    tables: tuple[InputTable, ...]
    leaves: tuple[tuple[Any, Place], ...]
    widths: Mapping[int, int]

    @property
    def piped(self) -> bool:
        """Whether there is a pipeline in the model."""
        return len(self.tables) > 1

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Yield each table that leaves read, and its columns in the joint table."""
        first = 0
        for table in sorted(self.widths):
            yield table, slice(first, first + self.widths[table])
            first += self.widths[table]

    def columns_of(self, place: Place) -> IntArray:
        """Return the columns of the joint table that a model is given, int64 (n_inputs,)."""
        block = dict(self.blocks())[place.table]
        own = np.arange(block.start, block.stop)
        return own if place.columns is None else own[place.columns]

    def after(self, pipeline: Any, place: Place) -> Place:
        """Return the place of the last step of a pipeline."""
        own = InputTable(place.table, place.columns, pipeline)
        at = next(at for at, table in enumerate(self.tables) if table.same(own))
        return Place(at).member(None, place.member(None, pipeline.steps[-1][0]).name)

    def with_ways(self, ensemble: Ensemble) -> Ensemble:
        """Return the trees of a member with ways for missing values, where others may need these.

        Steps may fill what is missing before it gets to a member that takes no missing values. If
        they do not, the model itself refuses such a row.
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
                edges={at[own]: edges for own, edges in sets.edges.items()},
                numbers=frozenset(at[own] for own in sets.numbers),
            )
        n_columns = sum(self.widths.values())
        return replace(ensemble, n_columns=n_columns, column=frozen(column), sets=sets)


def layout_of(model: Any) -> Layout:
    """Return the tables that the members of a model read."""
    walk = _Walk()
    walk.through(model, Place(), None)
    return Layout(tuple(walk.tables), tuple(walk.leaves), walk.widths)


def is_owner(model: Any) -> bool:
    """Return whether a model is made of members that may read categories or have steps."""
    kind = kind_of(model)
    return kind.library == "sklearn" and kind.name in OWNERS


@dataclass
class _Walk:
    """A walk through a model, which notes tables and leaves."""

    tables: list[InputTable] = field(default_factory=lambda: [InputTable()])
    leaves: list[tuple[Any, Place]] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)

    def through(self, model: Any, place: Place, width: int | None) -> None:
        """Note the tables and leaves of a model; ``width`` is that of a table if it is known."""
        inner = unwrapped(model)
        if inner is not model:
            place = place.member(None, "estimator")
        require_inherited(inner)
        if is_pipeline(inner):
            own = InputTable(place.table, place.columns, inner, place.name)
            if not any(own.same(table) for table in self.tables):
                self.tables.append(own)
            layout = Layout(tuple(self.tables), (), {})
            self.through(last_step(inner), layout.after(inner, place), None)
        elif is_owner(inner):
            for member, columns, name in _members(inner):
                if columns is not None and place.columns is None:
                    width = int(inner.n_features_in_)
                self.through(member, place.member(columns, name), width)
        else:
            self.leaves.append((inner, place))
            self.widths.setdefault(place.table, _width(inner) if width is None else width)


def _width(model: Any) -> int:
    """Return the number of a leaf's inputs; 0 for boosters, which are never members."""
    if kind_of(model).library == "catboost" and not model.is_fitted():
        raise not_fitted(model)  # its own attribute raises an error of CatBoost's
    return int(getattr(model, "n_features_in_", 0))


def _members(model: Any) -> Iterator[tuple[Any, IntArray | None, str]]:
    """Yield members, the columns that each is given where these are chosen, and their names."""
    name = kind_of(model).name
    require_fitted(model, OWNERS[name])
    if name == "CalibratedClassifierCV":
        for pair in model.calibrated_classifiers_:
            yield pair.estimator, None, "estimator"
    elif name == "TransformedTargetRegressor":
        yield model.regressor_, None, "regressor"
    elif name.startswith("Bagging"):
        # Its predict goes through as many; set_params may have lowered the number since.
        members = model.estimators_[: model.n_estimators]
        for member, columns in zip(members, model.estimators_features_, strict=False):
            yield member, np.asarray(columns, dtype=np.int64), "estimator"
    else:
        names = [own for own, member in model.estimators if not isinstance(member, str)]
        for member, own in zip(model.estimators_, names, strict=False):
            yield member, None, own
