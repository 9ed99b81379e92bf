"""The library class that a model inherits from, and the methods by which a subclass replaces it."""

import dis
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from encoders.errors import UnsupportedModelError

LIBRARIES = frozenset(("sklearn", "xgboost", "lightgbm", "catboost", "encoders"))
# imbalanced-learn's pipeline: its predictions are those of scikit-learn's without its samplers.
SAMPLING = "imblearn.pipeline"
# Modules of classes that are no models: what every estimator of one's own inherits from.
BASES = ("sklearn.base", "sklearn.utils")
PREDICTIONS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
LOOKUPS = ("__getattribute__", "__getattr__")
# A subclass may replace these. A prediction looks at them, but they don't change its values.
TRAINING = frozenset(("fit", "get_params", "set_params", "__init__", "__sklearn_tags__"))


@dataclass(frozen=True)
class Kind:
    """A class as its library names it.

    Attributes
    ----------
    library : str, top-level package such as "sklearn"
    name : str, name of the class
    """

    library: str
    name: str


def kind_of(model: Any) -> Kind:
    """Return the library class that an object is of, or inherits from; else its own class."""
    cls: Any = type(model)  # a type is hashable, which mypy does not know
    return _kind(cls)


@cache
def _kind(own: Any) -> Kind:
    found = _library_class(own)
    return Kind(found.__module__.partition(".")[0], found.__name__)


def _library_class(own: Any) -> Any:
    for base in own.__mro__:
        library = base.__module__.partition(".")[0]
        if base.__module__ == SAMPLING:
            return base
        if library in LIBRARIES and not base.__module__.startswith(BASES):
            return base
    return own


def parameters_of(model: Any) -> frozenset[str]:
    """Return the names of the parameters of the library class that an object inherits from."""
    return frozenset(inspect.signature(_library_class(type(model))).parameters)


def require_inherited(model: Any) -> None:
    """Raise an error if a subclass, or the object itself, replaces what a prediction calls."""
    name = replaced_method(model)
    if name is None:
        return
    kind, own = kind_of(model).name, type(model).__name__
    subclass = f"{own} is a subclass of {kind} that" if own != kind else f"this {own}"
    raise UnsupportedModelError(
        f"{subclass} replaces {name}, which predictions depend on, so its trees can't be read "
        f"exactly; explain a {kind} that keeps the library's own {name}."
    )


def replaced_method(model: Any) -> str | None:
    """Return a method of the library's class that a model replaces and its predictions call."""
    cls: Any = type(model)
    library = _library_class(cls)
    methods = _called(library)
    held = getattr(model, "__dict__", {})
    own = [name for name in methods.intersection(held) if hasattr(library, name)]
    return min(own, key=_public_first) if own else _replaced(cls)


@cache
def _replaced(own: Any) -> str | None:
    library = _library_class(own)
    for name in sorted(_called(library), key=_public_first):
        owner = next((base for base in own.__mro__ if name in vars(base)), None)
        if owner is not None and owner not in library.__mro__:
            return name
    return None


def _public_first(name: str) -> tuple[bool, str]:
    return name.startswith("_"), name


@cache
def _called(library: Any) -> frozenset[str]:
    """Return all names that a prediction of a class may look up in it, call after call."""
    found: set[str] = set()
    remaining = [*PREDICTIONS, *LOOKUPS]
    while remaining:
        name = remaining.pop()
        if name in found or name in TRAINING:
            continue
        found.add(name)
        for base in library.__mro__:
            for code in _codes(vars(base).get(name)):
                remaining += _names(code)
    return frozenset(found)


def _codes(attribute: Any) -> Iterator[CodeType]:
    """Yield the code of a method, behind decorators, of a property or of a class method."""
    parts = [getattr(attribute, key, None) for key in ("fget", "fn", "__func__")]
    for part in (attribute, *parts):
        code = getattr(inspect.unwrap(part), "__code__", None) if callable(part) else None
        if isinstance(code, CodeType):
            yield code


def _names(code: CodeType) -> Iterator[str]:
    """Yield names of attributes that code looks up, also those it holds as text."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            yield str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant
