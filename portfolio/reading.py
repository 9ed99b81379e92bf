"""Everything about a model that is the same for all queries, read once."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.cells import Cells, cut
from encoders.ensemble import Ensemble
from encoders.errors import InputError, UnsupportedModelError
from encoders.features import FeatureSpace
from encoders.infer import infer_features
from encoders.read import read_ensemble
from encoders.reference import Reference, make_reference
from portfolio.frames import training_frame
from portfolio.native import NativeModel, check_reading, wrap_native


@dataclass(frozen=True, eq=False)
class Reading:
    """A model as trees, cells, features, and the user's own object to verify with."""

    ensemble: Ensemble
    cells: Cells
    space: FeatureSpace
    reference: Reference
    native: NativeModel
    seconds: float


def read(
    model: Any,
    X_train: Any,
    features: Mapping[str, Any] | str | Path | FeatureSpace | None,
    voting: str | None,
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
        if list(features.columns) != list(frame.columns):
            raise InputError("the FeatureSpace given describes other columns than X_train's.")
        space = features
    else:
        space = infer_features(frame, features)
    if len(native.classes) > 1:
        check_reading(ensemble, native, frame.to_numpy())
    cells = cut(ensemble)
    reference = make_reference(ensemble, cells, space, frame.to_numpy())
    return Reading(ensemble, cells, space, reference, native, time.perf_counter() - began)


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
