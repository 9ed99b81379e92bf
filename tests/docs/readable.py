"""The table of supported models in docs/reference/models.md."""

from dataclasses import dataclass

from encoders.readers.catboost import LOSSES
from encoders.readers.lightgbm import REGRESSION as LIGHTGBM_REGRESSION
from encoders.readers.linear import CLASSIFIERS, REGRESSORS
from encoders.readers.xgboost import REGRESSION as XGBOOST_REGRESSION


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
        "classifiers of two or more classes",
    ),
    Readable(
        "scikit-learn",
        (
            *("RandomForestRegressor", "ExtraTreesRegressor", "DecisionTreeRegressor"),
            *("ExtraTreeRegressor", "GradientBoostingRegressor"),
            "HistGradientBoostingRegressor",
        ),
        "regressors with one output",
    ),
    Readable(
        "scikit-learn, ensembles of models",
        ("BaggingClassifier",),
        "members: trees, forests, boosting of scikit-learn, XGBoost, LightGBM or CatBoost, "
        "AdaBoost, `HardVotingClassifier`, calibrated models, and soft voting of these",
    ),
    Readable(
        "scikit-learn, ensembles of models",
        ("VotingClassifier",),
        'members with `voting="soft"`: those of `BaggingClassifier`, and `BaggingClassifier`; with '
        '`voting="hard"`: any of these models that is not itself an ensemble of ensembles',
    ),
    Readable("scikit-learn, ensembles of models", ("AdaBoostClassifier",), "members: single trees"),
    Readable(
        "scikit-learn, ensembles of models",
        ("BaggingRegressor", "VotingRegressor"),
        "members: regressors of any library that predict the sum or the mean of their leaves, and "
        "also `BaggingRegressor` and `VotingRegressor`",
    ),
    Readable(
        "scikit-learn, transformed target",
        ("TransformedTargetRegressor",),
        "around a regressor of any library, with an inverse that only rises or only falls",
    ),
    Readable(
        "scikit-learn, calibrated",
        ("CalibratedClassifierCV",),
        "two classes, around one of these (except boosting inside bagging or voting) or a model of "
        "XGBoost, LightGBM or CatBoost; one fold or several; sigmoid, isotonic or temperature",
    ),
    Readable(
        "scikit-learn, linear models of steps",
        (*CLASSIFIERS, *REGRESSORS),
        "as the last step of a pipeline whose steps encode or bin each column",
    ),
    Readable(
        "scikit-learn, one class against the rest",
        ("OneVsRestClassifier",),
        "one label per row, around a classifier whose `decision_function` or probability follows "
        "from its trees",
    ),
    Readable(
        "scikit-learn, stacking",
        ("StackingClassifier", "StackingRegressor"),
        "with a linear final estimator such as `LogisticRegression`, `RidgeClassifier`, "
        "`LinearSVC`, `RidgeCV` or `Lasso`, and `passthrough=False`",
    ),
    Readable(
        "scikit-learn, thresholds",
        ("FixedThresholdClassifier", "TunedThresholdClassifierCV"),
        "around a classifier of two classes or a pipeline, if its probability (a mean of leaves, a "
        "sigmoid, or calibrated) or its `decision_function` follows from its trees",
    ),
    Readable(
        "scikit-learn, wrappers",
        (
            *("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV"),
            *("HalvingRandomSearchCV", "FrozenEstimator", "SelfTrainingClassifier"),
        ),
        "around any of these, or around a pipeline; a search needs `refit=True`",
    ),
    Readable("scikit-learn, outliers", ("IsolationForest",), "classes -1 (outlier) and 1"),
    Readable(
        "XGBoost",
        (
            "XGBClassifier",
            "XGBRFClassifier",
            "XGBRegressor",
            "XGBRFRegressor",
            "XGBRanker",
            "Booster",
        ),
        "with an objective `binary:...`, `multi:...`, "
        f"{_listed(tuple(sorted(XGBOOST_REGRESSION)))}",
    ),
    Readable(
        "LightGBM (`pip install 'counterfolio[lightgbm]'`)",
        ("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "Booster"),
        "with an objective `binary`, `multiclass...`, "
        f"{_listed(tuple(sorted(LIGHTGBM_REGRESSION)))}",
    ),
    Readable(
        "CatBoost (`pip install 'counterfolio[catboost]'`)",
        ("CatBoostClassifier",),
        f"with loss {_listed(tuple(LOSSES))}; every grow policy; categories with one-hot splits "
        "only",
    ),
    Readable(
        "CatBoost (`pip install 'counterfolio[catboost]'`)",
        ("CatBoostRegressor", "CatBoostRanker"),
        "with any loss of one output; every grow policy; categories with one-hot splits only",
    ),
    Readable(
        "InterpretML (`pip install 'counterfolio[ebm]'`)",
        (
            *("ExplainableBoostingClassifier", "ExplainableBoostingRegressor"),
            *("DPExplainableBoostingClassifier", "DPExplainableBoostingRegressor"),
        ),
        "classifiers of two or more classes, and regressors with any objective; terms of one or "
        "more features",
    ),
    Readable("counterfolio", ("HardVotingClassifier",), "one vote per tree of a forest"),
)
