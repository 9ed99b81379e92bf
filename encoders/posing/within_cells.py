"""The cheapest numbers within given intervals that keep some sums, in exact arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from encoders.query.conditions import written
from encoders.query.cost import LARGEST

NEAR = 3  # float64 to each side of the exact number; further ones are not closer in any digit
MOST_FREE = 6  # numbers that are rounded in all ways together


@dataclass(frozen=True)
class Span:
    """A number that may move.

    Attributes
    ----------
    before : the query's, NaN if it is missing
    low, high : ends of the interval
    unit : cost of moving by 1, or of moving at all (power 0)
    """

    before: float
    low: float
    high: float
    unit: float


Limit = tuple[list[Fraction], Fraction]  # factors of the numbers, and what their sum is at most


class UnrepresentableError(ArithmeticError):
    """No float64 numbers near the exact optimum were found that keep the sums."""


def cheapest_numbers(
    spans: Sequence[Span], limits: Sequence[Limit], power: float, aggregate: str
) -> list[float] | None:
    """Return numbers of least cost; None if there are none.

    A single number is found exactly among all float64. Several numbers are found by Z3 as an exact
    rational optimum, and rounded to float64 that keep the sums as written.
    """
    if len(spans) == 1:
        return _single_number(spans[0], [(factors[0], most) for factors, most in limits])
    import z3  # takes a while

    optimizer = z3.Optimize()
    numbers = [z3.Real(f"x{i}") for i in range(len(spans))]
    costs: list[Any] = []
    for number, span in zip(numbers, spans, strict=True):
        optimizer.add(number >= _exact(span.low), number <= _exact(span.high))
        if span.before == span.before:
            before, unit = _exact(span.before), _exact(span.unit)
            distance = z3.If(number >= before, number - before, before - number)
            moved = z3.If(number == before, z3.RealVal(0), z3.RealVal(1))
            costs.append(unit * (moved if power == 0 else distance))
    for factors, most in limits:
        terms = [_exact(f) * x for f, x in zip(factors, numbers, strict=True) if f]
        optimizer.add((z3.Sum(terms) if terms else z3.RealVal(0)) <= _exact(most))
    if aggregate == "max" and costs:
        largest = z3.Real("largest")
        optimizer.add(*(largest >= cost for cost in costs))
        optimizer.minimize(largest)
    elif costs:
        optimizer.minimize(z3.Sum(costs))
    answer = optimizer.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:  # it gave up, which says nothing
        raise UnrepresentableError
    model = optimizer.model()
    exact = [_fraction(model.eval(number, model_completion=True)) for number in numbers]
    return _rounded(exact, spans, limits)


def _single_number(span: Span, limits: Sequence[tuple[Fraction, Fraction]]) -> list[float] | None:
    """Return the float64 nearest to the query's that keeps all limits; None if none does."""
    low, high = span.low, span.high
    for factor, most in limits:
        if factor > 0:
            high = min(high, _last_written(most / factor))
        elif factor < 0:
            low = max(low, -_last_written(-most / factor))
        elif most < 0:
            return None
    near = span.before if span.before == span.before else 0.0
    return [min(max(near, low), high)] if low <= high else None


def _last_written(bound: Fraction) -> float:
    """Return the largest float64 that is written as a decimal of at most the bound."""
    if abs(bound) > LARGEST:
        return LARGEST if bound > 0 else -float(np.inf)
    number = float(bound)
    while written(number) > bound:
        number = float(np.nextafter(number, -np.inf))
    while number < LARGEST and written(beyond := float(np.nextafter(number, np.inf))) <= bound:
        number = beyond
    return number


def _exact(number: float | Fraction) -> Any:
    import z3

    value = written(number) if isinstance(number, float) else number
    return z3.Q(value.numerator, value.denominator)


def _fraction(value: Any) -> Fraction:
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _rounded(
    exact: Sequence[Fraction], spans: Sequence[Span], limits: Sequence[Limit]
) -> list[float]:
    """Return the float64 numbers nearest to the exact ones that keep the sums."""
    choices = []
    for value, span in zip(exact, spans, strict=True):
        near = [float(value)]
        for way in (-np.inf, np.inf):
            beside = near[0]
            for _ in range(NEAR):
                beside = float(np.nextafter(beside, way))
                near.append(beside)
        # A whole number of steps in all numbers at once keeps differences, which matter most.
        inside = [v for v in near if span.low <= v <= span.high]
        choices.append(inside or [min(max(near[0], span.low), span.high)])
    if len(exact) > MOST_FREE:
        choices = [_safe(own, i, limits) for i, own in enumerate(choices)]
    tries = sorted(
        product(*choices),
        key=lambda row: sum(abs(written(x) - e) for x, e in zip(row, exact, strict=True)),
    )
    for row in tries:
        if all(_keeps(row, limit) for limit in limits):
            return list(row)
    raise UnrepresentableError


def _safe(near: list[float], index: int, limits: Sequence[Limit]) -> list[float]:
    """Return one number as a list: the one that lowers every sum most, else the nearest."""
    signs = {factors[index] > 0 for factors, _ in limits if factors[index]}
    if signs == {True}:
        return [min(near)]
    if signs == {False}:
        return [max(near)]
    return near[:1]


def _keeps(row: Sequence[float], limit: Limit) -> bool:
    factors, most = limit
    return sum((f * written(x) for f, x in zip(factors, row, strict=True)), Fraction(0)) <= most
