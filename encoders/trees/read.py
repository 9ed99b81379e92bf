"""Any supported model -> :class:`Ensemble`."""

from typing import Any

from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble, as_votes
from encoders.trees.from_lightgbm import read_lightgbm
from encoders.trees.from_sklearn import BOOSTING, FORESTS, read_sklearn
from encoders.trees.from_xgboost import read_xgboost
from encoders.trees.refusals import require_fitted

XGBOOST = frozenset(
    {"XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "Booster"}
)
LIGHTGBM = frozenset({"LGBMClassifier", "LGBMRegressor", "Booster"})
SUPPORTED = (
    "scikit-learn RandomForest, ExtraTrees, DecisionTree, GradientBoosting and "
    "HistGradientBoosting classifiers and regressors, HardVotingClassifier, XGBClassifier, "
    "XGBRegressor or an xgboost Booster, LGBMClassifier, LGBMRegressor or a lightgbm Booster"
)


def read_ensemble(model: Any) -> Ensemble:
    """Read a fitted model.

    Parameters
    ----------
    model : of a kind in SUPPORTED

    Raises
    ------
    UnsupportedModelError
        Unknown kind, unfitted, categorical splits, several outputs.
    """
    name = type(model).__name__
    if name == "HardVotingClassifier":
        require_fitted(model, "forest_")
        return as_votes(read_ensemble(model.forest_))
    package = type(model).__module__.split(".")[0]
    if package == "sklearn" and name in FORESTS | BOOSTING:
        return read_sklearn(model)
    if package == "xgboost" and name in XGBOOST:
        return read_xgboost(model)
    if package == "lightgbm" and name in LIGHTGBM:
        return read_lightgbm(model)
    hint = " Pass its last step and the transformed frame." if name == "Pipeline" else ""
    raise UnsupportedModelError(
        f"a model of type {name} can't be read exactly; supported are {SUPPORTED}.{hint}"
    )
