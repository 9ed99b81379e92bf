"""What a change costs: equations (8) and (9) of the paper, per feature ``alpha_f * delta_f``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.query.admissible import Admissible
from encoders.query.features import Feature, FeatureSpace, parse_value
from encoders.query.names import feature_name

Scale = Literal["range", "std", "mad", "none"]
SCALES: tuple[Scale, ...] = ("range", "std", "mad", "none")
LARGEST = float(np.finfo(np.float64).max)
# Beyond these sums of costs overflow, or vanish; see docs/exactness.md.
SMALLEST_WEIGHT, LARGEST_WEIGHT, LARGEST_POWER = 1e-100, 1e100, 100.0
CostFunction = Callable[[str, Any, Any], float]
FeatureCost = Mapping[Any, float] | Callable[[Any, Any], float]
Norm = float | str | CostFunction | Mapping[str, FeatureCost]


@dataclass(frozen=True)
class Cost:
    """A separable cost of moving features.

    Attributes
    ----------
    power : p of ``(|change| / unit) ** p``; 0 counts changes, inf is linear
    aggregate : "sum", or "max" for L-infinity
    unit : float64 per feature, the change that costs 1 (before weighting)
    weight : float64 per feature, alpha_f
    own : per feature None, a table {value: cost} or a function (from, to) -> cost
    """

    power: float
    aggregate: Literal["sum", "max"]
    unit: tuple[float, ...]
    weight: tuple[float, ...]
    own: tuple[FeatureCost | None, ...]

    def table(self, index: int) -> Mapping[Any, float] | None:
        """The user's cost table of a feature, if it has one."""
        own = self.own[index]
        return own if isinstance(own, Mapping) else None

    def of(
        self,
        index: int,
        feature: Feature,
        start: float,
        values: FloatArray,
        admissible: Admissible | None = None,
    ) -> FloatArray:
        """Cost of moving feature ``index`` from ``start`` to each of ``values``, float64.

        Staying costs nothing, and a missing value, or a code for one, is filled in at the feature's
        ``missing_cost`` unless the user has costs of his own for it. To become a code costs 1
        unless AllowMissing or the user's own costs say otherwise. For a function of the user the
        value nearest to the query stands for its whole interval, so costs must not fall with
        distance.
        """
        own = self.own[index]
        if own is None:
            cost = self._delta(index, feature, start, values)
        elif callable(own):
            cost = _asked(own, feature, start, values)
        else:
            priced = _parse_table(feature, own)
            free = (values == start) | np.isnan(values)
            if admissible is not None and admissible.code_cost is not None:
                free |= np.isin(values, feature.codes)
            cost = np.array(
                [0.0 if f else priced[float(v)] for f, v in zip(free, values, strict=True)]
            )
        try:
            cost = cost.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the cost of feature {feature.name} must be one number for every value; {error}."
            ) from error
        if admissible is not None and admissible.code_cost is not None:
            becomes = np.isin(values, feature.codes) & (values != start)
            cost = np.where(becomes, admissible.code_cost, cost)
        missing = None if admissible is None else admissible.missing
        if missing is not None or start != start:  # else there is no NaN among the values
            nothing = 0.0 if np.isnan(start) or missing is None else missing
            cost = np.where(np.isnan(values), nothing, cost)
        fits = (cost >= 0) & (cost <= LARGEST_WEIGHT)
        if not fits.all():
            raise InputError(
                f"the cost of feature {feature.name} must be from 0 to {LARGEST_WEIGHT:g} for "
                f"every value; got {cost[~fits][0]:g}."
            )
        weighted: FloatArray = self.weight[index] * cost
        return weighted

    def _delta(self, index: int, feature: Feature, start: float, values: FloatArray) -> FloatArray:
        changed: FloatArray = (values != start).astype(np.float64)
        is_code = np.isin(values, feature.codes) if feature.codes else None
        if start != start or start in feature.codes:
            filled = changed * feature.missing_cost
            return filled if is_code is None else np.where(is_code, changed, filled)
        if feature.kind in ("categorical", "binary") or self.power == 0:
            return changed
        distance = np.abs(values - start) / self.unit[index]
        powered: FloatArray = distance if np.isinf(self.power) else distance**self.power
        return powered if is_code is None else np.where(is_code, changed, powered)


def _asked(
    own: Callable[[Any, Any], Any], feature: Feature, start: float, values: FloatArray
) -> "np.ndarray[Any, Any]":
    """What the user's function says; it gets None for a query's value that is missing."""
    free = (values == start) | np.isnan(values)
    try:
        costs = [
            0.0 if unmoved else own(feature.show(start), feature.show(value))
            for unmoved, value in zip(free, values, strict=True)
        ]
    except Exception as error:
        if start == start:
            raise  # not NaN: the user's own error, as it is
        raise InputError(
            f"the cost function of feature {feature.name} fails where the query has no value "
            f"({type(error).__name__}: {error}); it is given None for that value then."
        ) from error
    return np.array(costs, dtype=object)


def _parse_table(feature: Feature, table: Mapping[Any, float]) -> dict[float, float]:
    where = f"cost table of {feature.name}"
    priced: dict[float, float] = {}
    for value, cost in table.items():
        number = parse_value(feature, value, where)
        try:
            priced[number] = float(cost)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the {where} must hold one number per value, got {cost!r} for {value!r}."
            ) from error
    return priced


def table_values(feature: Feature, table: Mapping[Any, float]) -> tuple[float, ...]:
    """The values a cost table lists, as numbers, ascending."""
    return tuple(sorted(_parse_table(feature, table)))


def make_cost(
    space: FeatureSpace,
    norm: Norm,
    scale: str,
    weights: Mapping[str, float] | Sequence[float] | None,
) -> Cost:
    """Check the user's cost and bind it to the features."""
    power, own = _parse_norm(space, norm)
    if scale not in SCALES:
        raise InputError(f"unknown scale {scale!r}; known are {', '.join(SCALES)}.")
    return Cost(
        power=power,
        aggregate="max" if np.isinf(power) else "sum",
        unit=tuple(_unit(feature, scale) for feature in space.features),
        weight=_parse_weights(space, weights),
        own=own,
    )


def _parse_norm(space: FeatureSpace, norm: Norm) -> tuple[float, tuple[FeatureCost | None, ...]]:
    none = (None,) * len(space.features)
    if isinstance(norm, Mapping):
        norm = {feature_name(name): own for name, own in norm.items()}
        unknown = [name for name in norm if space.named(name) is None]
        if unknown:
            raise InputError(f"the cost mapping names {unknown[0]!r}, which is no feature.")
        wrong = [n for n, own in norm.items() if not (callable(own) or isinstance(own, Mapping))]
        if wrong:
            raise InputError(f"the cost of {wrong[0]!r} must be a table or a function (from, to).")
        return 1.0, tuple(norm.get(feature.name) for feature in space.features)
    if callable(norm):
        return 1.0, tuple(_bind(norm, feature.name) for feature in space.features)
    try:
        power = float(norm)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"norm {norm!r} is not known; use any p from 0 to 100, 'inf', a function "
            "(feature, from, to) or a mapping {feature: table or function}."
        ) from error
    if not (0 <= power <= LARGEST_POWER or np.isinf(power)) or power < 0:
        raise InputError(f"norm must be from 0 to {LARGEST_POWER:g}, or 'inf', got {norm!r}.")
    return power, none


def _bind(function: CostFunction, name: str) -> Callable[[Any, Any], float]:
    return lambda start, value: function(name, start, value)


def _unit(feature: Feature, scale: str) -> float:
    """The change of a numeric or ordinal feature that costs 1; 1 where there is no spread."""
    spread = {
        "range": feature.upper - feature.lower,
        "std": feature.std,
        "mad": feature.mad or feature.std,
        "none": 1.0,
    }[scale]
    if np.isnan(spread):
        raise InputError(
            f"scale {scale!r} needs training rows, and the explainer has none; use 'range'."
        )
    return spread if spread > 0 and np.isfinite(spread) else 1.0


def _parse_weights(
    space: FeatureSpace, weights: Mapping[str, float] | Sequence[float] | None
) -> tuple[float, ...]:
    names = [feature.name for feature in space.features]
    if weights is None:
        return (1.0,) * len(names)
    if hasattr(weights, "to_dict"):  # a Series of pandas, which need not be imported
        weights = weights.to_dict()
    if isinstance(weights, str) or not isinstance(weights, Iterable):
        raise InputError(f"weights must be a mapping or one number per feature, got {weights!r}.")
    if isinstance(weights, Mapping):
        weights = {feature_name(name): own for name, own in weights.items()}
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise InputError(f"weights name {unknown[0]!r}, which is no feature.")
        given = [weights.get(name, 1.0) for name in names]
    else:
        given = list(weights)
        if len(given) != len(names):
            raise InputError(f"{len(given)} weights for {len(names)} features.")
    for name, weight in zip(names, given, strict=True):
        if not _is_weight(weight):
            raise InputError(
                f"the weight of {name} must be 0 or a number from {SMALLEST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}, got {weight!r}."
            )
    return tuple(float(weight) for weight in given)


def _is_weight(weight: Any) -> bool:
    """Return whether a value is a real number that costs may be multiplied by."""
    if not isinstance(weight, int | float | np.integer | np.floating):
        return False
    value = weight.item() if isinstance(weight, np.generic) else weight
    return bool(value == 0 or SMALLEST_WEIGHT <= value <= LARGEST_WEIGHT)
