"""A line is on its side of a curve's limits beside the corners that rounding moves, too."""

import numpy as np
import pytest

from encoders.formulation.relaxation import line_above, line_below
from encoders.trees.arithmetic import DOUBLE, SINGLE
from encoders.trees.blend import Curve, Step

BESIDE = np.outer([1e-5, 1e-7, 1e-12], np.linspace(-1, 1, 101)).ravel()


@pytest.mark.parametrize("unit", [SINGLE, DOUBLE])
def test_lines_hold_where_a_calibrator_bends_what_was_rounded_before(unit):
    rng = np.random.default_rng(0)
    for _ in range(40):
        x, y = np.sort(rng.random(6)), np.sort(rng.random(6))
        x[3] = x[2] + 1e-9  # as good as a jump
        before = (Step("scale", 1.3, error=8.0 * unit), Step("sigmoid", error=32.0 * unit))
        curve = Curve((*before, Step("points", error=32.0 * unit, x=x, y=y)), unit)
        low = float(rng.normal())
        high = low + float(10.0 ** rng.uniform(-4, 1))
        corners = (np.log(x) - np.log1p(-x)) / 1.3
        near = (corners[:, None] + BESIDE).ravel()
        given = np.append(np.linspace(low, high, 500), near[(low <= near) & (near <= high)])
        least, most = curve.limits(given)
        for at in (low, high, (low + high) / 2):
            slope, level = line_above(curve, low, high, at)
            assert (slope * given + level >= most).all()
            slope, level = line_below(curve, low, high, at)
            assert (slope * given + level <= least).all()


def test_the_curvature_of_a_flat_sigmoid_after_an_unknown_slope_is_unknown():
    steep = (Step("logit", shift=1e-12), Step("scale", 1e4), Step("sigmoid"))
    assert np.isinf(Curve(steep).bends(np.linspace(0.0, 1.0, 9))).all()
