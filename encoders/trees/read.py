"""Conversion of any supported model to :class:`Ensemble`."""

from collections.abc import Callable
from typing import Any

from encoders.arrays import IntArray
from encoders.errors import UnsupportedModelError
from encoders.trees.advice import advice_for
from encoders.trees.ensemble import Ensemble, as_votes
from encoders.trees.from_adaboost import read_adaboost
from encoders.trees.from_bagging import read_bagging
from encoders.trees.from_calibrated import read_calibrated
from encoders.trees.from_catboost import read_catboost
from encoders.trees.from_isolation import read_isolation
from encoders.trees.from_lightgbm import read_lightgbm
from encoders.trees.from_mean import read_bagged_regressor, read_voting_regressor
from encoders.trees.from_sklearn import BOOSTING, FORESTS, read_sklearn
from encoders.trees.from_transformed import read_transformed
from encoders.trees.from_voting import read_voting
from encoders.trees.from_xgboost import read_xgboost
from encoders.trees.inputs import Layout, Place, layout_of
from encoders.trees.kinds import kind_of, require_inherited
from encoders.trees.members import ColumnReader
from encoders.trees.refusals import require_fitted
from encoders.trees.wrappers import is_pipeline, last_step, unwrapped

XGBOOST = frozenset(
    {"XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "Booster"}
)
LIGHTGBM = frozenset({"LGBMClassifier", "LGBMRegressor", "Booster"})
CATBOOST = frozenset({"CatBoostClassifier", "CatBoostRegressor"})
MEMBERS: dict[str, Callable[[Any, ColumnReader], Ensemble]] = {
    "AdaBoostClassifier": read_adaboost,
    "BaggingClassifier": read_bagging,
    "BaggingRegressor": read_bagged_regressor,
    "CalibratedClassifierCV": read_calibrated,
    "TransformedTargetRegressor": read_transformed,
    "VotingClassifier": read_voting,
    "VotingRegressor": read_voting_regressor,
}
Recode = Callable[[Any, Ensemble, IntArray], Ensemble]


def read_ensemble(model: Any, recode: Recode | None = None) -> Ensemble:
    """Return a fitted model as an ensemble; UnsupportedModelError if it cannot be read exactly."""
    return _read(model, Place(), layout_of(model), recode)


def _read(model: Any, place: Place, layout: Layout, recode: Recode | None) -> Ensemble:
    """Return a model, or a member of one, as an ensemble over the columns of the joint table."""
    model = unwrapped(model)
    require_inherited(model)
    if is_pipeline(model):
        return _read(last_step(model), layout.after(model, place), layout, recode)
    kind = kind_of(model)
    if kind.library == "sklearn" and kind.name in MEMBERS:

        def read(member: Any, columns: IntArray | None = None, /) -> Ensemble:
            return _read(member, place.member(columns, ""), layout, recode)

        return layout.with_ways(MEMBERS[kind.name](model, read))
    whole = _read_alone(model)
    if recode is not None:
        whole = recode(model, whole, layout.columns_of(place))
    return layout.with_ways(layout.placed(whole, place))


def _read_alone(model: Any) -> Ensemble:
    package, name = kind_of(model).library, kind_of(model).name
    if name == "HardVotingClassifier":
        require_fitted(model, "forest_")
        return as_votes(read_ensemble(model.forest_))
    if package == "sklearn" and name in FORESTS | BOOSTING:
        return read_sklearn(model)
    if package == "sklearn" and name == "IsolationForest":
        return read_isolation(model)
    if package == "xgboost" and name in XGBOOST:
        return read_xgboost(model)
    if package == "lightgbm" and name in LIGHTGBM:
        return read_lightgbm(model)
    if package == "catboost" and name in CATBOOST:
        return read_catboost(model)
    name, remedy = type(model).__name__, advice_for(model)
    raise UnsupportedModelError(f"a model of type {name} cannot be read exactly. {remedy}.")
