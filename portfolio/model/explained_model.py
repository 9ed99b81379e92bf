"""Everything about a model that is the same for all queries, read once."""

import contextlib
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray, IntArray
from encoders.errors import InputError, UnsupportedModelError
from encoders.posing.goal_rows import link_of
from encoders.posing.starting_points import Reference, make_reference
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal, Goal
from encoders.query.infer_features import infer_features
from encoders.trees.cells import Cells, cut
from encoders.trees.ensemble import Ensemble, with_codes
from encoders.trees.isolation import with_isolation
from encoders.trees.read import read_ensemble
from portfolio.fingerprint import fingerprint
from portfolio.model.categories import library_codes, own_codes
from portfolio.model.evidence import check_boxes, check_lengths, hold_against
from portfolio.model.native import NativeModel, predicting_alone, wrap_native
from portfolio.model.oracle import Oracle
from portfolio.model.pipeline import is_pipeline, last_step, over_raw_columns, table_of
from portfolio.model.pipeline_steps import Said
from portfolio.model.plausibility import Plausibility, PlausibilityCheck
from portfolio.model.table import Table, make_table
from portfolio.model.training_frame import as_numbers, refuse_values, training_frame
from selector.descriptors import EnsembleDescriptors, describe_ensemble

NEAREST = 50  # training rows to start from where none reaches the goal

FRAME_ROWS = 300  # of the user's own frame that the model predicts, to hold ours against


@dataclass(frozen=True, eq=False)
class ClassView:
    """The trees that decide about one target class, cut into cells.

    Attributes
    ----------
    ensemble : the model's trees, and those of the isolation forest where there is one
    cells : the same, cut into intervals of each column
    reference : training rows by class, to start looking from
    plausibility : says whether a row is plausible for the class; None where that is not asked
    """

    ensemble: Ensemble
    cells: Cells
    reference: Reference
    plausibility: PlausibilityCheck | None

    def near(self, goal: Goal) -> IntArray:
        """Training rows from which to look for answers, as the cells of :class:`Reference`.

        Parameters
        ----------
        goal : those that reach it by the trees are taken; where none does, the nearest do
        """
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
    """

    ensemble: Ensemble
    space: FeatureSpace
    native: NativeModel
    views: tuple[ClassView, ...]
    seconds: float

    @cached_property
    def identity(self) -> str:
        """A digest of all that a decision depends on, besides the question."""
        joined = [view.ensemble for view in self.views if view.plausibility is not None]
        own = [] if self.ensemble.blend is None else [self.ensemble.blend]
        return fingerprint(self.ensemble, self.space, self.native.classes, joined, *own)

    def identity_for(self, numbers: bool) -> Any:
        """A digest of all that answers depend on.

        Parameters
        ----------
        numbers : whether they reach one of the model's numbers, and not a class
        """
        return fingerprint(self.identity, self.ensemble.link) if numbers else self.identity

    @cached_property
    def described(self) -> tuple[EnsembleDescriptors, float]:
        """Descriptors of the model, and the seconds they took."""
        began = time.perf_counter()
        descriptors = describe_ensemble(self.ensemble, self.space)
        return descriptors, time.perf_counter() - began

    def oracle(self, target: int) -> Oracle:
        """Who decides whether a row is an answer.

        Parameters
        ----------
        target : index of the class whose trees and isolation forest are asked
        """
        view = self.views[target]
        return Oracle(view.ensemble, self.native, view.plausibility)

    @property
    def plausible(self) -> bool:
        """Whether answers must be plausible."""
        return self.views[0].plausibility is not None

    def without_plausibility(self) -> "ExplainedModel":
        """The same model, whose answers need not be plausible."""
        if not self.plausible:
            return self
        views = {
            id(view): replace(
                view,
                ensemble=replace(view.ensemble, length=None, least_length=0.0),
                cells=replace(view.cells, length=None),
                plausibility=None,
            )
            for view in self.views
        }
        return replace(self, views=tuple(views[id(view)] for view in self.views))


def read(
    model: Any,
    X_train: Any,
    features: Mapping[str, Any] | str | Path | FeatureSpace | None,
    voting: str | None,
    plausibility: Plausibility | None = None,
    said: Mapping[str, Said] | None = None,
) -> ExplainedModel:
    """Read a model and describe its features; checks that its own predict agrees.

    Parameters
    ----------
    model, X_train, features, voting, plausibility : as in :class:`portfolio.explainer.Explainer`
    said : the ``steps`` there

    Raises
    ------
    InputError
        Columns, overrides or isolation forests do not fit the model.
    UnsupportedModelError
        The model can't be read exactly.
    """
    began = time.perf_counter()
    model = _with_voting(model, voting)
    piped = is_pipeline(model)
    if said and not piped:
        raise InputError("steps are those of a Pipeline, and the model is none.")
    ensemble = read_ensemble(last_step(model) if piped else model)
    native = wrap_native(model, ensemble.n_classes, ensemble.regression)
    width = _width(model, X_train) if piped else ensemble.n_columns
    frame = training_frame(X_train, native.columns, width)
    steps = table_of(model, frame, ensemble.n_columns, said or {}) if piped else None
    codes = {} if piped else library_codes(model, frame)
    table = steps.table if steps else make_table(frame, codes, False) if codes else None
    if table is not None and plausibility is not None:
        raise InputError("plausibility needs a frame of numbers, and a model without a pipeline.")
    rows = _rows(frame, table, piped or ensemble.default_left is not None)
    space = _space(rows, table, features)
    values = rows.to_numpy()
    if steps is not None:
        _check_frames(model, X_train, steps.table, values)
        ensemble, table = over_raw_columns(ensemble, steps, values, space)
    _check_plausible(plausibility, space)
    ensemble = _as_asked(ensemble, {} if piped else own_codes(codes, table), space)
    native = replace(native, table=table)
    labels = native.classes or (None,)
    if plausibility is None:
        views = (_view(ensemble, space, values, None),) * len(labels)
    else:
        checks = [plausibility.check_of(label, native.columns) for label in labels]
        views = tuple(_view(ensemble, space, values, check) for check in checks)
    for view in dict.fromkeys(views):
        check_boxes(view.ensemble, view.cells, values)
        if view.plausibility is not None:
            check_lengths(view.ensemble, view.cells, view.plausibility, values)
    if len(native.classes) != 1:
        hold_against(ensemble, views[0].cells, native, values, space)
    return ExplainedModel(ensemble, space, native, views, time.perf_counter() - began)


def _width(pipeline: Any, X_train: Any) -> int:
    """Columns of the user's frame; a first step that passes them on tells none."""
    with contextlib.suppress(AttributeError):
        return int(pipeline.n_features_in_)
    return int(np.shape(X_train)[1])


def _check_plausible(plausibility: Plausibility | None, space: FeatureSpace) -> None:
    missing = [feature.name for feature in space.features if feature.missing]
    if plausibility is not None and missing:
        raise InputError(
            f"plausibility takes no missing values, and {missing[0]} may be missing; fill them in, "
            "or ask without plausibility."
        )


def _check_frames(model: Any, X_train: Any, table: Table, rows: FloatArray) -> None:
    """Make sure that the model takes our frames for the user's own."""
    if not hasattr(X_train, "head"):
        return
    with predicting_alone(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = np.asarray(model.predict(X_train.head(FRAME_ROWS)))
        ours = np.asarray(model.predict(table.frame(rows[:FRAME_ROWS])))
    # Threads of a forest may add up a regressor's trees in another order.
    same = np.allclose(theirs, ours) if theirs.dtype.kind == "f" else np.array_equal(theirs, ours)
    if not same:
        raise UnsupportedModelError(
            "the pipeline predicts rows of X_train otherwise than the same rows as this library "
            "gives them to it, in pandas; fit it on a frame of pandas without mixed columns."
        )


def _rows(frame: pd.DataFrame, table: Table | None, takes_missing: bool) -> pd.DataFrame:
    """The training rows in numbers."""
    if table is None:
        return as_numbers(frame, "X_train", takes_missing)
    numbers = table.numbers(frame, "X_train:")
    for at, column in enumerate(table.columns):
        refuse_values(numbers[:, at], column.name, "X_train", takes_missing)
    return pd.DataFrame(numbers, columns=frame.columns)


def _space(
    rows: pd.DataFrame,
    table: Table | None,
    features: Mapping[str, Any] | str | Path | FeatureSpace | None,
) -> FeatureSpace:
    if isinstance(features, FeatureSpace):
        return features.ordered(list(rows.columns))
    return infer_features(rows, features, None if table is None else table.labels)


def _as_asked(ensemble: Ensemble, codes: Mapping[int, FloatArray], space: FeatureSpace) -> Ensemble:
    """The trees over the user's codes; where values go that are missing only if some may be."""
    missing = [feature.name for feature in space.features if feature.missing]
    if missing and ensemble.default_left is None:
        raise InputError(f"feature {missing[0]}: the model takes no missing values.")
    ensemble = with_codes(ensemble, codes)
    return ensemble if missing else replace(ensemble, default_left=None)


def _view(
    ensemble: Ensemble, space: FeatureSpace, rows: FloatArray, check: PlausibilityCheck | None
) -> ClassView:
    joined = ensemble if check is None else with_isolation(ensemble, check.forest)
    cells = cut(joined)
    return ClassView(joined, cells, make_reference(joined, cells, space, rows), check)


def _with_voting(model: Any, voting: str | None) -> Any:
    from encoders.trees.voting import HardVotingClassifier

    if voting not in (None, "soft", "hard"):
        raise InputError(f"voting must be 'soft', 'hard' or None, got {voting!r}.")
    hard = isinstance(model, HardVotingClassifier)
    if voting == "soft" and hard:
        raise InputError("this model votes hard; pass its forest to explain soft voting.")
    if voting != "hard" or hard:
        return model
    if type(model).__name__ not in ("RandomForestClassifier", "ExtraTreesClassifier"):
        raise UnsupportedModelError(
            f"hard voting is for random forests and extra trees, not {type(model).__name__}."
        )
    return HardVotingClassifier.from_fitted(model)
