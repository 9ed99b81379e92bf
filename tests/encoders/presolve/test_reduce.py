"""Each step of the reduction keeps what beats the incumbent, and leads back."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from encoders.core.arrays import owners, starts
from encoders.presolve import reduce, reduce_more
from encoders.presolve import reduction as reduction_module
from encoders.presolve.bounds.coupling import couple
from encoders.presolve.bounds.lagrange import bound_by_prices, drop_by_prices
from encoders.presolve.compress import compress
from encoders.presolve.incumbent import find_incumbent
from encoders.presolve.local_moves import evaluate, lead_axes, move, profile_groups, profiles
from encoders.presolve.tighten import NOTHING_LEFT, tighten
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import LeafRow, LevelRow, Problem
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem

NO_STARTS = np.zeros((0, 0), dtype=np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0, 1, 2])
def test_tighten_keeps_what_beats_the_bound(effort, seeds):
    emptied = shrunk = 0
    for seed in seeds:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        for upper in (np.inf, cost + 0.1, cost):
            keep = np.ones(problem.cost.size, dtype=bool)
            alive = np.ones(problem.n_leaves, dtype=bool)
            dropped, _ = tighten(tabulate(problem), upper, keep, alive, effort, 10**9)
            if dropped == NOTHING_LEFT:
                assert not cost < upper
                emptied += 1
                continue
            shrunk += dropped > 0
            smaller = compress(problem, keep, alive)
            if smaller is None:
                assert not cost < upper
                continue
            small, lift = smaller.problem, smaller.lift
            again, levels = optimum(small)
            if cost < upper:
                assert again == pytest.approx(cost)
                assert problem.admits(lift.up(levels))
                assert problem.distance(lift.up(levels)) == pytest.approx(again)
            else:
                assert not again < upper
    assert emptied > 10 and shrunk > 10


def test_prices_bound_the_optimum_and_keep_what_is_cheaper(seeds):
    proved = dropped = 0
    for seed in seeds:
        problem = random_problem(seed)
        cost, levels = optimum(problem)
        if problem.aggregate == "max" or problem.n_leaves == 0 or np.isinf(cost):
            continue
        tables = tabulate(problem)
        for upper in (cost + 0.5, cost + 0.01, max(cost, 0.01)):
            prices = bound_by_prices(tables, upper)
            assert prices.bound <= cost + 1e-9
            keep = np.ones(problem.cost.size, dtype=bool)
            alive = np.ones(problem.n_leaves, dtype=bool)
            dropped += drop_by_prices(tables, prices, upper, keep, alive)
            if cost < upper:
                assert keep[problem.level_start[:-1] + levels].all()
                assert alive[problem.active_leaves(levels)].all()
            proved += prices.bound >= cost * 0.99 > 0
    assert proved > 10 and dropped > 10


def test_prices_of_any_choice_add_up_to_less_than_its_cost(seeds):
    rng = np.random.default_rng(0)
    for seed in seeds:
        problem = random_problem(seed)
        if problem.aggregate == "max" or problem.n_leaves == 0:
            continue
        check_prices(rng, problem, bound_by_prices(tabulate(problem), 2.0))


def check_prices(rng, problem, prices):
    """Return how many choices were checked to cost at least the sum of their prices."""
    count = 0
    for _ in range(20):
        levels = rng.integers(0, problem.size)
        if problem.admits(levels):
            leaves = problem.active_leaves(levels)
            total = prices.leaf[leaves].sum() + prices.constant
            total += prices.level[problem.level_start[:-1] + levels].sum()
            assert total <= problem.distance(levels) + 1e-9
            count += 1
    return count


def test_prices_go_along_with_what_is_left(seeds):
    rng, checked, taken = np.random.default_rng(0), 0, 0
    for seed in seeds:
        problem = random_problem(seed)
        cost, levels = optimum(problem)
        if problem.aggregate == "max" or problem.n_leaves == 0 or levels is None:
            continue
        prices = bound_by_prices(tabulate(problem), cost + 0.5, 20)
        own = np.isin(np.arange(problem.cost.size), problem.level_start[:-1] + levels)
        alive = np.isin(np.arange(problem.n_leaves), problem.active_leaves(levels))
        alive |= rng.random(alive.size) < 0.7
        smaller = compress(problem, own | (rng.random(own.size) < 0.7), alive)
        assert smaller is not None
        places = smaller.lift.places(problem.level_start)
        taken += smaller.certain.size
        left = prices.within(smaller.leaf, smaller.certain, places)
        checked += check_prices(rng, smaller.problem, left)
    assert checked > 50 and taken > 10


def one_tree_per_axis(seed, n_axes=4, size=5):
    """Return a problem whose trees have a leaf for each level of one axis."""
    rng, start = np.random.default_rng(seed), starts(np.full(n_axes, size))
    weight, level = rng.integers(0, 1000, start[-1]), np.tile(np.arange(size), n_axes)
    most = int(np.maximum.reduceat(weight, start[:-1]).sum())
    return Problem(
        level_start=start,
        cost=level * rng.random(level.size),
        aggregate="sum",
        one_hot=(),
        tree_start=start,
        leaf_start=np.arange(level.size + 1),
        axis=np.repeat(np.arange(n_axes), size),
        lo=level,
        hi=level,
        leaf_rows=(LeafRow.normalised(weight, int(0.8 * most), start),),
        level_rows=(),
    )


def test_trees_of_one_axis_need_no_rows():
    rng, checked, by_level, by_rows = np.random.default_rng(0), 0, 0.0, 0.0
    for seed in range(30):
        problem = one_tree_per_axis(seed)
        cost, _ = optimum(problem)
        tables = tabulate(problem)
        coupling, plain = couple(tables), couple(tables, by_level=False)
        assert coupling.alone.all() and coupling.axis.size == 0 < plain.axis.size
        prices = bound_by_prices(tables, cost + 0.5, 20, coupling=coupling)
        assert prices.bound <= cost + 1e-9
        checked += check_prices(rng, problem, prices)
        by_level += prices.bound
        by_rows += bound_by_prices(tables, cost + 0.5, 20, coupling=plain).bound
    assert checked > 20 and by_level > 1.1 * by_rows > 0


def test_a_row_that_always_holds_leaves_the_bound_as_it_is(seeds):
    with_row = without = 0.0
    for seed in seeds:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        if problem.aggregate == "max" or problem.n_leaves == 0 or not 0 < cost < np.inf:
            continue
        heavy = LeafRow(1000 * problem.leaf_rows[0].weight, 0)
        more = replace(problem, leaf_rows=(*problem.leaf_rows, heavy))
        with_row += bound_by_prices(tabulate(more), cost).bound
        without += bound_by_prices(tabulate(problem), cost).bound
    assert with_row > 0.8 * without > 0  # in units of the minimum it was half


def test_a_price_on_a_level_row_raises_the_bound(seeds):
    raised = 0
    for seed in seeds:
        problem = random_problem(seed)
        free, levels = optimum(problem)
        if problem.aggregate == "max" or problem.n_leaves == 0 or not 0 < free < np.inf:
            continue
        paid = (problem.cost > 0).astype(np.int64)
        most = int(paid[problem.level_start[:-1] + levels].sum()) - 1
        fewer = replace(problem, level_rows=(*problem.level_rows, LevelRow(paid, most)))
        cost, _ = optimum(fewer)
        upper = min(cost, 2 * free)
        with_row, without = (bound_by_prices(tabulate(p), upper).bound for p in (fewer, problem))
        assert with_row <= cost + 1e-9
        raised += with_row > without + 1e-6
    assert raised > 10


def test_compress_alone_changes_nothing(seeds):
    smaller = 0
    for seed in seeds:
        problem = random_problem(seed)
        everything = np.ones(problem.cost.size, dtype=bool), np.ones(problem.n_leaves, dtype=bool)
        made = compress(problem, *everything)
        if made is None:
            assert optimum(problem)[1] is None
            continue
        small, lift = made.problem, made.lift
        smaller += small.cost.size < problem.cost.size
        cost, levels = optimum(small)
        assert cost == pytest.approx(optimum(problem)[0])
        if levels is not None:
            assert problem.admits(lift.up(levels))
    assert smaller > 10


def test_a_tree_without_a_leaf_leaves_nothing():
    """x is 1, so y is 0; w is 0; and a tree wants y or w to be 1."""
    leaves = [(0, 1, 1), (3, 0, 0), (1, 1, 1), (1, 0, 0), (3, 1, 1)]  # of x, y, z and w
    axis, lo, hi = (np.array(part) for part in zip(*leaves, strict=True))
    problem = Problem(
        level_start=np.arange(0, 9, 2),
        cost=np.array([0, 1.0] * 4),
        aggregate="sum",
        one_hot=(np.array([1, 3, 5]),),
        tree_start=np.array([0, 1, 2, 4]),
        leaf_start=np.array([0, 1, 2, 3, 5]),
        axis=axis,
        lo=lo,
        hi=hi,
        leaf_rows=(LeafRow(np.zeros(4, dtype=np.int64), 0),),
        level_rows=(),
    )
    assert optimum(problem)[1] is None
    assert compress(problem, np.ones(8, dtype=bool), np.ones(4, dtype=bool)) is None
    assert reduce(problem, np.zeros((0, 4), dtype=np.int64)).problem is None
    assert reduce(problem, np.zeros((0, 4), dtype=np.int64)).incumbent is None


def as_posed(problem):
    """With one "is" of each leaf and group at most, and nothing beside it, as posing leaves it."""
    owner = owners(problem.level_start)
    one = np.full(problem.n_axes, -1)
    for group in problem.one_hot:
        one[owner[group]] = group - problem.level_start[owner[group]]
    leaf, said = owners(problem.leaf_start), one[problem.axis]
    is_one, is_zero = problem.lo == said, (problem.hi == 1 - said) & (said >= 0)
    is_one &= (said >= 0) & (problem.hi == said)
    named = np.unique(leaf[is_one], return_index=True)[1]
    told = (said < 0) | (is_zero & ~np.isin(leaf, leaf[is_one]))
    told[np.flatnonzero(is_one)[named]] = True
    return replace(
        problem,
        leaf_start=starts(np.bincount(leaf[told], minlength=problem.n_leaves)),
        axis=problem.axis[told],
        lo=problem.lo[told],
        hi=problem.hi[told],
    )


def test_categories_are_profiled_as_they_would_move(seeds):
    compared = 0
    for seed in seeds:
        problem = as_posed(random_problem(seed))
        if not problem.one_hot or problem.n_leaves == 0:
            continue
        tables, levels = tabulate(problem), np.random.default_rng(seed).integers(0, problem.size)
        axes = tables.group_axes
        levels[axes] = 1 - tables.one[axes]
        levels[axes[seed % axes.size]] = tables.one[axes[seed % axes.size]]
        misses, lead = np.zeros(problem.n_leaves, np.int64), np.zeros(tables.need.size, np.int64)
        load = np.zeros(tables.level_limit.size, np.int64)
        whole = np.zeros((lead.size, len(problem.one_hot)), np.int64)
        entered = np.zeros((lead.size, problem.n_axes), np.int64)
        evaluate(tables, levels, misses, lead, load)
        profile_groups(tables, levels, misses, whole, entered)
        held, steps = profiles(tables, levels, misses)
        for axis in axes[levels[axes] != tables.one[axes]].tolist():
            moved, after, counts = levels.copy(), lead.copy(), misses.copy()
            ahead = held.copy(), steps.copy()
            move(tables, moved, counts, after, load.copy(), *ahead, axis, tables.one[axis])
            assert (after == lead + whole[:, 0] + entered[:, axis]).all()
            compared += (after != lead).any()
    assert compared > len(seeds) // 8


def test_moves_keep_profiles_and_leads(seeds):
    compared = 0
    for seed in seeds:
        problem = as_posed(random_problem(seed))
        tables, rng = tabulate(problem), np.random.default_rng(seed)
        levels = rng.integers(0, problem.size)
        misses, lead = np.zeros(problem.n_leaves, np.int64), np.zeros(tables.need.size, np.int64)
        load = np.zeros(tables.level_limit.size, np.int64)
        evaluate(tables, levels, misses, lead, load)
        held, steps = profiles(tables, levels, misses)
        for _ in range(6):
            axis = int(rng.integers(problem.n_axes))
            level = int(rng.integers(problem.size[axis]))
            move(tables, levels, misses, lead, load, held, steps, axis, level)
            fresh = misses.copy(), lead.copy(), load.copy()
            evaluate(tables, levels, *fresh)
            again = profiles(tables, levels, fresh[0])
            for kept, expected in zip(
                (misses, lead, load, held, steps), fresh + again, strict=True
            ):
                assert (kept == expected).all()
        leads = np.zeros_like(steps)
        lead_axes(tables, lead, held, steps, leads)
        for axis in np.flatnonzero(tables.group_of < 0).tolist():
            for level in range(problem.size[axis]):
                moved, (counts, told, loads) = levels.copy(), [each.copy() for each in fresh]
                moved[axis] = level
                evaluate(tables, moved, counts, told, loads)
                assert (leads[:, tables.level_start[axis] + axis + level] == told).all()
                compared += 1
    assert compared > 4 * len(seeds)


def test_reduce_and_lift_give_the_optimum(seeds):
    proved = 0
    for seed in seeds:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        reduction = reduce(problem, NO_STARTS.reshape(0, problem.n_axes))
        held = np.inf
        if reduction.incumbent is not None:
            assert problem.admits(reduction.incumbent)
            held = problem.distance(reduction.incumbent)
        if reduction.problem is None:
            proved += 1
            assert held == pytest.approx(cost)
            continue
        again, levels = optimum(reduction.problem)
        assert min(again, held) == pytest.approx(cost)
        if levels is not None:
            assert problem.admits(reduction.lift.up(levels))
    assert proved > 20


def test_what_is_too_dear_may_go_before_an_incumbent_is_looked_for(seeds, monkeypatch):
    """Problems of any size are treated like large ones, and may stay too large to be searched."""
    later = 0
    for seed in seeds:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        cutoff = cost * (1 + seed % 3 / 4) + 1e-8 if np.isfinite(cost) else 1.0
        monkeypatch.setattr(reduction_module, "MANY_LITERALS", problem.axis.size * (seed % 4) // 4)
        told = []
        reduction = reduce(
            problem,
            NO_STARTS.reshape(0, problem.n_axes),
            cutoff,
            lambda upper, lower, told=told: told.append(upper),
        )
        held = np.inf
        if reduction.incumbent is not None:
            assert problem.admits(reduction.incumbent)
            held = problem.distance(reduction.incumbent)
            assert reduction.upper == min(cutoff, held)
            later += bool(told)
        again = np.inf if reduction.problem is None else optimum(reduction.problem)[0]
        assert min(again, held) == pytest.approx(cost), seed
    assert later > 20


def test_a_reduction_that_is_cut_short_loses_nothing(seeds):
    cut = 0
    for seed in seeds:
        problem = random_problem(seed)
        looks = iter([False] * (seed % 9))  # so often there is still time
        over = partial(next, looks, True)
        reduction = reduce(problem, NO_STARTS.reshape(0, problem.n_axes), over=over)
        held = np.inf if reduction.incumbent is None else problem.distance(reduction.incumbent)
        again = np.inf if reduction.problem is None else optimum(reduction.problem)[0]
        assert min(again, held) == pytest.approx(optimum(problem)[0])
        cut += reduction.problem is problem
    assert cut > len(seeds) // 9


@pytest.mark.slow
def test_the_incumbent_is_never_lost(seeds):
    for seed in range(3 * seeds.start, 3 * seeds.stop):
        problem = random_problem(seed, largest=25, n_trees=20)
        none = NO_STARTS.reshape(0, problem.n_axes)
        first = find_incumbent(problem, tabulate(problem), none)
        reduction = reduce(problem, none)
        if first is not None:
            assert problem.distance(reduction.incumbent) <= problem.distance(first) + 1e-12
            assert reduction.upper == pytest.approx(problem.distance(reduction.incumbent))


def test_what_is_forced_may_be_dearer_than_the_incumbent():
    """Two changes at 0.6 are cheaper than one at 1.5, but three, which are needed, are not."""
    row = LeafRow(np.array([0, 1, 0, 1, 0, 1, 0, 3]), 3)
    side = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    problem = Problem(
        level_start=np.array([0, 2, 4, 6, 8]),
        cost=np.array([0, 0.6, 0, 0.6, 0, 0.6, 0, 1.5]),
        aggregate="sum",
        one_hot=(),
        tree_start=np.array([0, 2, 4, 6, 8]),
        leaf_start=np.arange(9),
        axis=np.array([0, 0, 1, 1, 2, 2, 3, 3]),
        lo=side,
        hi=side,
        leaf_rows=(row,),
        level_rows=(),
    )
    reduction = reduce(problem, np.array([[1, 1, 1, 0], [0, 0, 0, 1]]))
    assert reduction.problem is None
    assert reduction.upper == problem.distance(reduction.incumbent) == optimum(problem)[0] == 1.5


def test_a_cutoff_hides_only_what_is_dearer(seeds):
    for seed in seeds:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        if np.isfinite(cost):
            tight = reduce(problem, NO_STARTS.reshape(0, problem.n_axes), cutoff=cost + 0.05)
            held = np.inf if tight.incumbent is None else problem.distance(tight.incumbent)
            left = np.inf if tight.problem is None else optimum(tight.problem)[0]
            assert min(held, left) == pytest.approx(cost)


def test_the_lower_bound_of_a_reduction_holds(seeds):
    useful = 0
    for seed in seeds:
        problem = random_problem(seed, n_trees=8)
        cost, _ = optimum(problem)
        if not 0 < cost < np.inf:
            continue
        first = reduce(problem, None, cutoff=1.5 * cost)
        for reduction in (first, reduce_more(first, 1.2 * cost), reduce_more(first, 0.9 * cost)):
            assert 0 <= reduction.lower <= min(cost, reduction.upper) * (1 + 1e-9)
            useful += reduction.problem is not None and reduction.lower > 0
    assert useful > 20


def test_a_reduction_continues_with_lower_cutoffs(seeds):
    continued = empty = 0
    for seed in seeds:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        if not 0 < cost < np.inf:
            continue
        known = reduce(problem, None, cutoff=4.0 * cost)
        if known.incumbent is not None:
            continue  # the optimum, with nothing left
        for factor in (4.0, 2.0, 1.001, 1.0):
            cutoff = factor * cost
            continued += known.problem is not None
            known = reduce_more(known, cutoff)
            held = np.inf if known.incumbent is None else problem.distance(known.incumbent)
            left, levels = (np.inf, None) if known.problem is None else optimum(known.problem)
            if cutoff > cost:
                assert min(held, left) == pytest.approx(cost)
                assert held < cutoff or known.incumbent is None
            else:
                assert min(held, left) >= cutoff * (1 - 1e-9)
                empty += known.problem is None
            if levels is not None:
                lifted = known.lift.up(levels)
                assert problem.admits(lifted)
                assert problem.distance(lifted) == pytest.approx(left)
            if known.incumbent is not None:
                break  # a lower cutoff excludes it
    assert continued > 100 and empty > 5


def test_excluded_regions_stay_excluded(seeds):
    for seed in seeds:
        problem = random_problem(seed)
        cost, levels = optimum(problem)
        if levels is None:
            continue
        rest = problem.without(levels)
        assert not rest.admits(levels)
        assert optimum(rest)[0] >= cost
        plain = replace(rest, forbidden=())
        assert plain.admits(levels) == problem.admits(levels) or problem.forbidden
