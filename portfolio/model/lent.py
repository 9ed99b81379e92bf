"""Deferred native predictions: parsed trees predict first, the model verifies many rows at once."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.trees.ensemble import Ensemble
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.native import NativeModel, clear_lead
from portfolio.model.oracle import Oracle

KNOWN = ("identity", "described", "input_type")  # cached properties to copy


@dataclass(eq=False)
class Loans:
    """Predictions of the parsed trees that the models have not verified yet.

    Attributes
    ----------
    of : key of the current task.
    rows : rows by model, each float64 (n_columns,).
    classes : predicted class indices by model.
    tasks : key of the task that needs each prediction, by model.
    """

    of: Hashable = None
    rows: dict[NativeModel, list[FloatArray]] = field(default_factory=dict)
    classes: dict[NativeModel, list[int]] = field(default_factory=dict)
    tasks: dict[NativeModel, list[Hashable]] = field(default_factory=dict)

    def note(self, native: NativeModel, row: FloatArray, label: int) -> None:
        """Record a prediction of the trees for later verification."""
        self.rows.setdefault(native, []).append(row)
        self.classes.setdefault(native, []).append(label)
        self.tasks.setdefault(native, []).append(self.of)

    def settle(
        self, predictions: Mapping[NativeModel, IntArray] = MappingProxyType({})
    ) -> set[Hashable]:
        """Verify all predictions, one call per model; clear them; return tasks with wrong ones.

        Parameters
        ----------
        predictions : mapping
            Class indices of all rows by model, for models that were called already.
        """
        wrong: set[Hashable] = set()
        for native, rows in self.rows.items():
            predicted = (
                predictions[native] if native in predictions else native.predict(np.array(rows))
            )
            off = predicted != np.array(self.classes[native])
            wrong.update(self.tasks[native][at] for at in np.flatnonzero(off))
        self.clear()
        return wrong

    def take(self) -> "Loans":
        """Move all predictions into a new object and clear this one."""
        apart = Loans(self.of, self.rows, self.classes, self.tasks)
        self.clear()
        return apart

    def add(self, other: "Loans") -> None:
        """Add the predictions of another object."""
        for native, rows in other.rows.items():
            self.rows.setdefault(native, []).extend(rows)
            self.classes.setdefault(native, []).extend(other.classes[native])
            self.tasks.setdefault(native, []).extend(other.tasks[native])

    def clear(self) -> None:
        """Remove all predictions."""
        self.rows, self.classes, self.tasks = {}, {}, {}


@dataclass(frozen=True, eq=False)
class LentModel(NativeModel):
    """Model that predicts rows by its trees where they are clear; native calls are deferred.

    Attributes
    ----------
    own : the model itself.
    ensemble : its parsed trees.
    loans : predictions that it has not verified yet.
    """

    own: NativeModel = field(kw_only=True)
    ensemble: Ensemble = field(kw_only=True)
    loans: Loans = field(kw_only=True)

    @property
    def likeliest(self) -> bool:
        """False, as probabilities are not requested together with deferred predictions."""
        return False

    def predict(self, rows: FloatArray) -> IntArray:
        """See :class:`NativeModel`."""
        scores = self.ensemble.scores(rows)
        clear = clear_lead(self.ensemble, scores)
        classes: IntArray = self.ensemble.outputs(scores).argmax(axis=1)
        if not clear.all():
            classes[~clear] = self.own.predict(rows[~clear])
        for at in np.flatnonzero(clear):
            self.loans.note(self.own, rows[at], int(classes[at]))
        return classes


def lending(model: ExplainedModel, loans: Loans) -> ExplainedModel:
    """Return the model, and its companions, with deferred native predictions.

    Results are valid only after :meth:`Loans.settle` has found no wrong prediction.
    """

    def deferred(native: NativeModel, ensemble: Ensemble) -> LentModel:
        attributes = {each.name: getattr(native, each.name) for each in fields(NativeModel)}
        return LentModel(**attributes, own=native, ensemble=ensemble, loans=loans)

    every = {own: own for view in model.views for own in view.companions}
    oracles: dict[Oracle, Oracle] = {
        own: replace(own, native=deferred(own.native, own.ensemble)) for own in every
    }
    views: dict[ClassView, ClassView] = {
        view: replace(view, companions=tuple(oracles[own] for own in view.companions))
        for view in model.views
    }
    same = replace(
        model,
        native=deferred(model.native, model.ensemble),
        views=tuple(views[view] for view in model.views),
    )
    # These descriptions of all trees are slow to compute and stay the same.
    same.__dict__.update({name: own for name, own in vars(model).items() if name in KNOWN})
    return same
