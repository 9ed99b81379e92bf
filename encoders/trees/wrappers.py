"""Wrappers around one model: frozen estimators, searches and pipelines."""

from typing import Any

from encoders.errors import UnsupportedModelError
from encoders.trees.kinds import kind_of, require_inherited
from encoders.trees.refusals import not_fitted

SEARCHES = (
    *("GridSearchCV", "RandomizedSearchCV"),
    *("HalvingGridSearchCV", "HalvingRandomSearchCV"),
)
# Attribute with the wrapped model.
HELD = {"FrozenEstimator": "estimator", **dict.fromkeys(SEARCHES, "best_estimator_")}


def unwrapped(model: Any) -> Any:
    """Return the model inside frozen estimators and searches; any other model itself."""
    kind = kind_of(model)
    if kind.library != "sklearn" or kind.name not in HELD:
        return model
    require_inherited(model)
    inner = vars(model).get(HELD[kind.name])
    if inner is None and hasattr(model, "cv_results_"):
        raise UnsupportedModelError(
            f"this {kind.name} was fitted with refit=False and contains no fitted model. Fit it "
            "with refit=True, or explain a model that was fitted with its best_params_."
        )
    if inner is None:
        raise not_fitted(model)
    return unwrapped(inner)


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of scikit-learn or of imbalanced-learn."""
    kind = kind_of(model)
    return kind.library in ("sklearn", "imblearn") and kind.name == "Pipeline"


def last_step(model: Any) -> Any:
    """Return the model that a pipeline ends with."""
    return model.steps[-1][1]


def steps_before(model: Any) -> list[tuple[str, Any]]:
    """Return the steps before the last one that transform rows, with their names.

    Samplers of imbalanced-learn do nothing in predictions.
    """
    return [
        (name, step)
        for name, step in model.steps[:-1]
        if step is not None and step != "passthrough" and not hasattr(step, "fit_resample")
    ]


def predictor(model: Any) -> Any:
    """Return the model inside all wrappers and pipelines, which makes the predictions."""
    model = unwrapped(model)
    return predictor(last_step(model)) if is_pipeline(model) else model
