"""Any supported model -> :class:`Ensemble`."""

from typing import Any

from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble, as_votes
from encoders.trees.from_adaboost import read_adaboost
from encoders.trees.from_bagging import read_bagging
from encoders.trees.from_calibrated import read_calibrated
from encoders.trees.from_catboost import read_catboost
from encoders.trees.from_isolation import read_isolation
from encoders.trees.from_lightgbm import read_lightgbm
from encoders.trees.from_sklearn import BOOSTING, FORESTS, read_sklearn
from encoders.trees.from_voting import read_voting
from encoders.trees.from_xgboost import read_xgboost
from encoders.trees.members import thawed
from encoders.trees.refusals import require_fitted

XGBOOST = frozenset(
    {"XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "Booster"}
)
LIGHTGBM = frozenset({"LGBMClassifier", "LGBMRegressor", "Booster"})
CATBOOST = frozenset({"CatBoostClassifier", "CatBoostRegressor"})
SUPPORTED = (
    "scikit-learn's trees, forests and gradient boosting, bagging, voting, AdaBoost and "
    "calibration of these, IsolationForest, HardVotingClassifier, models of XGBoost, LightGBM and "
    "CatBoost, and a Pipeline that ends with one of these"
)
MEMBERS = {
    "AdaBoostClassifier": read_adaboost,
    "BaggingClassifier": read_bagging,
    "CalibratedClassifierCV": read_calibrated,
    "VotingClassifier": read_voting,
}
SEARCHES = (
    *("GridSearchCV", "RandomizedSearchCV"),
    *("HalvingGridSearchCV", "HalvingRandomSearchCV"),
)
THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
REMEDIES = {
    **dict.fromkeys(SEARCHES, "explain its best_estimator_"),
    **dict.fromkeys(
        THRESHOLDS, "explain its estimator_, with a Probability of at least the threshold as target"
    ),
}


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
    model = thawed(model)
    name = type(model).__name__
    if name == "HardVotingClassifier":
        require_fitted(model, "forest_")
        return as_votes(read_ensemble(model.forest_))
    package = type(model).__module__.split(".")[0]
    if package == "sklearn" and name in FORESTS | BOOSTING:
        return read_sklearn(model)
    if package == "sklearn" and name in MEMBERS:
        reader = MEMBERS[name]
        return reader(model, read_ensemble)
    if package == "sklearn" and name == "IsolationForest":
        return read_isolation(model)
    if package == "xgboost" and name in XGBOOST:
        return read_xgboost(model)
    if package == "lightgbm" and name in LIGHTGBM:
        return read_lightgbm(model)
    if package == "catboost" and name in CATBOOST:
        return read_catboost(model)
    if name == "Pipeline" and package != "sklearn":
        raise UnsupportedModelError(
            f"a Pipeline of {package} is not known; as samplers do nothing in predict, make one of "
            "scikit-learn of its other steps, which are fitted."
        )
    if name == "Pipeline":
        raise UnsupportedModelError(
            "a Pipeline within the model can't be followed; put its steps into the outer pipeline."
        )
    remedy = REMEDIES.get(name, f"supported are {SUPPORTED}")
    raise UnsupportedModelError(f"a model of type {name} can't be read exactly; {remedy}.")
