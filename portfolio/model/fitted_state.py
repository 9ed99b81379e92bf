"""Fitted state of a model, by which a later fit in place is detected."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from encoders.core.errors import ModelChangedError
from encoders.readers.kinds import HELD, kind_of, parameters_of, unwrapped
from encoders.readers.reader import reader_of
from encoders.readers.registry import MODULES

# Parameters that do not affect predictions.
HARMLESS = frozenset(
    ("n_jobs", "verbose", "verbosity", "random_state", "thread_count", "nthread", "memory")
)
PLAIN = (bool, int, float, str, type(None))
# Methods that an attribute of the same name on the object itself would replace.
PREDICTION = frozenset(("predict", "predict_proba", "decision_function", "transform"))
MISSING = object()
CHANGED = (
    "the {name} has changed since this Explainer was made (it was fitted again, or parameters were "
    "set), so proofs about the parsed trees no longer apply to it. Make a new Explainer."
)


class FittedState:
    """References to all objects that the predictions of some models depend on.

    A fit replaces the objects that hold what was learned. So these are compared by identity,
    which takes microseconds. Boosters are changed in place, and are compared by their sizes.
    """

    def __init__(self, models: Sequence[Any], volatile: frozenset[str] = frozenset()) -> None:
        self._models, self._volatile = tuple(models), volatile
        self._places: list[tuple[str, Any, Any, Any]] = []
        self._counts: list[tuple[str, Callable[[], Any], Any]] = []
        self._visited: set[int] = set()
        for model in self._models:
            self._add(type(model).__name__, model)

    def __reduce__(self) -> Any:
        """Return how a copy is made: from the copied models."""
        return FittedState, (tuple(map(unwrapped, self._models)), self._volatile)

    def settled(self) -> "FittedState":
        """Return the state without objects that predictions have replaced since it was created.

        Some transformers of scikit-learn, such as PowerTransformer, set attributes in transform.
        Call this after the models have predicted.
        """
        changed = {str(key) for _, owner, key, value in self._places if _differs(owner, key, value)}
        return FittedState(self._models, self._volatile | changed)

    def check(self) -> None:
        """Raise ModelChangedError if a model has changed."""
        for name, owner, key, value in self._places:
            if _differs(owner, key, value):
                raise ModelChangedError(CHANGED.format(name=name))
        for name, count, value in self._counts:
            if count() != value:
                raise ModelChangedError(CHANGED.format(name=name))

    def _add(self, name: str, part: Any) -> None:
        if id(part) in self._visited or isinstance(part, type):
            return
        if isinstance(part, list | tuple) or _holds_objects(part):
            self._visited.add(id(part))
            flat = part.ravel() if isinstance(part, np.ndarray) else part
            self._count(name, lambda: len(part))
            for place, item in enumerate(flat):
                if isinstance(part, list):
                    self._places.append((name, part, place, item))
                self._add(name, item)
            return
        for count in reader_of(part).sizes(part):
            self._visited.add(id(part))
            self._count(name, count)
        if not (hasattr(part, "get_params") or type(part).__name__ == "_CalibratedClassifier"):
            return
        self._visited.add(id(part))
        attributes = vars(part)
        if "tree_" in attributes:  # a forest has many; comparing the tree suffices
            self._places.append((name, attributes, "tree_", attributes["tree_"]))
            return
        self._count(name, lambda: PREDICTION.intersection(attributes))
        if isinstance(attributes.get("classes_"), np.ndarray):  # its labels may be edited in place
            self._count(name, lambda: np.asarray(attributes.get("classes_")).tolist())
        for key, value in attributes.items():
            if key not in self._volatile and _matters(part, key):
                self._places.append((name, attributes, key, value))
                self._add(name, value)

    def _count(self, name: str, count: Callable[[], Any]) -> None:
        self._counts.append((name, count, count()))


def _matters(part: Any, key: str) -> bool:
    """Return whether predictions of a model may depend on one of its attributes."""
    kind = kind_of(part)
    if kind.library == "sklearn" and kind.name in HELD:
        return key == HELD[kind.name]
    if key in HARMLESS:
        return False
    if type(part).__module__.partition(".")[0] in MODULES or key.endswith("_"):
        return True
    # A subclass may set other attributes while it works. Only what its library learns is watched.
    return kind.library in MODULES and (key.startswith("_") or key in parameters_of(part))


def _holds_objects(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == object


def _differs(owner: Any, key: Any, then: Any) -> bool:
    """Return whether an attribute or an item has changed since it was recorded."""
    if isinstance(owner, dict):
        now = owner.get(key, MISSING)
    else:
        now = owner[key] if key < len(owner) else MISSING
    return now is not then and not _same(now, then)


def _same(now: Any, then: Any) -> bool:
    """Return whether two distinct objects are equal arrays or equal plain values.

    scikit-learn's ColumnTransformer replaces its array of names by an equal one when it transforms.
    """
    if isinstance(now, np.ndarray) and isinstance(then, np.ndarray):
        return now.dtype == then.dtype and np.array_equal(now, then)
    if not (isinstance(now, PLAIN) and isinstance(then, PLAIN)):
        return False
    return now == then or (now != now and then != then)
