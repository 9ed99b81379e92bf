"""Table of all models that can be read, with what is exact about them and what is refused."""

from dataclasses import dataclass

from encoders.readers.catboost import LABELLING, LOSSES
from encoders.readers.lightgbm import REGRESSION as LIGHTGBM_REGRESSION
from encoders.readers.linear import CLASSIFIERS, REGRESSORS
from encoders.readers.xgboost import REGRESSION as XGBOOST_REGRESSION


@dataclass(frozen=True)
class Library:
    """Library whose models can be read.

    Attributes
    ----------
    name : name of the library.
    package : top-level package of its classes.
    distribution : name of its distribution.
    oldest, newest : oldest and newest tested version; "" for counterfolio.
    extra : extra of counterfolio that installs it; "" if it is always installed.
    """

    name: str
    package: str
    distribution: str
    oldest: str = ""
    newest: str = ""
    extra: str = ""


SKLEARN = Library("scikit-learn", "sklearn", "scikit-learn", "1.6.1", "1.9.1")
XGBOOST = Library("XGBoost", "xgboost", "xgboost", "2.1.4", "3.2.0")
LIGHTGBM = Library("LightGBM", "lightgbm", "lightgbm", "4.3.0", "4.7.0", "lightgbm")
CATBOOST = Library("CatBoost", "catboost", "catboost", "1.2.8", "1.2.10", "catboost")
INTERPRET = Library("InterpretML", "interpret", "interpret-core", "0.7.7", "0.7.8", "ebm")
SURVIVAL = Library("scikit-survival", "sksurv", "scikit-survival", "0.24.0", "0.28.0", "survival")
QUANTILES = Library(
    "quantile-forest", "quantile_forest", "quantile-forest", "1.4.0", "1.4.2", "quantile-forest"
)
OPTBINNING = Library("optbinning", "optbinning", "optbinning", "1.0.0", "1.0.0", "optbinning")
COUNTERFOLIO = Library("counterfolio", "encoders", "counterfolio")
LIBRARIES = (SKLEARN, XGBOOST, LIGHTGBM, CATBOOST, INTERPRET, SURVIVAL, QUANTILES)


@dataclass(frozen=True)
class Readable:
    """Models of one library with the same conditions; all texts are Markdown.

    Attributes
    ----------
    library : library of the classes.
    group : what the models have in common; "" for plain models of trees.
    kinds : names of classes, the most common one first.
    words : conditions.
    exact : outputs that targets may be about, compared to the last bit.
    refused : what is refused.
    """

    library: Library
    group: str
    kinds: tuple[str, ...]
    words: str
    exact: str
    refused: str

    @property
    def place(self) -> str:
        """Name of the library, with the group."""
        return f"{self.library.name}, {self.group}" if self.group else self.library.name


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


ALL_OUTPUTS = "class, probability, raw score of two classes, prediction"
READABLE = (
    Readable(
        SKLEARN,
        "",
        (
            *("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier"),
            *("ExtraTreeClassifier", "GradientBoostingClassifier"),
            "HistGradientBoostingClassifier",
        ),
        "classifiers of two or more classes",
        "class, probability, raw score of two boosted classes",
        "an `init` whose raw score is not a sum of leaves",
    ),
    Readable(
        SKLEARN,
        "",
        (
            *("RandomForestRegressor", "ExtraTreesRegressor", "DecisionTreeRegressor"),
            *("ExtraTreeRegressor", "GradientBoostingRegressor"),
            "HistGradientBoostingRegressor",
        ),
        "regressors",
        "prediction",
        "an `init` whose raw score is not a sum of leaves",
    ),
    Readable(
        SKLEARN,
        "several outputs",
        ("MultiOutputClassifier", "MultiOutputRegressor"),
        "one supported model per output; forests and trees of several outputs as well",
        "those of the model of each output",
        "as a member of another model; `also` and `Plausibility`",
    ),
    Readable(
        SKLEARN,
        "ensembles of models",
        ("BaggingClassifier",),
        "members: trees, forests, boosting of scikit-learn, XGBoost, LightGBM or CatBoost, "
        "AdaBoost, `HardVotingClassifier`, calibrated models, and soft voting of these",
        "class, probability",
        "members whose probability does not follow from their leaves; a native category that a "
        "member draws twice",
    ),
    Readable(
        SKLEARN,
        "ensembles of models",
        ("VotingClassifier",),
        'members with `voting="soft"`: those of `BaggingClassifier`, and `BaggingClassifier`; with '
        '`voting="hard"`: any of these models that is not itself an ensemble of ensembles',
        "class, probability or votes",
        "hard voting over ensembles of ensembles",
    ),
    Readable(
        SKLEARN,
        "ensembles of models",
        ("AdaBoostClassifier",),
        "members: single trees",
        "class, probability",
        "members that are not single trees",
    ),
    Readable(
        SKLEARN,
        "ensembles of models",
        ("AdaBoostRegressor",),
        "members: single trees, also as the last step of pipelines",
        "prediction",
        "members that are not single trees; as a member of another model",
    ),
    Readable(
        SKLEARN,
        "ensembles of models",
        ("BaggingRegressor", "VotingRegressor"),
        "members: regressors of any library that predict the sum or the mean of their leaves, and "
        "also `BaggingRegressor` and `VotingRegressor`",
        "prediction",
        "members that predict a curve of their sum (poisson, gamma, tweedie, logistic)",
    ),
    Readable(
        SKLEARN,
        "transformed target",
        ("TransformedTargetRegressor",),
        "around a regressor of any library, with an inverse that only rises or only falls",
        "prediction",
        "inverses that rise and fall, or that depend on other rows",
    ),
    Readable(
        SKLEARN,
        "calibrated",
        ("CalibratedClassifierCV",),
        "two classes, around one of these (except boosting inside bagging or voting) or a model of "
        "XGBoost, LightGBM or CatBoost; one fold or several; sigmoid, isotonic or temperature",
        "class, probability",
        "more than two classes",
    ),
    Readable(
        SKLEARN,
        "linear models of steps",
        (*CLASSIFIERS, *REGRESSORS),
        "as the last step of a pipeline whose steps encode or bin each column that is neither "
        "binary nor a one-hot group",
        "class, probability of `LogisticRegression`, `LinearDiscriminantAnalysis` and "
        '`SGDClassifier` with `loss="log_loss"` (two classes: or `"modified_huber"`), '
        "`decision_function` of two classes, prediction",
        "raw columns without such steps; several outputs",
    ),
    Readable(
        SKLEARN,
        "one class against the rest",
        ("OneVsRestClassifier",),
        "one label per row, around a classifier whose `decision_function` or probability follows "
        "from its trees",
        "class, probability",
        "several labels per row; `OutputCodeClassifier`, `ClassifierChain`",
    ),
    Readable(
        SKLEARN,
        "stacking",
        ("StackingClassifier", "StackingRegressor"),
        "with a linear final estimator such as `LogisticRegression`, `RidgeClassifier`, "
        "`LinearSVC`, `RidgeCV` or `Lasso`, also behind scalers in a pipeline, and "
        "`passthrough=False`",
        "class, probability of `LogisticRegression`, `Score` of two classes, prediction",
        "`passthrough=True`; final estimators that are not linear",
    ),
    Readable(
        SKLEARN,
        "thresholds",
        ("FixedThresholdClassifier", "TunedThresholdClassifierCV"),
        "around a classifier of two classes or a pipeline, if its probability (a mean of leaves, a "
        "sigmoid, or calibrated) or its `decision_function` follows from its trees",
        "class, and the numbers of the estimator",
        "thresholds that are not finite, or of a probability not above 0 and at most 1",
    ),
    Readable(
        SKLEARN,
        "wrappers",
        (
            *("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV"),
            *("HalvingRandomSearchCV", "FrozenEstimator", "SelfTrainingClassifier"),
            "RANSACRegressor",
        ),
        "around any of these, or around a pipeline; a search needs `refit=True`",
        "as the wrapped model",
        "`refit=False`",
    ),
    Readable(
        SKLEARN,
        "outliers",
        ("IsolationForest",),
        "classes -1 (outlier) and 1, and limits of the `decision_function`",
        "class, `decision_function`",
        "forests that predict the same class for every row",
    ),
    Readable(
        XGBOOST,
        "",
        (
            "XGBClassifier",
            "XGBRFClassifier",
            "XGBRegressor",
            "XGBRFRegressor",
            "XGBRanker",
            "Booster",
        ),
        "with an objective `binary:...`, `multi:...`, "
        f"{_listed(tuple(sorted(XGBOOST_REGRESSION)))}; several outputs of an estimator",
        ALL_OUTPUTS,
        "other objectives; a `Booster` of several outputs; `gblinear`; sums that may overflow "
        "float32",
    ),
    Readable(
        LIGHTGBM,
        "",
        ("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "Booster"),
        "with an objective `binary`, `multiclass...`, "
        f"{_listed(tuple(sorted(LIGHTGBM_REGRESSION)))}",
        ALL_OUTPUTS,
        "other objectives; linear leaves; `pred_early_stop`; `reg_sqrt`",
    ),
    Readable(
        CATBOOST,
        "",
        ("CatBoostClassifier",),
        f"with loss {_listed((*LOSSES, *LABELLING))}; every grow policy; categories with one-hot "
        "splits only",
        "class, probability, raw score of two classes",
        "other losses; text and embedding features; counters of categories",
    ),
    Readable(
        CATBOOST,
        "",
        ("CatBoostRegressor", "CatBoostRanker"),
        "with any loss, also of several outputs; every grow policy; categories with one-hot splits "
        "only",
        "prediction",
        "`RMSEWithUncertainty`; text and embedding features; counters of categories",
    ),
    Readable(
        INTERPRET,
        "",
        (
            *("ExplainableBoostingClassifier", "ExplainableBoostingRegressor"),
            *("DPExplainableBoostingClassifier", "DPExplainableBoostingRegressor"),
        ),
        "classifiers of two or more classes, and regressors with any objective; terms of one or "
        "more features",
        ALL_OUTPUTS,
        "links other than logit, mlogit, identity and log",
    ),
    Readable(
        SURVIVAL,
        "",
        (
            *("SurvivalTree", "ExtraSurvivalTree", "RandomSurvivalForest", "ExtraSurvivalTrees"),
            "GradientBoostingSurvivalAnalysis",
        ),
        "as regressors: the risk score, or the time with the losses `squared` and `ipcwls`; "
        "`survival_at` for probabilities of survival",
        "prediction of a single row",
        "componentwise boosting, other models; survival functions of boosting",
    ),
    Readable(
        QUANTILES,
        "",
        ("RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"),
        "the quantiles `default_quantiles`; several of them are outputs",
        "prediction",
        'means (`"mean"`), several targets; as a member of another model',
    ),
    Readable(
        COUNTERFOLIO,
        "",
        ("HardVotingClassifier",),
        "one vote per tree of a forest",
        "class, votes",
        "models other than a forest",
    ),
    Readable(
        OPTBINNING,
        "",
        ("Scorecard",),
        "with a linear model; see [Scorecards](pipelines.md#scorecards)",
        "class, prediction",
        "piecewise binnings; models that are not linear",
    ),
)
