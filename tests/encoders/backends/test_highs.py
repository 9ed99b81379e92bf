"""What HiGHS does that a solver should not, and that we work around."""

from encoders.backends.interface import Request
from encoders.backends.milp.backend import solve
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem


def test_the_number_of_threads_may_change_from_solve_to_solve():
    for seed, threads in enumerate((2, 1, 2, 2, 1, 3)):
        problem = random_problem(seed)
        outcome = solve(problem, Request(60.0, threads, engine="highs"))
        assert outcome.stop_reason == "proved"
        assert abs(outcome.upper - optimum(problem)[0]) < 1e-6 or not outcome.choices
