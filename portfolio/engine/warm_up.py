"""Compilation, or loading, of all that reduction and search need, before any clock runs."""

from dataclasses import replace
from functools import cache
from threading import Lock
from typing import Literal, get_args

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import IntArray, read_only, starts
from encoders.core.compiled import LOGGER, MEANWHILE, compile_notice, is_kept
from encoders.core.cores import usable_cores
from encoders.core.interpreted import interpreter
from encoders.core.shipped_code import is_stored
from encoders.presolve.bounds.lagrange import bound_by_prices, drop_by_prices
from encoders.presolve.bounds.row_prices import row_prices
from encoders.presolve.climb import climb, keeping, take_back
from encoders.presolve.incumbent import find_incumbent
from encoders.presolve.tighten import EFFORTS, tighten
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import LeafRow, LevelRow, Problem
from encoders.search.backend import solve
from encoders.search.cover import cover
from encoders.search.listing import every_choice
from encoders.search.loop import run_slice
from encoders.search.many_choices import admitted
from encoders.search.maps.region_map import Budget, guess, make_map
from encoders.search.rising import search_rising
from encoders.trees.term_search import TermLevels, drop_levels, walk
from encoders.trees.terms import Terms
from encoders.trees.ways import Levels, leaves_within, splits_of
from portfolio.engine.compiler_process import CompilerProcess

WARMING = Lock()
# Leaves of a model from which on a query waits for the compiler. With fewer, Python answers the
# rows of the demo in 1 to 8 s; compiling takes a minute.
FEW_LEAVES = 5_000
Part = Literal["walks", "fronts", "lists", "proofs", "maps"]


def warm_up(*parts: Part) -> None:
    """Compile everything before a query needs it; report if this takes long.

    Otherwise the first race on a machine would include our own compiler. Its work would end with
    the race and not be cached. Runs once per process; threads wait for each other.
    """
    with WARMING:
        if compiler_process.cache_info().currsize:
            compiler_process().wait()
        _once()
        for part in parts:
            _part_once(part)


def warm_up_all() -> None:
    """Compile everything for all questions, in processes that may get any of them."""
    warm_up(*get_args(Part))


def begin_to_warm_up(small: bool) -> bool:
    """Compile as :func:`warm_up` does, or begin to for a small model and return True.

    In the latter case Python runs the kernels until another process has compiled them.
    """
    with WARMING:
        if small and not (_once.cache_info().currsize or is_stored(leaves_within)):
            if not compiler_process.cache_info().currsize and can_compile_beside():
                LOGGER.warning(MEANWHILE)
                interpreter().run_while(compiler_process().compiles)
            if interpreter().runs:
                return True
    warm_up()
    return False


def can_compile_beside() -> bool:
    """Return whether a process beside this one could compile for it."""
    return is_kept(run_slice) and usable_cores() > 1


@cache
def compiler_process() -> CompilerProcess:
    """Return the process that compiles; the first call starts it."""
    return CompilerProcess(run_slice.stats.cache_path)


@cache
def _once() -> None:
    with compile_notice(is_kept(run_slice)):
        problem = _smallest()
        tables = tabulate(problem)
        keep, alive = np.ones(problem.cost.size, dtype=np.bool_), np.ones(4, dtype=np.bool_)
        find_incumbent(problem, tables, np.zeros((1, 2), dtype=np.int64))
        for effort in EFFORTS:
            tighten(tables, 10.0, keep.copy(), alive.copy(), effort, 100)
        admitted(problem, np.zeros((1, 2), dtype=np.int64))
        drop_by_prices(tables, bound_by_prices(tables, 10.0), 10.0, keep, alive)
        solve(problem, Request(time_limit_s=1e6, threads=1, cutoff=10.0))
        _reach()
        _search_terms()


@cache
def _part_once(part: Part) -> None:
    # No notice, as _once has shown one in this process or an earlier one.
    {"walks": _walk, "fronts": _rise, "lists": _list, "proofs": _prove, "maps": _map}[part]()


def _reach() -> None:
    """Compile the search for leaves near a row of a large model, on a tree with one split."""
    nothing = np.full(3, -1)
    column, to_left, to_right = (np.append(first, nothing[1:]) for first in (0, 1, 2))
    splits = splits_of(column, np.zeros(3), (to_left, to_right), None, None)
    costs, none = np.zeros(2), np.zeros(0)
    levels = Levels(
        np.array([0, 2]), np.arange(2.0), costs, costs, np.zeros(1, bool), costs[:1], none, none
    )
    leaves_within(splits, read_only(np.zeros(1, np.int64)), levels, 0.0, np.inf, nothing)


def _search_terms() -> None:
    """Compile the search of additive models, on a tree that splits one column in two."""
    zero, two, costs = np.zeros(1, np.int64), np.arange(2), read_only(np.arange(2.0))
    strips = np.array([[0, 2]]), np.array([0, 1, 0, 0]), np.array([[2, 1]])
    arrays = map(read_only, (np.zeros((1, 2), np.int64), *strips, zero, two, zero))
    levels = TermLevels(read_only(2 * two), read_only(two), costs, read_only(zero))
    arguments = Terms(*arrays), levels, costs, 1.0
    walk(*arguments, 1.0, two.copy()[:1])
    drop_levels(*arguments, 1.0, np.ones(2, dtype=np.bool_))


def _walk() -> None:
    tables, levels = tabulate(_smallest()), np.zeros(2, dtype=np.int64)
    climb(tables, levels, np.ones(2, dtype=np.bool_))
    take_back(tables, levels, np.zeros(2, dtype=np.int64), np.arange(2), np.arange(3))
    keeping(tables, levels[None, :])


def _rise() -> None:
    problem, need = _smallest(), np.ones((1, 1), dtype=np.int64)
    search_rising(problem, tabulate(problem), need, np.array([10.0]), lambda: False)


def _list() -> None:
    every_choice(_smallest(), 10.0, 10, lambda choice: False)


def _prove() -> None:
    problem = _smallest()
    prices = row_prices(tabulate(problem), 10.0, 1.0).prices
    cover(problem, 10.0, lambda problem, choice: None, lambda steps: True, lambda tables: prices)


def _map() -> None:
    problem = replace(_smallest(), level_rows=())
    guess(problem, seconds=0.0)
    make_map(problem, Budget()).nearest(problem.cost, "sum")


def _smallest() -> Problem:
    """Return a problem of two axes, two trees of two leaves, and a row of each kind."""
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
