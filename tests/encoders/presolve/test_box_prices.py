"""Prices of boxes: no choice in one costs less than they say, and searches with them are right."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.presolve.bounds.box_prices import box_prices
from encoders.presolve.bounds.coupling import couple
from encoders.presolve.bounds.lagrange import bound_by_prices, settle_groups
from encoders.presolve.bounds.multipliers import zero_multipliers
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import LeafRow
from encoders.search import backend, team
from encoders.search.narrow import narrowed
from encoders.search.node import PRUNED, SPLIT, Node
from encoders.search.open_nodes import PRICED, SHUT, make_pool
from encoders.search.price_split import split_by_prices
from encoders.testing.answers import check_outcome
from encoders.testing.named_problems import make


def some_tree(rng, size, depth, box):
    free = [a for a in range(size.size) if box[a][0] < box[a][1]]
    if depth == 0 or not free:
        return [{a: span for a, span in box.items() if span != (0, size[a] - 1)}]
    a = int(rng.choice(free))
    lo, hi = box[a]
    cut = int(rng.integers(lo, hi))
    left = some_tree(rng, size, depth - 1, box | {a: (lo, cut)})
    return left + some_tree(rng, size, depth - 1, box | {a: (cut + 1, hi)})


def hard_problem(seed):
    """Many trees over few axes, which vote for expensive levels: searches take tens of nodes."""
    rng = np.random.default_rng(seed)
    grouped = 3 if seed % 3 == 0 else 0
    size = np.array([5] * (5 if grouped else 6) + [2] * grouped)
    at = rng.integers(0, 5, size.size)
    costs = [np.abs(np.arange(5) - at[a]) / 4 for a in range(size.size - grouped)]
    if seed % 4 == 1:
        costs[0] = rng.random(5)  # a user's own, up and down
    costs += [np.array([0.0, rng.random()]) for _ in range(grouped)]
    whole = {a: (0, int(size[a]) - 1) for a in range(size.size)}
    trees = [some_tree(rng, size, 3, whole) for _ in range(15)]
    first = np.cumsum([0, *(len(tree) for tree in trees)])
    rows = []
    for _ in range(1 + seed % 2):
        weight = rng.integers(0, 1000, first[-1])
        most = np.maximum.reduceat(weight, first[:-1]).sum()
        rows.append((weight, int(most * rng.uniform(0.6, 0.85))))
    ends = np.cumsum([0, *size])
    group = [list(ends[size.size - grouped : -1] + 1)] if grouped else []
    paid = np.concatenate(costs) > 0
    limits = [(paid.astype(int), 4)] if seed % 5 == 2 else []
    return make(costs, trees, rows, one_hot=group, level_rows=limits)


@pytest.fixture
def soon(monkeypatch):
    """Boxes get prices from the first nodes on; the pools of the searches, as they are made."""
    pools = []

    def made(problem):
        pools.append(make_pool(problem))
        return pools[-1]

    monkeypatch.setattr(backend, "HARD", 0)
    monkeypatch.setattr(backend, "VERY_HARD", 0)
    monkeypatch.setattr(team, "FIRST_SLICE", 1)
    monkeypatch.setattr(team, "SLICE_S", 0.0)
    monkeypatch.setattr(team, "ENOUGH", 0)
    monkeypatch.setattr(team, "make_pool", made)
    return pools


def least(problem):
    """The optimum by trying every choice, all at once."""
    choices = np.stack(np.meshgrid(*map(np.arange, problem.size), indexing="ij"))
    choices = choices.reshape(problem.n_axes, -1)
    levels = problem.level_start[:-1, None] + choices
    fits = np.ones((problem.n_leaves, choices.shape[1]), dtype=bool)
    for leaf, a, lo, hi in zip(problem.leaf_of, problem.axis, problem.lo, problem.hi, strict=True):
        fits[leaf] &= (lo <= choices[a]) & (choices[a] <= hi)
    keeps = np.ones(choices.shape[1], dtype=bool)
    for row in problem.leaf_rows:
        keeps &= row.weight.astype(float) @ fits >= row.minimum
    for row in problem.level_rows:
        keeps &= row.weight[levels].sum(axis=0) <= row.maximum
    for group in problem.one_hot:
        axes = problem.axis_of[group]
        keeps &= (levels[axes] == group[:, None]).sum(axis=0) == 1
    return problem.cost[levels].sum(axis=0)[keeps].min(initial=np.inf)


def random_box(rng, problem):
    """Its ends, and the leaves that overlap it."""
    ends = np.sort(rng.integers(0, problem.size, (2, problem.n_axes)), axis=0)
    beyond = (problem.lo > ends[1][problem.axis]) | (problem.hi < ends[0][problem.axis])
    live = ~np.isin(np.arange(problem.n_leaves), problem.leaf_of[beyond])
    return *ends, live


def check_choices(problem, box, live, out, place, prices):
    """Check that each choice of a box costs at least its bound; return the number of choices."""
    lo, hi = box
    checked = 0
    for index in np.ndindex(*(hi - lo + 1).tolist()):
        levels = lo + index
        active = problem.active_leaves(levels)
        if not live[active].all() or not problem.admits(levels):
            continue
        cost = problem.distance(levels)
        assert prices.bound <= cost + 1e-9
        total = prices.constant + prices.level[problem.level_start[:-1] + levels].sum()
        total += prices.leaf[place[np.setdiff1d(active, out)]].sum()
        assert total <= cost + 1e-9
        checked += 1
    return checked


def half(rng, problem, lo, hi, live):
    """Return one side of a box, and the leaves that overlap it."""
    a = int(rng.choice(np.flatnonzero(hi > lo)))
    lo, hi = lo.copy(), hi.copy()
    hi[a] = rng.integers(lo[a], hi[a])
    beyond = (problem.lo > hi[problem.axis]) | (problem.hi < lo[problem.axis])
    return lo, hi, live & ~np.isin(np.arange(problem.n_leaves), problem.leaf_of[beyond])


@pytest.mark.slow
def test_no_choice_in_a_box_costs_less_than_its_prices_say():
    checked = higher = shut = within = 0
    for seed in range(300):
        problem, rng = hard_problem(seed), np.random.default_rng(seed)
        t, upper = tabulate(problem), rng.uniform(0.1, 2.0)
        coupling = couple(t)
        start, kept = zero_multipliers(coupling), zero_multipliers(coupling)
        whole = bound_by_prices(t, upper, coupling=coupling, kept=start)
        lo, hi, live = random_box(rng, problem)
        while len(set(problem.tree_of[live])) == problem.tree_start.size - 1:
            own, leaf, out = narrowed(t, live, lo, hi)
            if (lo > hi).any():
                break
            point = np.clip(t.best, lo, hi)
            prices = box_prices(t, coupling, own, leaf, out, lo, hi, point, upper, start, kept)
            assert all((part >= 0).all() for part in kept)
            higher += prices.bound > whole.bound + 1e-6
            shut += prices.bound >= upper
            place = np.full(problem.n_leaves, -1)
            place[leaf] = np.arange(leaf.size)
            checked += check_choices(problem, (lo, hi), live, out, place, prices)
            if (lo == hi).all():
                break
            start, kept = kept, zero_multipliers(coupling)  # the next box is within this one
            lo, hi, live = half(rng, problem, lo, hi, live)
            within += 1
    assert checked > 1000 and higher > 50 and shut > 10 and within > 100


def test_what_a_box_around_it_is_worth_gives_a_box_a_higher_bound():
    warm = cold = 0.0
    for seed in range(60):
        problem, rng = hard_problem(seed), np.random.default_rng(seed)
        t, coupling = tabulate(problem), couple(tabulate(problem))
        start, kept = zero_multipliers(coupling), zero_multipliers(coupling)
        bound_by_prices(t, 2.0, coupling=coupling, kept=start)
        lo, hi, live = random_box(rng, problem)
        if len(set(problem.tree_of[live])) < problem.tree_start.size - 1:
            continue
        own, leaf, out = narrowed(t, live, lo, hi)
        if (lo > hi).any() or leaf.size == 0:
            continue
        asked = t, coupling, own, leaf, out, lo, hi, np.clip(t.best, lo, hi), 20.0
        warm += box_prices(*asked, start, kept).bound
        cold += box_prices(*asked, zero_multipliers(coupling), kept).bound
    assert warm > cold > 0


def node_of(t, lo, hi, live):
    n_rows, split = t.need.size, np.zeros(3, dtype=np.int64)
    best = np.zeros((n_rows + 1, t.tree_start.size - 1), dtype=np.int64)
    drops = np.zeros((n_rows, t.cost.size), dtype=np.int64)
    point, slack = np.clip(t.best, lo, hi), np.zeros(n_rows, dtype=np.int64)
    low, high = lo.copy(), hi.copy()
    return Node(low, high, point, split[:2], split, live, best, slack, drops, drops)


def test_prices_cut_off_no_choice_below_the_limit():
    checked = cut = whole = 0
    for seed in range(200):
        problem, rng = hard_problem(seed), np.random.default_rng(seed)
        t, (lo, hi, live) = tabulate(problem), random_box(rng, problem)
        choices = (lo + index for index in np.ndindex(*(hi - lo + 1).tolist()))
        admitted = [levels for levels in choices if problem.admits(levels)]
        if not admitted:
            continue
        limit = min(map(problem.distance, admitted)) * rng.uniform(1.0, 1.2) + 1e-6
        node = node_of(t, lo, hi, live)
        kind = split_by_prices(t, bound_by_prices(t, limit), node, limit)
        assert kind != PRUNED
        for levels in admitted:
            if problem.distance(levels) < limit:
                assert (node.lo <= levels).all() and (levels <= node.hi).all()
                checked += 1
        if kind == SPLIT:
            a, v, near_is_low = node.split
            assert node.lo[a] <= v < node.hi[a]
            assert near_is_low == (node.point[a] <= v)
        cut += (node.lo > lo).any() or (node.hi < hi).any()
        whole += (node.lo == lo).all() and (node.hi == hi).all()
    assert checked > 20 and cut > 5 and whole > 5


def test_a_group_picks_one_category():
    rng, raised = np.random.default_rng(0), 0
    t = tabulate(make([np.array([0.0, 1.0])] * 5, [], [], one_hot=[[1, 3, 5, 7]]))
    for _ in range(100):
        price = rng.normal(size=10)
        now, point = price.copy(), np.zeros(5, dtype=np.int64)
        paid, rise = settle_groups(t, now, point)
        before, after = (each.reshape(5, 2).min(axis=1)[:4].sum() for each in (price, now))
        ones = [price[:8:2].sum() + price[2 * a + 1] - price[2 * a] for a in range(4)]
        assert paid + after == pytest.approx(min(ones))
        assert before + rise == pytest.approx(min(ones))
        assert point.tolist() == [int(a == np.argmin(ones)) for a in range(4)] + [0]
        assert (now[8:] == price[8:]).all()
        raised += rise > 0
    assert raised > 50


def with_satisfied_rows(problem, rng, n_rows):
    """The problem with more leaf rows, which hold for nearly every choice."""
    rows = list(problem.leaf_rows)
    for _ in range(n_rows):
        weight = rng.integers(0, 1000, problem.n_leaves)
        least = np.minimum.reduceat(weight, problem.tree_start[:-1]).sum()
        rows.append(LeafRow(weight, int(1.2 * least)))
    return replace(problem, leaf_rows=tuple(rows))


def test_satisfied_rows_hardly_lower_the_bound():
    alone = among = 0.0
    for seed in range(20):
        problem, rng = hard_problem(seed), np.random.default_rng(seed)
        alone += bound_by_prices(tabulate(problem), 2.0, 100).bound
        among += bound_by_prices(tabulate(with_satisfied_rows(problem, rng, 8)), 2.0, 100).bound
    assert among > 0.95 * alone > 0


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_searches_with_prices_of_boxes_find_the_optimum(soon, threads):
    search = find_backend("search")
    for seed in range(100):
        problem = hard_problem(1000 * threads + seed)
        cost = least(problem)
        request = Request(60.0, threads, cutoff=cost + 0.5 if np.isfinite(cost) else 9.0)
        check_outcome(problem, search.load()(problem, request), cost, search.capability)
    assert sum(pool.counts[PRICED] for pool in soon) > 100
    assert sum(pool.counts[SHUT] for pool in soon) > 10
