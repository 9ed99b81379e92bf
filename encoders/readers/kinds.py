"""Library classes of models, wrappers around models, and methods that subclasses override."""

import dis
import inspect
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from encoders.core.errors import UnsupportedModelError
from encoders.readers.refusals import not_fitted
from encoders.readers.registry import MODULES
from encoders.readers.scorecards import pipeline_of

# imbalanced-learn's pipeline predicts like scikit-learn's pipeline without the samplers.
SAMPLING = "imblearn.pipeline"
# Modules of base classes that are not models, from which custom estimators inherit.
BASES = ("sklearn.base", "sklearn.utils")
PREDICTIONS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
LOOKUPS = ("__getattribute__", "__getattr__")
# A subclass may override these methods: predictions may look them up, but do not depend on them.
TRAINING = frozenset(("fit", "get_params", "set_params", "__init__", "__sklearn_tags__"))


@dataclass(frozen=True)
class Kind:
    """Library class of a model."""

    library: str  # top-level package such as "sklearn"
    name: str  # name of the class


def kind_of(model: Any) -> Kind:
    """Return the library class of an object or of its base classes; else its own class."""
    cls: Any = type(model)  # mypy does not know that types are hashable
    return _kind(cls)


@cache
def _kind(cls: Any) -> Kind:
    library_class = _library_class(cls)
    return Kind(library_class.__module__.partition(".")[0], library_class.__name__)


def _library_class(cls: Any) -> Any:
    for base in cls.__mro__:
        library = base.__module__.partition(".")[0]
        if base.__module__ == SAMPLING:
            return base
        if library in MODULES and not base.__module__.startswith(BASES):
            return base
    return cls


def parameters_of(model: Any) -> frozenset[str]:
    """Return the names of the parameters of the library class that an object inherits from."""
    return frozenset(inspect.signature(_library_class(type(model))).parameters)


def require_inherited(model: Any) -> None:
    """Raise UnsupportedModelError if a subclass or the object overrides a method of predictions."""
    method = replaced_method(model)
    if method is None:
        return
    kind, name = kind_of(model).name, type(model).__name__
    subclass = f"{name} is a subclass of {kind} that" if name != kind else f"this {name}"
    raise UnsupportedModelError(
        f"{subclass} overrides {method}, which predictions depend on, so its trees cannot be read "
        f"exactly. Explain a {kind} with the library's {method}."
    )


def replaced_method(model: Any) -> str | None:
    """Return a method of predictions that a model overrides, None if there is none."""
    cls: Any = type(model)
    library = _library_class(cls)
    methods = _called(library)
    attributes = getattr(model, "__dict__", {})
    shadowed = methods.intersection(attributes)
    overridden = [name for name in shadowed if callable(getattr(library, name, None))]
    return min(overridden, key=_public_first) if overridden else _replaced(cls)


@cache
def _replaced(cls: Any) -> str | None:
    library = _library_class(cls)
    for name in sorted(_called(library), key=_public_first):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is not None and owner not in library.__mro__:
            return name
    return None


def _public_first(name: str) -> tuple[bool, str]:
    return name.startswith("_"), name


@cache
def _called(library: Any) -> frozenset[str]:
    """Return all attribute names that predictions of a class may look up in it, transitively."""
    names: set[str] = set()
    remaining = [*PREDICTIONS, *LOOKUPS]
    while remaining:
        name = remaining.pop()
        if name in names or name in TRAINING:
            continue
        names.add(name)
        for base in library.__mro__:
            for code in _codes(vars(base).get(name)):
                remaining += _names(code)
    return frozenset(names)


def _codes(attribute: Any) -> Iterator[CodeType]:
    """Yield the code of a method, property or class method, without its decorators."""
    parts = [getattr(attribute, key, None) for key in ("fget", "fn", "__func__")]
    for part in (attribute, *parts):
        code = getattr(inspect.unwrap(part), "__code__", None) if callable(part) else None
        if isinstance(code, CodeType):
            yield code


def _names(code: CodeType) -> Iterator[str]:
    """Yield names of attributes that code looks up, including those in its string constants."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            yield str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant


SEARCHES = (
    *("GridSearchCV", "RandomizedSearchCV"),
    *("HalvingGridSearchCV", "HalvingRandomSearchCV"),
)
# Attribute with the wrapped model.
HELD = {
    "FrozenEstimator": "estimator",
    "SelfTrainingClassifier": "estimator_",
    "RANSACRegressor": "estimator_",
    **dict.fromkeys(SEARCHES, "best_estimator_"),
}


SCORECARD = Kind("optbinning", "Scorecard")


def unwrapped(model: Any) -> Any:
    """Return the model inside wrappers that predict as it does; any other model itself."""
    kind = kind_of(model)
    if kind == SCORECARD:
        require_inherited(model)
        if getattr(model, "estimator_", None) is None:
            raise not_fitted(model)
        return pipeline_of(model)
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


def ending_in(pipeline: Any, last: Any) -> Any:
    """Return a copy of a pipeline that ends with another model."""
    same = copy(pipeline)
    same.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], last)]
    return same


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
