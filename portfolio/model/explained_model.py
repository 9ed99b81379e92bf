"""The parsed model, and everything else that is the same for all queries."""

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
from portfolio.model.evidence import check_against_model, check_boxes
from portfolio.model.fitted_state import FittedState
from portfolio.model.native import NativeModel
from portfolio.model.oracle import Oracle
from portfolio.model.pipeline_steps import Said
from portfolio.model.plausibility import Plausibility
from portfolio.model.readings import Features, over_columns, read_alone
from selector.descriptors import EnsembleDescriptors, describe_ensemble

NEAREST = 50  # starting rows if no training row reaches the goal


@dataclass(frozen=True, eq=False)
class ClassView:
    """Trees that decide about one target class, cut into cells.

    Attributes
    ----------
    ensemble : the model's trees, with those of its companions.
    cells : the same trees, as intervals of each column.
    reference : training rows by class, as starting points of searches.
    companions : oracles of the ensemble's companions, in the same order.
    """

    ensemble: Ensemble
    cells: Cells
    reference: Reference
    companions: tuple[Oracle, ...] = ()

    @property
    def forests(self) -> tuple[Oracle, ...]:
        """Isolation forests that answers must satisfy, if plausibility is required."""
        pairs = zip(self.ensemble.companions, self.companions, strict=True)
        return tuple(oracle for companion, oracle in pairs if companion.always is not None)

    def keeping(self, keep: Callable[[Companion], bool]) -> "ClassView":
        """Return the same view with some of its companions."""
        every = self.ensemble.companions
        pairs = zip(every, self.companions, strict=True)
        return replace(
            self,
            ensemble=replace(
                self.ensemble, companions=tuple(companion for companion in every if keep(companion))
            ),
            companions=tuple(oracle for companion, oracle in pairs if keep(companion)),
        )

    def near(self, goal: Goal) -> IntArray:
        """Return training rows as starting points, int64 (n, n_columns), see :class:`Reference`."""
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
    """Model as trees, with its features and the user's own object for verification.

    Attributes
    ----------
    ensemble : the model's trees alone.
    space : features of the columns.
    native : the user's own object, which verifies every answer.
    views : one :class:`ClassView` per target class, or one for a regressor; they differ only with
        plausibility.
    seconds : time for reading the model.
    file_digest : SHA-256 of the model file in hex, or None.
    state : fitted state of the model and its companions, or None if it is not watched.
    """

    ensemble: Ensemble
    space: FeatureSpace
    native: NativeModel
    views: tuple[ClassView, ...]
    seconds: float
    file_digest: str | None = None
    state: FittedState | None = None

    def check_unchanged(self) -> None:
        """Raise ModelChangedError if the model, or a companion, has changed since it was read."""
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
        """Digest of everything that a decision depends on, except the query."""
        joined = [view.ensemble for view in self.views if view.companions]
        blends = [] if self.ensemble.blend is None else [self.ensemble.blend]
        return fingerprint(self.ensemble, self.space, self.native.classes, joined, *blends)

    def identity_for(self, numbers: bool) -> Any:
        """Return a digest of everything that answers depend on."""
        links = [self.ensemble.link, *(oracle.ensemble.link for oracle in self.also)]
        return fingerprint(self.identity, *links) if numbers else self.identity

    @cached_property
    def described(self) -> tuple[EnsembleDescriptors, float]:
        """Descriptors of the model, and the seconds for computing them."""
        began = time.perf_counter()
        descriptors = describe_ensemble(self.ensemble, self.space)
        return descriptors, time.perf_counter() - began

    @cached_property
    def for_checkers(self) -> Any:
        """:class:`TreesRead`, the model as the checker of records reads it."""
        from portfolio.proofs.trees_read import TreesRead

        return TreesRead.of(self.native.model)

    def oracle(self, target: int) -> Oracle:
        """Return the oracle that decides whether a row reaches a target class."""
        view = self.views[target]
        return Oracle(view.ensemble, self.native, view.companions)

    @cached_property
    def input_type(self) -> np.dtype[Any]:
        """Narrowest input type of the model and its companions, which must represent all values."""
        every = [
            self.ensemble,
            *(trees.ensemble for view in self.views for trees in view.companions),
        ]
        return min((trees.dtype for trees in every), key=lambda dtype: dtype.itemsize)

    @property
    def plausible(self) -> bool:
        """True if answers must be plausible."""
        return any(view.forests for view in self.views)

    @property
    def also(self) -> tuple[Oracle, ...]:
        """Further models under which answers must hold."""
        first = self.views[0]
        return tuple(oracle for oracle in first.companions if oracle not in first.forests)

    def without_plausibility(self) -> "ExplainedModel":
        """Return the same model without its isolation forests."""
        return self._keeping(lambda companion: companion.always is None)

    def without_also(self) -> "ExplainedModel":
        """Return the same model without the further ones."""
        return self._keeping(lambda companion: companion.always is not None)

    def _keeping(self, keep: Callable[[Companion], bool]) -> "ExplainedModel":
        if all(keep(companion) for view in self.views for companion in view.ensemble.companions):
            return self
        # Views that differ only in dropped companions become one, so that they share cells.
        views: dict[tuple[Oracle, ...], ClassView] = {}
        each = [view.keeping(keep) for view in self.views]
        return replace(self, views=tuple(views.setdefault(view.companions, view) for view in each))


def read(
    model: Any,
    X_train: Any,
    features: Features,
    voting: str | None,
    plausibility: Plausibility | None = None,
    declarations: Mapping[str, Said] | None = None,
    also: Sequence[Any] = (),
) -> ExplainedModel:
    """Read a model, describe its features, and check the parsed trees against its own predict."""
    began = time.perf_counter()
    main = read_alone(_with_voting(model, voting))
    companions = companions_of(main, plausibility, also)
    readings = over_columns(
        [main, *(wanted.alone for wanted in companions.every)],
        X_train,
        features,
        declarations or {},
    )
    state = FittedState([model, *also, *(own.native.model for own in readings.models)])
    main, space, values = readings.models[0], readings.space, readings.values
    ensemble, native = main.ensemble, main.native
    oracles = [Oracle(reading.ensemble, reading.native) for reading in readings.models[1:]]
    views: dict[tuple[int, ...], ClassView] = {}
    for places in companions.of_class:
        if places not in views:
            joined = accompanied(
                ensemble, [companions.every[at].of(oracles[at].ensemble) for at in places]
            )
            cells = cut(joined)
            check_boxes(joined, cells, values)
            reference = make_reference(joined, cells, space, values)
            views[places] = ClassView(joined, cells, reference, tuple(oracles[at] for at in places))
    for reading in readings.models[1:]:
        with reading.named():
            check_against_model(
                reading.ensemble, cut(reading.ensemble), reading.native, values, space
            )
    if len(native.classes) != 1:
        cells = cut(ensemble) if readings.models[1:] else views[()].cells
        check_against_model(ensemble, cells, native, values, space)
    every_view = tuple(views[places] for places in companions.of_class)
    state = state.settled()
    seconds = time.perf_counter() - began
    return ExplainedModel(ensemble, space, native, every_view, seconds, state=state)


def _with_voting(model: Any, voting: str | None) -> Any:
    from encoders.trees.voting import HardVotingClassifier

    if voting not in (None, "soft", "hard"):
        raise InputError(f"voting must be 'soft', 'hard' or None, got {voting!r}.")
    hard = isinstance(unwrapped(model), HardVotingClassifier)
    if voting == "soft" and hard:
        raise InputError(
            "voting='soft' does not apply to a HardVotingClassifier. Pass its forest instead."
        )
    if voting != "hard" or hard:
        return model
    model = unwrapped(model)
    if kind_of(model).name not in ("RandomForestClassifier", "ExtraTreesClassifier"):
        raise UnsupportedModelError(
            "voting='hard' supports random forests and extra trees only, got "
            f"{type(model).__name__}. Omit voting."
        )
    return HardVotingClassifier.from_fitted(model)
