"""Reader of ``TransformedTargetRegressor``: a regressor with an inverse of its raw predictions."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.trees.ensemble import Ensemble
from encoders.trees.inverse import inverse_link
from encoders.trees.link import Link
from encoders.trees.members import Reader
from encoders.trees.refusals import require_fitted, several_outputs
from encoders.trees.rounding import SINGLE


@dataclass(frozen=True, eq=False)
class TargetInverse:
    """Function that a TransformedTargetRegressor applies to its raw predictions.

    Attributes
    ----------
    transformer : fitted transformer of the target.
    dtype : type of the raw predictions, float32 or float64.
    """

    transformer: Any
    dtype: np.dtype[Any]

    def __call__(self, raw: FloatArray) -> FloatArray:
        """Return predictions, float64 (n,)."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = self.transformer.inverse_transform(raw.astype(self.dtype).reshape(-1, 1))
        return np.asarray(values).astype(np.float64).ravel()


def read_transformed(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``TransformedTargetRegressor``.

    Its ``predict`` applies ``transformer_.inverse_transform`` to the predictions of ``regressor_``
    (``sklearn/compose/_target.py``), which is the user's ``inverse_func`` or a transformer.
    """
    require_fitted(model, "regressor_")
    ensemble = read(model.regressor_)
    link = ensemble.link
    if not ensemble.regression or not isinstance(link, Link):
        raise several_outputs("regressor")
    dtype = np.dtype(np.float32 if link.unit == SINGLE else np.float64)
    low, high = _raw_range(ensemble, link)
    return replace(
        ensemble, link=inverse_link(link, TargetInverse(model.transformer_, dtype), low, high)
    )


def _raw_range(ensemble: Ensemble, link: Link) -> tuple[float, float]:
    """Return a lower and an upper bound on all raw predictions."""
    leaf, score, root = (ensemble.column < 0)[:, None], ensemble.score, ensemble.root
    least = np.minimum.reduceat(np.where(leaf, score, np.inf), root).sum(axis=0)
    most = np.maximum.reduceat(np.where(leaf, score, -np.inf), root).sum(axis=0)
    sums = ensemble.bias + np.array([least, most])
    low, high = link.limits(sums, 0, ensemble.rounding.sums)
    largest = float(np.finfo(np.float32 if link.unit == SINGLE else np.float64).max)
    return float(max(low[0], -largest)), float(min(high[1], largest))
