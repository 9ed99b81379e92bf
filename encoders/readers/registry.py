"""Modules of readers by library: the only place that names all supported libraries."""

# Top-level package of a model's class -> modules, each with a table ``READERS`` from the name of a
# class to its reader. They import their library only when they are called.
MODULES: dict[str, tuple[str, ...]] = {
    "sklearn": (
        *("sklearn_trees", "isolation", "composites", "calibrated", "transformed"),
        "thresholded",
        "one_vs_rest",
        "linear",
        "stacked",
    ),
    "encoders": ("composites",),
    "xgboost": ("xgboost",),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "interpret": ("ebm",),
}
