"""Everything about a model that is the same for all queries, read once."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from encoders.arrays import FloatArray
from encoders.cells import Cells, cut
from encoders.ensemble import Ensemble
from encoders.errors import InputError, UnsupportedModelError
from encoders.features import FeatureSpace
from encoders.infer import infer_features
from encoders.isolation import with_isolation
from encoders.read import read_ensemble
from encoders.reference import Reference, make_reference
from portfolio.evidence import check_boxes, check_lengths, check_reading
from portfolio.fingerprint import fingerprint
from portfolio.frames import training_frame
from portfolio.native import NativeModel, wrap_native
from portfolio.plausibility import Outlook, Plausibility
from selector.descriptors import EnsembleDescriptors, describe_ensemble


@dataclass(frozen=True, eq=False)
class View:
    """The trees that decide about one target class, cut into cells.

    Attributes
    ----------
    outlook : says whether a row is plausible for the class; None where that is not asked
    """

    ensemble: Ensemble
    cells: Cells
    reference: Reference
    outlook: Outlook | None


@dataclass(frozen=True, eq=False)
class Reading:
    """A model as trees, features, and the user's own object to verify with.

    Attributes
    ----------
    views : one per target class; they differ only where plausibility is asked for
    """

    ensemble: Ensemble
    space: FeatureSpace
    native: NativeModel
    views: tuple[View, ...]
    seconds: float

    @cached_property
    def identity(self) -> str:
        """A digest of all that an answer depends on, besides the question."""
        joined = [view.ensemble for view in self.views if view.outlook is not None]
        return fingerprint(self.ensemble, self.space, self.native.classes, joined)

    @cached_property
    def described(self) -> tuple[EnsembleDescriptors, float]:
        """Descriptors of the model, and the seconds they took."""
        began = time.perf_counter()
        descriptors = describe_ensemble(self.ensemble, self.space)
        return descriptors, time.perf_counter() - began

    @property
    def plausible(self) -> bool:
        """Whether answers must be plausible."""
        return self.views[0].outlook is not None


def read(
    model: Any,
    X_train: Any,
    features: Mapping[str, Any] | str | Path | FeatureSpace | None,
    voting: str | None,
    plausibility: Plausibility | None = None,
) -> Reading:
    """Read a model and describe its features; checks that its own predict agrees.

    Raises
    ------
    InputError, UnsupportedModelError
    """
    began = time.perf_counter()
    model = _with_voting(model, voting)
    ensemble = read_ensemble(model)
    native = wrap_native(model, ensemble.n_classes)
    frame = training_frame(X_train, native.columns, ensemble.n_columns)
    if isinstance(features, FeatureSpace):
        space = features.ordered(list(frame.columns))
    else:
        space = infer_features(frame, features)
    rows = frame.to_numpy()
    if plausibility is None:
        views = (_view(ensemble, space, rows, None),) * len(native.classes)
    else:
        outlooks = [plausibility.outlook(label, native.columns) for label in native.classes]
        views = tuple(_view(ensemble, space, rows, outlook) for outlook in outlooks)
    for view in dict.fromkeys(views):
        check_boxes(view.ensemble, view.cells, rows)
        if view.outlook is not None:
            check_lengths(view.ensemble, view.cells, view.outlook, rows)
    if len(native.classes) > 1:
        check_reading(ensemble, views[0].cells, native, rows)
    return Reading(ensemble, space, native, views, time.perf_counter() - began)


def _view(
    ensemble: Ensemble, space: FeatureSpace, rows: FloatArray, outlook: Outlook | None
) -> View:
    joined = ensemble if outlook is None else with_isolation(ensemble, outlook.forest)
    cells = cut(joined)
    return View(joined, cells, make_reference(joined, cells, space, rows), outlook)


def _with_voting(model: Any, voting: str | None) -> Any:
    from encoders.voting import HardVotingClassifier

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
