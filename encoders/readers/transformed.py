"""Reader of TransformedTargetRegressor: the user's inverse of a transformed target, as a link."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import predictor
from encoders.readers.read import native_leaves
from encoders.readers.reader import Reader, ReadMember
from encoders.readers.refusals import first_line, require_fitted, several_outputs
from encoders.trees.arithmetic import SINGLE, Link
from encoders.trees.crossings import LimitTests, OutputsOf, find_crossings, unsure_around
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import floats, ordered

Inverse = Callable[[FloatArray], FloatArray]

GRID = 4097  # raw predictions at which an inverse is checked
ALONE = 33  # raw predictions of the grid that are also transformed one by one
NEIGHBOURS = 8  # floats on either side of a raw prediction that contribute to its limits
BACK = 4.0  # slack of limits, as a multiple of the largest step back among neighbours
SINGLE_APART = 2**29  # float64 values from one float32 to the next
LAST_BITS = 2.0**-40  # largest relative step back between points of the grid
SUBJECT = "the inverse of the target, in a TransformedTargetRegressor,"
REMEDY = (
    "Use a transformation of one number that only rises or only falls, or explain the regressor_ "
    "instead, whose predictions are not transformed back."
)


@dataclass(frozen=True, eq=False)
class InverseLink(Link):
    """Link that applies an inverse to the output of another link.

    Attributes
    ----------
    inner : link of the raw prediction.
    inverse : function from raw predictions to predictions, float64 (n,) both.
    low, high : ends of the raw predictions for which the inverse is defined and monotone.
    falls : whether predictions fall where raw predictions rise.
    share : relative difference of a prediction due to other rows in the same call.
    values : predictions at some raw predictions, float64 (n,); fingerprint of the inverse.
    """

    inner: Link = field(default_factory=lambda: Link("mean"))
    inverse: Inverse = field(default=np.asarray, metadata={"fingerprint": False})
    low: float = -math.inf
    high: float = math.inf
    falls: bool = False
    share: float = 0.0
    values: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def raw(self) -> Link:
        """The link of the raw prediction."""
        return self.inner

    def weights(self, n_sums: int, output: int) -> FloatArray:
        """Return the inner link's factors of the sums, negated if predictions fall."""
        weights = self.inner.weights(n_sums, output)
        return -weights if self.falls else weights

    def least(self, low: float, n_sums: int, sure: bool = False) -> float:
        """Return the least sum as :meth:`Link.least` does."""
        if math.isinf(low):
            return low
        bound = low + (abs(low) if sure else -abs(low)) * self.share
        raw = self._limit(lambda x: -self.inverse(x), -bound, sure)
        if math.isinf(raw):
            return -math.inf if raw > 0 else math.inf
        if self.falls:
            return -self.inner.most(raw, n_sums, sure)
        return self.inner.least(raw, n_sums, sure)

    def most(self, high: float, n_sums: int, sure: bool = False) -> float:
        """Return the largest sum as :meth:`Link.most` does."""
        if math.isinf(high):
            return high
        bound = high + (-abs(high) if sure else abs(high)) * self.share
        raw = self._limit(self.inverse, bound, sure)
        if math.isinf(raw):
            return raw
        if self.falls:
            return -self.inner.least(raw, n_sums, sure)
        return self.inner.most(raw, n_sums, sure)

    def _limit(self, output: Inverse, bound: float, sure: bool) -> float:
        """Return the first or last raw prediction whose output may be at most a bound.

        It surely is if ``sure``. Return inf if it is for every raw prediction, -inf if for none.
        """
        test, ends = _test(bound), np.array([self.low, self.high])
        crossing = find_crossings(_outputs_of(output), test, {0: ends})
        if np.isinf(crossing.last[0]):
            near = output(self._near(ends).ravel()) <= bound
            always = bool(near.all() if sure else near.any())  # an end may be next to the limit
            return math.inf if always else -math.inf
        after, until, wide = unsure_around(_outputs_of(output), test, crossing, {0: ends})
        if wide[0]:
            raise UnsupportedModelError(f"{SUBJECT} is not monotone. {REMEDY}")
        if crossing.falls[0]:  # from not reached to reached
            return float(until[0] if sure else np.nextafter(after[0], np.inf))
        return float(after[0] if sure else until[0])

    def _near(self, raw: FloatArray) -> FloatArray:
        """Return raw predictions and their neighbours in their type, float64 (n_near, n)."""
        away = np.arange(-NEIGHBOURS, NEIGHBOURS + 1)[:, None]
        one = SINGLE_APART if self.inner.unit == SINGLE else 1
        return np.clip(floats(ordered(raw) + one * away), self.low, self.high)

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on predictions, float64 (n_rows,) each."""
        ends = np.array(self.inner.limits(sums, output, band))
        raw = self._near(np.clip(ends, self.low, self.high).ravel())
        values = self.inverse(raw.ravel()).reshape(-1, *ends.shape)
        with np.errstate(invalid="ignore"):  # inf less inf
            steps = np.nan_to_num(np.diff(values, axis=0), nan=0.0)
        back = BACK * np.maximum(steps if self.falls else -steps, 0.0).max(axis=0)
        if self.share:
            back += self.share * np.abs(values).max(axis=0)
        least, most = values.min(axis=0) - back, values.max(axis=0) + back
        first, last = (1, 0) if self.falls else (0, 1)
        unknown = (ends[0] < self.low) | (ends[1] > self.high)
        return np.where(unknown, -np.inf, least[first]), np.where(unknown, np.inf, most[last])


def inverse_link(inner: Link, inverse: Inverse, low: float, high: float) -> InverseLink:
    """Return the link of a transformed target."""
    grid = np.linspace(low, high, GRID)
    values = _applied(inverse, grid)
    share = _share_beside(inverse, grid, values)
    defined = np.flatnonzero(~np.isnan(values))
    if defined.size == 0 or defined.size != defined[-1] - defined[0] + 1:
        raise UnsupportedModelError(
            f"{SUBJECT} returns NaN for raw predictions between {low:g} and {high:g}. {REMEDY}"
        )
    low, high = _defined(inverse, grid, defined)
    grid, values = grid[defined], values[defined]
    with np.errstate(invalid="ignore"):  # inf less inf
        steps = np.nan_to_num(np.diff(values), nan=0.0)
    slack = LAST_BITS * np.maximum(np.abs(values[:-1]), np.abs(values[1:]))
    falls = bool(values[-1] < values[0])
    wrong = np.flatnonzero((-steps if not falls else steps) > slack)
    if wrong.size:
        raise UnsupportedModelError(
            f"{SUBJECT} is not monotone between {grid[wrong[0]]:g} and "
            f"{grid[wrong[0] + 1]:g}. {REMEDY}"
        )
    return InverseLink(
        kind="inverse",
        unit=inner.unit,
        inner=inner,
        inverse=inverse,
        low=low,
        high=high,
        falls=falls,
        share=share,
        values=values,
    )


def _applied(inverse: Inverse, raw: FloatArray) -> FloatArray:
    try:
        values = inverse(raw)
    except Exception as error:  # code of the user
        raise UnsupportedModelError(
            f"{SUBJECT} fails for raw predictions between {raw[0]:g} and {raw[-1]:g} "
            f"({first_line(error)}). {REMEDY}"
        ) from error
    if values.shape != raw.shape:
        raise UnsupportedModelError(
            f"{SUBJECT} returns {values.size} numbers for {raw.size} raw predictions. {REMEDY}"
        )
    return values


def _share_beside(inverse: Inverse, grid: FloatArray, values: FloatArray) -> float:
    """Return the relative difference of a prediction due to other rows in the same call.

    Functions of numpy may compute the last bits differently for several numbers than for one.
    """
    some = np.linspace(0, grid.size - 1, ALONE).astype(np.int64)
    alone = np.array([_applied(inverse, grid[[at]])[0] for at in some])
    turned = _applied(inverse, grid[::-1])[::-1]
    first, second = np.concatenate([values[some], values]), np.concatenate([alone, turned])
    other = ~((first == second) | (np.isnan(first) & np.isnan(second)))
    if not other.any():
        return 0.0
    with np.errstate(all="ignore"):
        share = np.abs(first[other] - second[other]) / np.abs(first[other])
    if not (share <= LAST_BITS).all():
        raise UnsupportedModelError(
            f"{SUBJECT} returns different numbers for a row depending on the other rows. {REMEDY}"
        )
    return BACK * float(share.max())


def _defined(inverse: Inverse, grid: FloatArray, defined: IntArray) -> tuple[float, float]:
    """Return the first and the last raw prediction for which the inverse is not NaN."""
    outputs_of = _outputs_of(lambda raw: np.isnan(inverse(raw)).astype(np.float64))
    first, last = int(defined[0]), int(defined[-1])
    low, high = float(grid[first]), float(grid[last])
    if first > 0:
        below = find_crossings(outputs_of, _test(0.5), {0: grid[first - 1 : first + 1]}).last
        low = float(floats(ordered(below) + 1)[0])
    if last < grid.size - 1:
        high = float(find_crossings(outputs_of, _test(0.5), {0: grid[last : last + 2]}).last[0])
    return low, high


def _test(bound: float) -> LimitTests:
    """Return the test whether the only function of the only column is at most a bound."""
    only = np.zeros(1, dtype=np.int64)
    return LimitTests(only, only, np.array([bound]))


def _outputs_of(function: Inverse) -> OutputsOf:
    return lambda numbers: {at: function(each)[:, None] for at, each in numbers.items()}


@dataclass(frozen=True, eq=False)
class TargetInverse:
    """Function that a TransformedTargetRegressor applies to its raw predictions."""

    transformer: Any  # fitted transformer of the target
    dtype: np.dtype[Any]  # type of the raw predictions, float32 or float64

    def __call__(self, raw: FloatArray) -> FloatArray:
        """Return predictions, float64 (n,)."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = self.transformer.inverse_transform(raw.astype(self.dtype).reshape(-1, 1))
        return np.asarray(values).astype(np.float64).ravel()


def read_transformed(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``TransformedTargetRegressor``.

    Its ``predict`` applies ``transformer_.inverse_transform`` to the predictions of ``regressor_``
    (``sklearn/compose/_target.py``), which is the user's ``inverse_func`` or a transformer.
    """
    require_fitted(model, "regressor_")
    ensemble = read(model.regressor_)
    link = ensemble.link
    if not ensemble.regression:
        raise several_outputs("regressor")
    if not isinstance(link, Link):
        name = type(predictor(model.regressor_)).__name__
        raise UnsupportedModelError(
            f"a transformed target around a {name} is not supported, because it predicts a median "
            "or a quantile. Fit it to the transformed target and explain it alone."
        )
    dtype = np.dtype(np.float32 if link.unit == SINGLE else np.float64)
    low, high = raw_range(ensemble, link)
    return replace(
        ensemble, link=inverse_link(link, TargetInverse(model.transformer_, dtype), low, high)
    )


def raw_range(ensemble: Ensemble, link: Link, output: int = 0) -> tuple[float, float]:
    """Return a lower and an upper bound on all numbers that a link computes for one output."""
    leaf, score, root = (ensemble.column < 0)[:, None], ensemble.score, ensemble.root
    least = np.minimum.reduceat(np.where(leaf, score, np.inf), root).sum(axis=0)
    most = np.maximum.reduceat(np.where(leaf, score, -np.inf), root).sum(axis=0)
    sums = ensemble.bias + np.array([least, most])
    low, high = link.limits(sums, output, ensemble.rounding.sums)
    largest = float(np.finfo(np.float32 if link.unit == SINGLE else np.float64).max)
    return float(max(low[0], -largest)), float(min(high[1], largest))


class TransformedReader(Reader):
    """Reader of regressors of a transformed target."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_transformed`."""
        return read_transformed(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, None, str]]:
        """Yield the regressor."""
        require_fitted(model, "regressor_")
        yield model.regressor_, None, "regressor"

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the regressor."""
        return native_leaves(model.regressor_, rows)


READERS: dict[str, Reader] = {"TransformedTargetRegressor": TransformedReader()}
