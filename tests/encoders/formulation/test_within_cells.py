"""One number in a sum: exact among all float64, by a scan of those around the bound."""

from fractions import Fraction

import numpy as np
import pytest

from encoders.formulation.sum_levels import Span, cheapest_numbers


def around(value, steps=6):
    """Float64 next to a number, ascending."""
    found = [value]
    for _ in range(steps):
        found = [float(np.nextafter(found[0], -np.inf)), *found]
        found = [*found, float(np.nextafter(found[-1], np.inf))]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_single_number_is_the_nearest_that_keeps_the_sums(seed):
    rng = np.random.default_rng(seed)
    factor = Fraction(repr(float(rng.choice([3, 0.7, -3, 1 / 3, -0.25, 7e-5]))))
    bound = Fraction(repr(round(float(rng.uniform(-30, 30)), int(rng.integers(0, 3)))))
    both = seed % 2 == 0
    limits = [([factor], bound), *([([-factor], -bound)] if both else [])]
    before = float(rng.uniform(-50, 50))
    span = Span(before, -1e6, 1e6, 1.0)
    if not both and factor * Fraction(repr(before)) <= bound:
        assert cheapest_numbers([span], limits, 1.0, "sum") == [before]
        return
    kept = [
        value
        for value in around(float(bound / factor))
        if all(f * Fraction(repr(value)) <= most for (f,), most in limits)
    ]
    nearest = min(kept, key=lambda value: abs(Fraction(value) - Fraction(before)), default=None)
    found = cheapest_numbers([span], limits, 1.0, "sum")
    assert found == (None if nearest is None else [nearest])


def test_a_single_number_keeps_its_interval():
    limits = [([Fraction(3)], Fraction(12)), ([Fraction(-3)], Fraction(-12))]
    assert cheapest_numbers([Span(1.0, 0.0, 3.9, 1.0)], limits, 0.0, "max") is None
    assert cheapest_numbers([Span(np.nan, 0.0, 5.0, 1.0)], limits, 1.0, "sum") == [4.0]
    assert (
        cheapest_numbers([Span(1.0, 0.0, 5.0, 1.0)], [([Fraction(0)], Fraction(-1))], 1.0, "sum")
        is None
    )
