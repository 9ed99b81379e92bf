"""How often diagrams name the fastest formulation."""

import pytest

from portfolio.bench.paper.accuracy import judged, leaves

SECONDS = {"cp": (1.0, 0.9), "milp": (4.0, 0.1), "maxsat": (9.0, 8.0)}  # of all, of solving alone


@pytest.fixture
def frame(frame_of):
    return frame_of(
        *(
            (f"q{at}", backend, total_s, {"solve_s": solve_s, "group": f"set{at % 2}"})
            for at in range(6)
            for backend, (total_s, solve_s) in SECONDS.items()
        )
    )


@pytest.mark.slow
def test_each_query_counts_with_all_its_seconds_and_with_those_of_solving(frame):
    fastest = {leaf.backend: leaf.fastest for leaf in leaves(frame)}
    assert fastest == {"cp": 0.5, "milp": 0.5, "maxsat": 0.0}
    assert {each.accuracy.count for each in judged(frame)} == {2 * 6}
