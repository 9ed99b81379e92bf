"""Native models that remember their predictions of some rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.query.goal import ClassGoal, Goal, Scale
from encoders.trees.wrappers import is_pipeline, last_step
from portfolio.model.native import NativeModel

Said = Mapping[bytes, float]  # keyed by the bytes of a float64 row


@dataclass(frozen=True, eq=False)
class RememberedModel(NativeModel):
    """Native model that is called only for rows without remembered predictions.

    Attributes
    ----------
    number : scale and output of the remembered number.
    remembered : the number, by row.
    labels : remembered class indices, by row.
    """

    number: tuple[Scale, int] = ("probability", 0)
    remembered: Said = field(default_factory=dict)
    labels: Mapping[bytes, int] = field(default_factory=dict)

    @property
    def likeliest(self) -> bool:
        """False, as probabilities are not requested together with remembered predictions."""
        return False

    def values(self, rows: FloatArray, scale: Scale, output: int) -> FloatArray:
        """See :class:`NativeModel`."""
        numbers = [self.remembered.get(row.tobytes()) for row in rows]
        if (scale, output) != self.number or None in numbers:
            return super().values(rows, scale, output)
        return np.array(numbers, dtype=np.float64)

    def predict(self, rows: FloatArray) -> IntArray:
        """See :class:`NativeModel`."""
        labels = [self.labels.get(row.tobytes()) for row in rows]
        return super().predict(rows) if None in labels else np.array(labels, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RememberedForest(NativeModel):
    """Isolation forest that is called only for rows without remembered scores.

    Attributes
    ----------
    remembered : its scores, by row.
    """

    remembered: Said = field(default_factory=dict)

    def predict(self, rows: FloatArray) -> IntArray:
        """Return class indices from scores and ``offset_``, as its own ``predict`` does."""
        scores = [self.remembered.get(row.tobytes()) for row in rows]
        if None in scores:
            return super().predict(rows)
        forest = last_step(self.model) if is_pipeline(self.model) else self.model
        outlier = np.array(scores, dtype=np.float64) - forest.offset_ < 0
        return np.where(outlier, self.classes.index(-1), self.classes.index(1))


def remembering(native: NativeModel, rows: FloatArray, goal: Goal) -> RememberedModel:
    """Return a native model that remembers the goal's class or number of some rows."""
    attributes = _fields(native)
    if isinstance(goal, ClassGoal):
        labels = native.predict(rows).tolist() if len(rows) else []
        return RememberedModel(**attributes, labels=_by_row(rows, labels))
    number = (goal.scale, goal.output)
    values = native.values(rows, *number).tolist() if len(rows) else []
    return RememberedModel(**attributes, number=number, remembered=_by_row(rows, values))


def native_scores_by_row(forest: NativeModel, rows: FloatArray) -> Said:
    """Return an isolation forest's scores of some rows, by row, from one call."""
    return _by_row(rows, forest.isolation(rows).tolist() if len(rows) else [])


def remembering_scores(forest: NativeModel, scores: Said) -> RememberedForest:
    """Return the same forest with remembered scores."""
    return RememberedForest(**_fields(forest), remembered=scores)


def _by_row(rows: FloatArray, values: list[Any]) -> dict[bytes, Any]:
    return {row.tobytes(): one for row, one in zip(rows, values, strict=True)}


def _fields(native: NativeModel) -> dict[str, Any]:
    return {each.name: getattr(native, each.name) for each in fields(NativeModel)}
