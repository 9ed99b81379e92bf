"""Models whose predictions are those of one model that they hold."""

from typing import Any

from encoders.errors import UnsupportedModelError
from encoders.trees.kinds import kind_of, require_inherited
from encoders.trees.refusals import not_fitted

SEARCHES = (
    *("GridSearchCV", "RandomizedSearchCV"),
    *("HalvingGridSearchCV", "HalvingRandomSearchCV"),
)
# The attribute that holds the model whose methods the wrapper calls.
HELD = {"FrozenEstimator": "estimator", **dict.fromkeys(SEARCHES, "best_estimator_")}


def unwrapped(model: Any) -> Any:
    """Return the model that predicts for a frozen estimator or a search; any other as it is.

    Parameters
    ----------
    model : object of any type

    Raises
    ------
    UnsupportedModelError
        A search is not fitted, or keeps no model; or a subclass replaces what predictions call.
    """
    kind = kind_of(model)
    if kind.library != "sklearn" or kind.name not in HELD:
        return model
    require_inherited(model)
    held = vars(model).get(HELD[kind.name])
    if held is None and hasattr(model, "cv_results_"):
        raise UnsupportedModelError(
            f"this {kind.name} was fitted with refit=False and keeps no model; fit it with "
            "refit=True, or explain a model that was fitted with its best_params_."
        )
    if held is None:
        raise not_fitted(model)
    return unwrapped(held)
