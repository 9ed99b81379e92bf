"""Deferred native predictions: parsed trees predict first, the model verifies many rows at once."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Generic, TypeVar

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.trees.ensemble import Ensemble
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.native import NativeModel, clear_lead
from portfolio.model.oracle import Oracle

KNOWN = ("identity", "described", "input_type")  # cached properties to copy


Answer = TypeVar("Answer")
Claims = dict[NativeModel, list[tuple[FloatArray, int]]]  # rows and classes by the trees


@dataclass(eq=False)
class Loans:
    """Predictions of the parsed trees, which the models have not verified yet."""

    claims: Claims = field(default_factory=dict)

    def note(self, native: NativeModel, row: FloatArray, label: int) -> None:
        """Record a prediction of the trees for later verification."""
        self.claims.setdefault(native, []).append((row, label))

    def take(self) -> Claims:
        """Remove and return all predictions."""
        claims, self.claims = self.claims, {}
        return claims


Predict = Callable[[list[Answer], Claims], Mapping[NativeModel, IntArray]]


@dataclass(frozen=True, eq=False)
class Deferral(Generic[Answer]):
    """Answers whose native predictions are verified together.

    One thread adds answers. Another thread may verify those that are added.
    """

    loans: Loans = field(default_factory=Loans)  # predictions of the answer that is being computed
    _pending: deque[tuple[Answer, Claims]] = field(default_factory=deque)

    def add(self, solve: Callable[[], Answer]) -> None:
        """Compute an answer and keep it until it is verified."""
        self.loans.take()
        answer = solve()
        self._pending.append((answer, self.loans.take()))

    def settle(
        self, predict: Predict[Answer] = lambda answers, claims: {}
    ) -> tuple[list[Answer], list[Answer], float]:
        """Verify all answers, one call per model.

        Return confirmed answers, the others, and the seconds for each. An exception rejects all, as
        a single row may be its cause.

        Parameters
        ----------
        predict : function that may return the classes of all rows by model, for models that it
            calls anyway.
        """
        began = time.perf_counter()
        pending = list(emptied(self._pending))
        claims: Claims = {}
        users: dict[NativeModel, list[int]] = {}
        for user, (_, unverified) in enumerate(pending):
            for native, some in unverified.items():
                claims.setdefault(native, []).extend(some)
                users.setdefault(native, []).extend([user] * len(some))
        wrong: set[int] = set()
        try:
            predictions = predict([answer for answer, _ in pending], claims)
            for native, some in claims.items():
                rows, classes = zip(*some, strict=True)
                if native in predictions:
                    predicted = predictions[native]
                else:
                    predicted = native.predict(np.array(rows), clear=True)
                wrong.update(users[native][at] for at in np.flatnonzero(predicted != classes))
        except Exception:
            wrong = set(range(len(pending)))
        share_s = (time.perf_counter() - began) / max(1, len(pending))
        good = [answer for at, (answer, _) in enumerate(pending) if at not in wrong]
        return good, [pending[at][0] for at in sorted(wrong)], share_s


@dataclass(frozen=True, eq=False)
class LentModel(NativeModel):
    """Model that predicts rows by its trees where they are clear; native calls are deferred."""

    own: NativeModel = field(kw_only=True)  # the model itself
    ensemble: Ensemble = field(kw_only=True)  # its parsed trees
    loans: Loans = field(kw_only=True)  # predictions that it has not verified yet

    @property
    def likeliest(self) -> bool:
        """False, as probabilities are not requested together with deferred predictions."""
        return False

    def predict(self, rows: FloatArray, clear: bool = False) -> IntArray:
        """See :class:`NativeModel`."""
        scores = self.ensemble.scores(rows)
        sure = clear_lead(self.ensemble, scores)
        classes: IntArray = self.ensemble.outputs(scores).argmax(axis=1)
        if not sure.all():
            classes[~sure] = self.own.predict(rows[~sure], clear)
        for at in np.flatnonzero(sure):
            self.loans.note(self.own, rows[at], int(classes[at]))
        return classes


def emptied(items: deque[Answer]) -> Iterator[Answer]:
    """Yield and remove the items; two threads may share them."""
    while True:
        try:
            yield items.popleft()
        except IndexError:
            return


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
