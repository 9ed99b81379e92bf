"""Pieces of work end once there is no time left, and say no less than whole ones if there is."""

import numpy as np
import pytest

from encoders.core.errors import OutOfTimeError, look, never
from encoders.presolve import compress, incumbent, reduce
from encoders.presolve.bounds import lagrange
from encoders.presolve.bounds.coupling import couple
from encoders.presolve.bounds.lagrange import bound_by_prices
from encoders.presolve.incumbent import find_incumbent
from encoders.problem.flat_problem import tabulate
from encoders.testing.random_problems import random_problem

SEEDS = range(12)


def after(count):
    """A clock that says that time is over once it was asked so often."""
    asked = iter(range(count))
    return lambda: next(asked, None) is None


def test_there_is_time_or_there_is_none():
    look(never)
    over = after(2)
    look(over)
    look(over)
    with pytest.raises(OutOfTimeError):
        look(over)


def test_what_has_no_result_of_its_own_ends_at_any_look():
    problem = random_problem(0, 6, 8)
    tables = tabulate(problem)
    keep, alive = np.ones(problem.cost.size, bool), np.ones(problem.n_leaves, bool)
    for run in (
        lambda over: tabulate(problem, over),
        lambda over: couple(tables, over),
        lambda over: compress.compress(problem, keep, alive, over),
    ):
        looks = 0
        while True:
            try:
                run(after(looks))
                break
            except OutOfTimeError:
                looks += 1
        assert looks >= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_prices_in_pieces_are_those_of_one_call(seed, monkeypatch):
    problem = random_problem(seed, 6, 8)
    if problem.aggregate == "max":
        return
    tables, upper = tabulate(problem), float(problem.cost.sum()) + 1.0
    whole = bound_by_prices(tables, upper)
    monkeypatch.setattr(lagrange, "PIECE", 1)
    pieces = bound_by_prices(tables, upper)
    assert (whole.bound, whole.constant) == (pieces.bound, pieces.constant)
    assert np.array_equal(whole.leaf, pieces.leaf) and np.array_equal(whole.level, pieces.level)
    few = bound_by_prices(tables, upper, over=after(5))
    assert few.bound <= whole.bound


@pytest.mark.parametrize("seed", SEEDS)
def test_walks_in_pieces_end_where_whole_ones_do(seed, monkeypatch):
    problem = random_problem(seed, 6, 8)
    tables, starts = tabulate(problem), np.zeros((1, problem.n_axes), dtype=np.int64)
    whole = find_incumbent(problem, tables, starts)
    monkeypatch.setattr(incumbent, "PIECE", 1)
    monkeypatch.setattr(incumbent, "MANY_LITERALS", 0)
    pieces = find_incumbent(problem, tables, starts)
    assert (whole is None) == (pieces is None)
    for looks in range(40):
        cut = find_incumbent(problem, tables, starts, after(looks))
        assert cut is None or problem.admits(cut)
    if whole is not None:
        assert problem.admits(pieces)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_reduction_without_time_keeps_what_it_has(seed):
    problem = random_problem(seed, 6, 8)
    starts = np.zeros((1, problem.n_axes), dtype=np.int64)
    best = reduce(problem, starts)
    for looks in range(60):
        told = []
        left = reduce(
            problem, starts, on_bounds=lambda *now, told=told: told.append(now), over=after(looks)
        )
        if left.incumbent is not None:
            assert problem.admits(left.incumbent)
            assert left.upper == problem.distance(left.incumbent)
            assert told or left.problem is None
        if left.problem is None and best.problem is None:
            assert left.upper == pytest.approx(best.upper)
