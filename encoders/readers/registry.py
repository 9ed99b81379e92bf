"""Modules of readers by library: the only place that names all supported libraries."""

# Classes of this project that have readers: users do not train them.
PROJECT_CLASSES = (
    "HardVotingClassifier",
    "ForestOutput",
    "MemberOutput",
    "XGBoostOutput",
    "CatBoostOutput",
    "SurvivalAt",
    "QuantileOutput",
)
# Top-level package of a model's class -> modules, each with a table ``READERS`` from the name of a
# class to its reader. They import their library only when they are called.
MODULES: dict[str, tuple[str, ...]] = {
    "sklearn": (
        *("sklearn_trees", "isolation", "composites", "calibrated", "transformed"),
        "thresholded",
        "one_vs_rest",
        "linear",
        "stacked",
        "outputs",
        "weighted_median",
    ),
    "encoders": ("composites", "outputs", "xgboost", "catboost", "survival", "quantile_forest"),
    "xgboost": ("xgboost",),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "interpret": ("ebm",),
    "sksurv": ("survival",),
    "quantile_forest": ("quantile_forest",),
}
