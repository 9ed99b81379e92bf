"""What the trees say for their model, until it is asked about many rows at once."""

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.trees.ensemble import Ensemble
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.native import NativeModel, clear_lead
from portfolio.model.oracle import Oracle

KNOWN = ("identity", "described", "input_type")  # cached properties of a model


@dataclass(eq=False)
class Loans:
    """What trees have said for models that were not asked yet, and of what that was said.

    Attributes
    ----------
    of : what is worked on at this moment
    rows, classes, debtors : by model, float64 (n_columns,), a class index and ``of``, each
    """

    of: Hashable = None
    rows: dict[NativeModel, list[FloatArray]] = field(default_factory=dict)
    classes: dict[NativeModel, list[int]] = field(default_factory=dict)
    debtors: dict[NativeModel, list[Hashable]] = field(default_factory=dict)

    def note(self, native: NativeModel, row: FloatArray, label: int) -> None:
        """Remember what was said for a model."""
        self.rows.setdefault(native, []).append(row)
        self.classes.setdefault(native, []).append(label)
        self.debtors.setdefault(native, []).append(self.of)

    def settle(self) -> set[Hashable]:
        """Ask each model once; of what it contradicts the trees. Nothing is owed afterwards."""
        wrong: set[Hashable] = set()
        for native, rows in self.rows.items():
            off = native.predict(np.array(rows)) != np.array(self.classes[native])
            wrong.update(self.debtors[native][at] for at in np.flatnonzero(off))
        self.clear()
        return wrong

    def split(self) -> "Loans":
        """All that was said by now, apart; nothing is owed here afterwards."""
        apart = Loans(self.of, dict(self.rows), dict(self.classes), dict(self.debtors))
        self.clear()
        return apart

    def clear(self) -> None:
        """Forget all of it."""
        for each in (self.rows, self.classes, self.debtors):
            each.clear()


@dataclass(frozen=True, eq=False)
class LentModel(NativeModel):
    """Predicts rows by the trees where they are clear; the native prediction is deferred.

    Attributes
    ----------
    own : the model
    ensemble : its trees
    loans : what the model is still to be asked
    """

    own: NativeModel = field(kw_only=True)
    ensemble: Ensemble = field(kw_only=True)
    loans: Loans = field(kw_only=True)

    @property
    def likeliest(self) -> bool:
        """Nothing is asked together with what the trees say."""
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
    """The same model, for which its trees speak where they are clear, and its companions' too.

    What comes of it holds once the loans are settled, and none of them was wrong.
    """

    def lent(native: NativeModel, ensemble: Ensemble) -> LentModel:
        own = {each.name: getattr(native, each.name) for each in fields(NativeModel)}
        return LentModel(**own, own=native, ensemble=ensemble, loans=loans)

    every = {own: own for view in model.views for own in view.companions}
    oracles: dict[Oracle, Oracle] = {
        own: replace(own, native=lent(own.native, own.ensemble)) for own in every
    }
    views: dict[ClassView, ClassView] = {
        view: replace(view, companions=tuple(oracles[own] for own in view.companions))
        for view in model.views
    }
    same = replace(
        model,
        native=lent(model.native, model.ensemble),
        views=tuple(views[view] for view in model.views),
    )
    # What is known of all trees takes long to find out, and is no other.
    same.__dict__.update({name: own for name, own in vars(model).items() if name in KNOWN})
    return same
