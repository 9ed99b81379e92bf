"""What a diagram costs, and what it is compared with."""

import math

import pytest

from selector.diagram import Diagram, Leaf
from selector.learning.policies import baselines, follow


def test_backends_that_the_logs_lack_are_passed_over(six_sets):
    schedule = ((("maxsat",), 1.0), (("cp",), math.inf))
    assert follow(Diagram((Leaf(schedule),)), six_sets).wall == pytest.approx(5.001)


def test_the_paper_s_backend_is_no_baseline_where_it_may_not_be_picked():
    assert "always cp" not in baselines(("search", "milp"))
