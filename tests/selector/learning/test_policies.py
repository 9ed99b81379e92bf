"""What a diagram costs, and what it is compared with."""

import math

import pytest

from encoders.core.errors import InputError
from selector.diagram import Diagram, Leaf, Split
from selector.learning.policies import baselines, follow, missing_runs
from selector.schedule import alone


def test_a_diagram_that_picks_a_backend_without_runs_has_no_time(six_sets):
    diagram = Diagram((Leaf(((("maxsat",), 1.0), (("cp",), math.inf))),))
    assert missing_runs(diagram, six_sets) == ["maxsat"]
    with pytest.raises(InputError, match="picks maxsat, of which the logs hold no run"):
        follow(diagram, six_sets)


def test_backends_that_no_row_is_given_need_no_runs(six_sets):
    never = Split("left_options", 1e9, 1, 2)
    diagram = Diagram((never, Leaf(alone("cp")), Leaf(alone("maxsat"))))
    assert follow(diagram, six_sets).wall == pytest.approx(5.001)


def test_the_paper_s_backend_is_no_baseline_where_it_may_not_be_picked():
    assert "always cp" not in baselines(("search", "milp"))
