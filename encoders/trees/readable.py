"""The table of supported models in docs/models-and-tables.md."""

from dataclasses import dataclass

from encoders.trees.from_catboost import LOSSES
from encoders.trees.from_lightgbm import REGRESSION as LIGHTGBM_REGRESSION
from encoders.trees.from_xgboost import REGRESSION as XGBOOST_REGRESSION


@dataclass(frozen=True)
class Readable:
    """Row of the table: models of one library with the same conditions.

    Attributes
    ----------
    library : name of the library, in Markdown.
    kinds : names of classes.
    words : conditions, in Markdown.
    """

    library: str
    kinds: tuple[str, ...]
    words: str


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


READABLE = (
    Readable(
        "scikit-learn",
        (
            *("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier"),
            *("ExtraTreeClassifier", "GradientBoostingClassifier"),
            "HistGradientBoostingClassifier",
        ),
        "two classes or more",
    ),
    Readable(
        "scikit-learn",
        (
            *("RandomForestRegressor", "ExtraTreesRegressor", "DecisionTreeRegressor"),
            *("ExtraTreeRegressor", "GradientBoostingRegressor"),
            "HistGradientBoostingRegressor",
        ),
        "one output",
    ),
    Readable(
        "scikit-learn, of several",
        ("BaggingClassifier",),
        "of trees, forests, boosting of scikit-learn, XGBoost, LightGBM, CatBoost, AdaBoost, "
        "`HardVotingClassifier`, calibrated models, and soft voting of these",
    ),
    Readable(
        "scikit-learn, of several",
        ("VotingClassifier",),
        'with `voting="soft"` of what bagging takes, and of bagging; with `voting="hard"` of any '
        "of these ensembles that blends no others",
    ),
    Readable("scikit-learn, of several", ("AdaBoostClassifier",), "of single trees"),
    Readable(
        "scikit-learn, of several",
        ("BaggingRegressor", "VotingRegressor"),
        "of regressors that predict the sum of their leaves or its mean, of any library, and of "
        "each other",
    ),
    Readable(
        "scikit-learn, transformed target",
        ("TransformedTargetRegressor",),
        "of a regressor of any library, with an inverse that only rises or only falls",
    ),
    Readable(
        "scikit-learn, calibrated",
        ("CalibratedClassifierCV",),
        "of two classes over one of these (but boosting within bagging or voting), of XGBoost, "
        "LightGBM or CatBoost, of one fold or several; sigmoid, isotonic or temperature",
    ),
    Readable(
        "scikit-learn, wrappers",
        (
            *("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV"),
            *("HalvingRandomSearchCV", "FrozenEstimator"),
        ),
        "of any of these, or of a pipeline; a search needs `refit=True`",
    ),
    Readable("scikit-learn, outliers", ("IsolationForest",), "its classes are -1 (outlier) and 1"),
    Readable(
        "XGBoost",
        ("XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "Booster"),
        "with an objective `binary:...`, `multi:...`, "
        f"{_listed(tuple(sorted(XGBOOST_REGRESSION)))}",
    ),
    Readable(
        "LightGBM (`pip install 'counterfolio[lightgbm]'`)",
        ("LGBMClassifier", "LGBMRegressor", "Booster"),
        "with an objective `binary`, `multiclass...`, "
        f"{_listed(tuple(sorted(LIGHTGBM_REGRESSION)))}",
    ),
    Readable(
        "CatBoost (`pip install 'counterfolio[catboost]'`)",
        ("CatBoostClassifier",),
        f"with loss {_listed(tuple(LOSSES))}, of every grow policy; categories split one by one",
    ),
    Readable(
        "CatBoost (`pip install 'counterfolio[catboost]'`)",
        ("CatBoostRegressor",),
        "with any loss of one output, of every grow policy; categories split one by one",
    ),
    Readable("counterfolio", ("HardVotingClassifier",), "every tree of a forest casts one vote"),
)
