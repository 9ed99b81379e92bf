"""The numbers that diagrams split on."""

import math

import pytest

from encoders.problem.descriptors import Shape
from selector.descriptors import NAMES, Case, norm_number
from tests.support.records import ENSEMBLE, LEFT


def test_values_stand_in_the_order_of_their_names():
    assert tuple(Case(ENSEMBLE, "1", False).values(LEFT)) == NAMES


def test_infinite_values_are_minus_one():
    left = Shape(100, 50, 5, 5, 5, 1, 0.5, math.inf)
    assert Case(ENSEMBLE, "1", False).values(left)["left_incumbent"] == -1.0


@pytest.mark.parametrize(("norm", "number"), [("0", 0), ("1.5", 1.5), ("inf", 99), ("mine", -1)])
def test_norms_are_numbers(norm, number):
    assert norm_number(norm) == number


def test_the_metric_is_a_descriptor():
    assert Case(ENSEMBLE, "1", False, "solver").values(LEFT)["solver_only"] == 1.0
