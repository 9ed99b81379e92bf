"""Compile, or load, all that reduction and search need, before any clock runs."""

from functools import cache
from threading import Lock

import numpy as np

from encoders.arrays import IntArray, starts
from encoders.backends.interface import Request
from encoders.backends.search.backend import solve
from encoders.backends.search.loop import run_slice
from encoders.backends.search.rising import search_rising
from encoders.backends.search.rising_loop import rising_slice
from encoders.bounds.lagrange import bound_by_prices, drop_by_prices
from encoders.compiled import compile_notice, is_kept
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import LeafRow, LevelRow, Problem
from encoders.reduce.climb import climb, keeping, take_back
from encoders.reduce.incumbent import find_incumbent
from encoders.reduce.tighten import EFFORTS, tighten

WARMING = Lock()


def warm_up(walks: bool = False, fronts: bool = False) -> None:
    """Make sure that no query waits for the compiler; says so where it takes long.

    Without it the first race of a machine is one between a solver and our own compiler, which is
    ended with the race, so that nothing is kept for the next one either. Once per process; threads
    wait for each other.

    Parameters
    ----------
    walks : also what looks for rows that are decided otherwise
    fronts : also what solves several levels of a front together
    """
    with WARMING:
        _once()
        if walks:
            _walks_once()
        if fronts:
            _fronts_once()


@cache
def _once() -> None:
    with compile_notice(is_kept(run_slice)):
        problem = _smallest()
        tables = tabulate(problem)
        keep, alive = np.ones(problem.cost.size, dtype=np.bool_), np.ones(4, dtype=np.bool_)
        find_incumbent(problem, tables, np.zeros((1, 2), dtype=np.int64))
        for effort in EFFORTS:
            tighten(tables, 10.0, keep.copy(), alive.copy(), effort, 100)
        drop_by_prices(tables, bound_by_prices(tables, 10.0), 10.0, keep, alive)
        solve(problem, Request(time_limit_s=1e6, threads=1, cutoff=10.0))


@cache
def _walks_once() -> None:
    with compile_notice(is_kept(climb)):
        tables, levels = tabulate(_smallest()), np.zeros(2, dtype=np.int64)
        climb(tables, levels, np.ones(2, dtype=np.bool_))
        take_back(tables, levels, np.zeros(2, dtype=np.int64), np.arange(2), np.arange(3))
        keeping(tables, levels[None, :])


@cache
def _fronts_once() -> None:
    with compile_notice(is_kept(rising_slice)):
        need = np.ones((1, 1), dtype=np.int64)
        search_rising(_smallest(), need, np.array([10.0]), lambda: False)


def _smallest() -> Problem:
    """Two axes, two trees of two leaves, a row of each kind."""
    two: IntArray = np.arange(0, 5, 2)
    return Problem(
        level_start=two,
        cost=np.array([0.0, 1.0, 0.0, 1.0]),
        aggregate="sum",
        one_hot=(),
        tree_start=two,
        leaf_start=starts(np.ones(4, dtype=np.int64)),
        axis=np.array([0, 0, 1, 1]),
        lo=np.array([0, 1, 0, 1]),
        hi=np.array([0, 1, 0, 1]),
        leaf_rows=(LeafRow(np.array([0, 1, 0, 1]), 2),),
        level_rows=(LevelRow(np.array([0, 1, 0, 1]), 2),),
    )
