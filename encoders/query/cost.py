"""Cost of changes: equations (8) and (9) of the paper, per feature ``alpha_f * delta_f``."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.admissible import Admissible
from encoders.query.features import MISSING, Feature, FeatureSpace, parse_value
from encoders.query.names import feature_name

Scale = Literal["range", "std", "mad", "none"]
SCALES: tuple[Scale, ...] = ("range", "std", "mad", "none")
LARGEST = float(np.finfo(np.float64).max)
# Outside these limits, sums of costs overflow or vanish; see docs/internals/constants.md.
SMALLEST_WEIGHT, LARGEST_WEIGHT, LARGEST_POWER = 1e-100, 1e100, 100.0
CostFunction = Callable[[str, Any, Any], float]
FeatureCost = Mapping[Any, float] | Callable[[Any, Any], float]
Norm = float | str | CostFunction | Mapping[str, FeatureCost]


@dataclass(frozen=True)
class Cost:
    """Separable cost of moving features.

    Attributes
    ----------
    power : float, p of ``(|change| / unit) ** p``; 0 counts changes, inf is linear.
    aggregate : "sum", or "max" for L-infinity.
    unit : tuple of float, change of each feature that costs 1 before the weight.
    weight : tuple of float, alpha_f of each feature.
    own : tuple, user-defined cost of each feature: None, a table {value: cost} or a function
        (from, to) -> cost.
    """

    power: float
    aggregate: Literal["sum", "max"]
    unit: tuple[float, ...]
    weight: tuple[float, ...]
    own: tuple[FeatureCost | None, ...]

    def table(self, index: int) -> Mapping[Any, float] | None:
        """Return the user's cost table of a feature, or None."""
        custom = self.own[index]
        return custom if isinstance(custom, Mapping) else None

    def of(
        self,
        index: int,
        feature: Feature,
        start: float,
        values: FloatArray,
        admissible: Admissible | None = None,
    ) -> FloatArray:
        """Return the cost of moving feature ``index`` from ``start`` to each value, float64.

        Staying costs nothing. Filling in a missing value or a code for one costs ``missing_cost``
        of the feature, unless the user defined its cost. Becoming a code costs 1, unless
        AllowMissing or the user defined its cost. A cost function is evaluated at the value of each
        interval that is nearest to the query, so costs must not decrease with distance.
        """
        custom = self.own[index]
        if custom is None:
            cost = self._delta(index, feature, start, values)
        elif callable(custom):
            cost = _function_costs(custom, feature, start, values)
        else:
            priced = _parse_table(feature, custom, start)
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
                f"the cost of feature {feature.name} is not one number for every value ({error}). "
                "Return a number from the cost function."
            ) from error
        if admissible is not None and admissible.code_cost is not None:
            becomes = np.isin(values, feature.codes) & (values != start)
            cost = np.where(becomes, admissible.code_cost, cost)
        missing = None if admissible is None else admissible.missing
        if missing is not None or start != start:  # otherwise no value is NaN
            nothing = 0.0 if np.isnan(start) or missing is None else missing
            cost = np.where(np.isnan(values), nothing, cost)
        fits = (cost >= 0) & (cost <= LARGEST_WEIGHT)
        if not fits.all():
            raise InputError(
                f"the cost of feature {feature.name} must be from 0 to {LARGEST_WEIGHT:g} for "
                f"every value, got {cost[~fits][0]:g}."
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


def _function_costs(
    function: Callable[[Any, Any], Any], feature: Feature, start: float, values: FloatArray
) -> "np.ndarray[Any, Any]":
    """Return the results of the user's cost function, which gets None for a missing query value."""
    free = (values == start) | np.isnan(values)
    try:
        costs = [
            0.0 if unmoved else function(feature.show(start), feature.show(value))
            for unmoved, value in zip(free, values, strict=True)
        ]
    except Exception as error:
        if start == start:
            raise  # the query has a value: pass the user's error on unchanged
        raise InputError(
            f"the cost function of feature {feature.name} fails if the query's value is missing "
            f"({type(error).__name__}: {error}). Handle None as its first value."
        ) from error
    return np.array(costs, dtype=object)


def _parse_table(
    feature: Feature, table: Mapping[Any, float], start: float = MISSING
) -> dict[float, float]:
    where = f"cost table of {feature.name}"
    priced: dict[float, float] = {}
    for value, cost in table.items():
        number = parse_value(feature, value, where, start)
        try:
            priced[number] = float(cost)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the {where} must contain one number per value, got {cost!r} for {value!r}."
            ) from error
    return priced


def table_values(
    feature: Feature, table: Mapping[Any, float], start: float = MISSING
) -> tuple[float, ...]:
    """Return the values that a cost table lists, as numbers in ascending order."""
    return tuple(sorted(_parse_table(feature, table, start)))


def make_cost(
    space: FeatureSpace,
    norm: Norm,
    scale: str,
    weights: Mapping[str, float] | Sequence[float] | None,
) -> Cost:
    """Check the user's norm, scale and weights and bind them to the features."""
    power, custom = _parse_norm(space, norm)
    if scale not in SCALES:
        raise InputError(
            f"unknown scale {scale!r}.{close_names(scale, SCALES)} "
            f"The scales are {', '.join(SCALES)}."
        )
    return Cost(
        power=power,
        aggregate="max" if np.isinf(power) else "sum",
        unit=tuple(_unit(feature, scale) for feature in space.features),
        weight=_parse_weights(space, weights),
        own=custom,
    )


def _parse_norm(space: FeatureSpace, norm: Norm) -> tuple[float, tuple[FeatureCost | None, ...]]:
    none = (None,) * len(space.features)
    if isinstance(norm, Mapping):
        norm = {feature_name(name): cost for name, cost in norm.items()}
        names = [feature.name for feature in space.features]
        for name in norm:
            if name not in names:
                raise _unknown_feature("the cost mapping", name, names)
        for name, cost in norm.items():
            if not (callable(cost) or isinstance(cost, Mapping)):
                raise InputError(
                    f"the cost of {name!r} must be a table {{value: cost}} or a function "
                    f"(from, to), got {cost!r}."
                )
            if isinstance(cost, Mapping) and not cost:
                raise InputError(
                    f"the cost table of {name!r} is empty. Give at least one value a cost, or use "
                    f"Fixed({name!r}) to keep the query's."
                )
            if callable(cost):
                _check_arguments(cost, f"the cost function of {name!r}", ("from", "to"))
        return 1.0, tuple(norm.get(feature.name) for feature in space.features)
    if callable(norm):
        _check_arguments(norm, "the cost function", ("feature", "from", "to"))
        return 1.0, tuple(_bind(norm, feature.name) for feature in space.features)
    try:
        power = math.nan if isinstance(norm, bool) else float(norm)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"unknown norm {norm!r}. Use any p from 0 to 100, 'inf', a function "
            "(feature, from, to) or a mapping {feature: table or function}."
        ) from error
    if not (0 <= power <= LARGEST_POWER or np.isinf(power)) or power < 0:
        raise InputError(f"norm must be from 0 to {LARGEST_POWER:g}, or 'inf', got {norm!r}.")
    return power, none


def _unknown_feature(where: str, name: str, names: Sequence[str]) -> InputError:
    return InputError(
        f"{where} has an unknown feature {name!r}.{close_names(name, names)} "
        f"The features are {', '.join(names)}."
    )


def _check_arguments(function: Callable[..., Any], where: str, names: tuple[str, ...]) -> None:
    """Raise InputError if a function certainly cannot be called with so many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled functions have none
        return
    try:
        signature.bind(*names)
    except TypeError as error:
        raise InputError(
            f"{where} must take the arguments ({', '.join(names)}), got {signature}."
        ) from error


def _bind(function: CostFunction, name: str) -> Callable[[Any, Any], float]:
    return lambda start, value: function(name, start, value)


def _unit(feature: Feature, scale: str) -> float:
    """Return the change of a numeric or ordinal feature that costs 1; 1 without any spread."""
    spread = {
        "range": feature.upper - feature.lower,
        "std": feature.std,
        "mad": feature.mad or feature.std,
        "none": 1.0,
    }[scale]
    if np.isnan(spread):
        raise InputError(
            f"scale {scale!r} needs training rows, but the explainer has none. Use scale='range'."
        )
    return spread if spread > 0 and np.isfinite(spread) else 1.0


def _parse_weights(
    space: FeatureSpace, weights: Mapping[str, float] | Sequence[float] | None
) -> tuple[float, ...]:
    names = [feature.name for feature in space.features]
    if weights is None:
        return (1.0,) * len(names)
    if hasattr(weights, "to_dict"):  # a pandas Series; avoids an import of pandas
        weights = weights.to_dict()
    if isinstance(weights, str) or not isinstance(weights, Iterable):
        raise InputError(f"weights must be a mapping or one number per feature, got {weights!r}.")
    if isinstance(weights, Mapping):
        weights = {feature_name(name): weight for name, weight in weights.items()}
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise _unknown_feature("weights", unknown[0], names)
        per_feature = [weights.get(name, 1.0) for name in names]
    else:
        per_feature = list(weights)
        if len(per_feature) != len(names):
            raise InputError(
                f"weights has {len(per_feature)} numbers, but there are {len(names)} features. "
                "Give one weight per feature, or a mapping {feature: weight}."
            )
    for name, weight in zip(names, per_feature, strict=True):
        if not _is_weight(weight):
            raise InputError(
                f"the weight of {name} must be 0 or a number from {SMALLEST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}, got {weight!r}."
            )
    return tuple(float(weight) for weight in per_feature)


def _is_weight(weight: Any) -> bool:
    """Return whether a value is a number by which costs may be multiplied."""
    if not isinstance(weight, int | float | np.integer | np.floating):
        return False
    value = weight.item() if isinstance(weight, np.generic) else weight
    return bool(value == 0 or SMALLEST_WEIGHT <= value <= LARGEST_WEIGHT)
