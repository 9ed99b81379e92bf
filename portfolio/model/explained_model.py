"""Everything about a model that is the same for all queries, read once."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.errors import InputError, UnsupportedModelError
from encoders.posing.goal_rows import link_of
from encoders.posing.starting_points import Reference, make_reference
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.trees.cells import Cells, cut
from encoders.trees.companions import accompanied
from encoders.trees.ensemble import Companion, Ensemble
from encoders.trees.kinds import kind_of
from encoders.trees.wrappers import unwrapped
from portfolio.fingerprint import fingerprint
from portfolio.model.companions import companions_of
from portfolio.model.evidence import check_boxes, hold_against
from portfolio.model.fitted_state import FittedState
from portfolio.model.native import NativeModel
from portfolio.model.oracle import Oracle
from portfolio.model.pipeline_steps import Said
from portfolio.model.plausibility import Plausibility
from portfolio.model.readings import Features, over_columns, read_alone
from selector.descriptors import EnsembleDescriptors, describe_ensemble

NEAREST = 50  # training rows to start from where none reaches the goal


@dataclass(frozen=True, eq=False)
class ClassView:
    """The trees that decide about one target class, cut into cells.

    Attributes
    ----------
    ensemble : the model's trees, and those of its companions
    cells : the same, cut into intervals of each column
    reference : training rows by class, to start looking from
    companions : those of the ensemble, asked as their owners would
    """

    ensemble: Ensemble
    cells: Cells
    reference: Reference
    companions: tuple[Oracle, ...] = ()

    @property
    def forests(self) -> tuple[Oracle, ...]:
        """The isolation forest that answers have to please; none where that is not asked for."""
        pairs = zip(self.ensemble.companions, self.companions, strict=True)
        return tuple(oracle for own, oracle in pairs if own.always is not None)

    def keeping(self, kept: Callable[[Companion], bool]) -> "ClassView":
        """The same with some of its companions."""
        every = self.ensemble.companions
        pairs = zip(every, self.companions, strict=True)
        return replace(
            self,
            ensemble=replace(self.ensemble, companions=tuple(own for own in every if kept(own))),
            companions=tuple(oracle for own, oracle in pairs if kept(own)),
        )

    def near(self, goal: Goal) -> IntArray:
        """Training rows from which to look for answers, as the cells of :class:`Reference`."""
        if isinstance(goal, ClassGoal):
            return self.reference.rows[goal.target]
        rows, sums = self._all_rows
        low, high = link_of(self.ensemble, goal).limits(sums, goal.output, 0.0)
        missing = np.maximum(goal.low - high, low - goal.high)
        reaching = rows[missing <= 0]
        return reaching if len(reaching) else rows[np.argsort(missing, kind="stable")[:NEAREST]]

    @cached_property
    def _all_rows(self) -> tuple[IntArray, FloatArray]:
        return np.concatenate(self.reference.rows), np.concatenate(self.reference.sums)


@dataclass(frozen=True, eq=False)
class ExplainedModel:
    """A model as trees, features, and the user's own object to verify with.

    Attributes
    ----------
    ensemble : the model's trees alone
    space : what the columns mean
    native : the user's own object, which has the last word
    views : one per target class, or one of a regressor; they differ only where plausibility is
        asked for
    seconds : what reading took
    file_digest : SHA-256 of the file that the model came from, in hex; None if nobody named one
    state : fitted state of the model and of its companions; None where it is not watched
    """

    ensemble: Ensemble
    space: FeatureSpace
    native: NativeModel
    views: tuple[ClassView, ...]
    seconds: float
    file_digest: str | None = None
    state: FittedState | None = None

    def check_unchanged(self) -> None:
        """Raise an error if the model, or a companion, has changed since it was read."""
        if self.state is not None:
            self.state.check()

    def check_decisions(self, rows: FloatArray) -> None:
        """Raise an error if native predictions of rows contradict the parsed trees.

        This detects changes that replace no object, such as an edited array.
        """
        if not len(rows):
            return
        number = ValueGoal(0, "prediction", 0, -math.inf, math.inf)
        goal = number if self.ensemble.regression else ClassGoal(0)
        Oracle(self.ensemble, self.native).check_unchanged(rows, goal)

    @cached_property
    def identity(self) -> str:
        """A digest of all that a decision depends on, besides the question."""
        joined = [view.ensemble for view in self.views if view.companions]
        own = [] if self.ensemble.blend is None else [self.ensemble.blend]
        return fingerprint(self.ensemble, self.space, self.native.classes, joined, *own)

    def identity_for(self, numbers: bool) -> Any:
        """A digest of all that answers depend on."""
        links = [self.ensemble.link, *(own.ensemble.link for own in self.also)]
        return fingerprint(self.identity, *links) if numbers else self.identity

    @cached_property
    def described(self) -> tuple[EnsembleDescriptors, float]:
        """Descriptors of the model, and the seconds they took."""
        began = time.perf_counter()
        descriptors = describe_ensemble(self.ensemble, self.space)
        return descriptors, time.perf_counter() - began

    @cached_property
    def for_checkers(self) -> Any:
        """A :class:`TreesRead`: what the checker of records makes of the model."""
        from portfolio.proofs.trees_read import TreesRead

        return TreesRead.of(self.native.model)

    def oracle(self, target: int) -> Oracle:
        """Who decides whether a row is an answer."""
        view = self.views[target]
        return Oracle(view.ensemble, self.native, view.companions)

    @cached_property
    def input_type(self) -> np.dtype[Any]:
        """The narrowest type that the model or a companion reads; it has to hold all values."""
        every = [self.ensemble, *(own.ensemble for view in self.views for own in view.companions)]
        return min((own.dtype for own in every), key=lambda dtype: dtype.itemsize)

    @property
    def plausible(self) -> bool:
        """Whether answers must be plausible."""
        return any(view.forests for view in self.views)

    @property
    def also(self) -> tuple[Oracle, ...]:
        """Further models under which answers must hold."""
        first = self.views[0]
        return tuple(own for own in first.companions if own not in first.forests)

    def without_plausibility(self) -> "ExplainedModel":
        """The same model, whose answers need not be plausible."""
        return self._keeping(lambda own: own.always is None)

    def without_also(self) -> "ExplainedModel":
        """The same model, whose answers need not hold under further ones."""
        return self._keeping(lambda own: own.always is not None)

    def _keeping(self, kept: Callable[[Companion], bool]) -> "ExplainedModel":
        if all(kept(own) for view in self.views for own in view.ensemble.companions):
            return self
        # Views that only differ in what is dropped become one, so that their cells are the same.
        views: dict[tuple[Oracle, ...], ClassView] = {}
        each = [view.keeping(kept) for view in self.views]
        return replace(self, views=tuple(views.setdefault(view.companions, view) for view in each))


def read(
    model: Any,
    X_train: Any,
    features: Features,
    voting: str | None,
    plausibility: Plausibility | None = None,
    said: Mapping[str, Said] | None = None,
    also: Sequence[Any] = (),
) -> ExplainedModel:
    """Read a model and describe its features; checks that its own predict agrees."""
    began = time.perf_counter()
    main = read_alone(_with_voting(model, voting))
    asked = companions_of(main, plausibility, also)
    readings = over_columns(
        [main, *(own.alone for own in asked.every)], X_train, features, said or {}
    )
    state = FittedState([model, *also, *(own.native.model for own in readings.models)])
    main, space, values = readings.models[0], readings.space, readings.values
    ensemble, native = main.ensemble, main.native
    oracles = [Oracle(own.ensemble, own.native) for own in readings.models[1:]]
    views: dict[tuple[int, ...], ClassView] = {}
    for own in asked.of_class:
        if own not in views:
            joined = accompanied(ensemble, [asked.every[at].of(oracles[at].ensemble) for at in own])
            cells = cut(joined)
            check_boxes(joined, cells, values)
            reference = make_reference(joined, cells, space, values)
            views[own] = ClassView(joined, cells, reference, tuple(oracles[at] for at in own))
    for reading in readings.models[1:]:
        with reading.named():
            hold_against(reading.ensemble, cut(reading.ensemble), reading.native, values, space)
    if len(native.classes) != 1:
        cells = cut(ensemble) if readings.models[1:] else views[()].cells
        hold_against(ensemble, cells, native, values, space)
    every_view = tuple(views[own] for own in asked.of_class)
    state = state.settled()
    seconds = time.perf_counter() - began
    return ExplainedModel(ensemble, space, native, every_view, seconds, state=state)


def _with_voting(model: Any, voting: str | None) -> Any:
    from encoders.trees.voting import HardVotingClassifier

    if voting not in (None, "soft", "hard"):
        raise InputError(f"voting must be 'soft', 'hard' or None, got {voting!r}.")
    hard = isinstance(unwrapped(model), HardVotingClassifier)
    if voting == "soft" and hard:
        raise InputError("this model votes hard; pass its forest to explain soft voting.")
    if voting != "hard" or hard:
        return model
    model = unwrapped(model)
    if kind_of(model).name not in ("RandomForestClassifier", "ExtraTreesClassifier"):
        raise UnsupportedModelError(
            f"hard voting is for random forests and extra trees, not {type(model).__name__}."
        )
    return HardVotingClassifier.from_fitted(model)
