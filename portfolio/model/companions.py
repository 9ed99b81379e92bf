"""Companions of a model, which must accept an answer too: isolation forests, further models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from encoders.errors import InputError, UnsupportedModelError
from encoders.trees.ensemble import Companion, Ensemble
from encoders.trees.wrappers import is_pipeline, last_step
from portfolio.model.plausibility import Plausibility, decides_alike, is_forest
from portfolio.model.readings import Reading, read_alone

INLIER = 1  # class index of an isolation forest


@dataclass(frozen=True, eq=False)
class Wanted:
    """Companion model with the classes that it must predict.

    Attributes
    ----------
    alone : model with its trees over its own input columns.
    classes : class indices that it must predict, see :class:`encoders.trees.ensemble.Companion`.
    always : class index that it must predict for every target; None for further models.
    """

    alone: Reading
    classes: tuple[int, ...] = ()
    always: int | None = None

    def of(self, ensemble: Ensemble) -> Companion:
        """Return the companion for trees over the user's columns."""
        return Companion(ensemble, 0, self.classes, self.always)


@dataclass(frozen=True, eq=False)
class Companions:
    """All companions of a model.

    Attributes
    ----------
    every : tuple of distinct companions.
    of_class : positions in ``every`` for each class of the model (one entry for a regressor).
    """

    every: tuple[Wanted, ...]
    of_class: tuple[tuple[int, ...], ...]


def companions_of(
    main: Reading, plausibility: Plausibility | None, also: Sequence[Any]
) -> Companions:
    """Return the companions of a model: isolation forests per class, and further models."""
    labels = main.native.classes or (None,)
    forests = [] if plausibility is None else [plausibility.forest_of(label) for label in labels]
    distinct = {id(forest): forest for forest in forests if not _accepts_all(forest)}
    every = [
        Wanted(_read(forest, "the isolation forest"), always=INLIER) for forest in distinct.values()
    ]
    place = {key: at for at, key in enumerate(distinct)}
    every += [_further(model, at, main) for at, model in enumerate(also)]
    shared = tuple(range(len(distinct), len(every)))
    if not forests:
        return Companions(tuple(every), (shared,) * len(labels))
    per_class = [(place[id(forest)],) if id(forest) in place else () for forest in forests]
    return Companions(tuple(every), tuple(first + shared for first in per_class))


def _read(model: Any, name: str) -> Reading:
    try:
        return read_alone(model, name)
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{name}: {error}") from error


def _accepts_all(forest: Any) -> bool:
    """Return whether a forest accepts every row; raise InputError if it rejects every row."""
    if not is_forest(forest):
        raise UnsupportedModelError(
            "plausibility needs a fitted IsolationForest or a fitted Pipeline that ends with one, "
            f"got {type(forest).__name__}."
        )
    alike = decides_alike(forest)
    if alike is False:
        last = last_step(forest) if is_pipeline(forest) else forest
        raise InputError(
            f"the isolation forest rejects every row (offset_={last.offset_:g}). Fit it with a "
            "contamination of at most 0.5."
        )
    return alike is not None


def _further(model: Any, at: int, main: Reading) -> Wanted:
    """Return a further model under which answers must hold."""
    name = f"also[{at}] ({type(model).__name__})"
    reading = _read(model, name)
    if reading.ensemble.regression != main.ensemble.regression:
        kinds = "classifier", "regressor"
        explained, further = kinds[main.ensemble.regression], kinds[reading.ensemble.regression]
        raise InputError(
            f"{name} is a {further}, but the explained model is a {explained}. Pass only "
            f"{explained}s in also."
        )
    if reading.ensemble.blend is not None:
        raise UnsupportedModelError(
            f"{name} combines several score sums (as soft voting of boosted models does), which is "
            "supported for the explained model only. Explain this model, and pass the other in "
            "also."
        )
    if reading.ensemble.regression:
        return Wanted(reading, classes=(0,))
    missing = [label for label in main.native.classes if not _knows(reading, label)]
    if missing:
        raise InputError(
            f"{name} does not know the class {missing[0]!r}, only "
            f"{', '.join(map(repr, reading.native.classes))}. Fit it on the same labels."
        )
    return Wanted(reading, tuple(reading.native.class_index(each) for each in main.native.classes))


def _knows(reading: Reading, label: Any) -> bool:
    try:
        reading.native.class_index(label)
    except InputError:
        return False
    return True
