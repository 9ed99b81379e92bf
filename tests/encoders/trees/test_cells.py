"""Boxes of leaves, against the way that every row takes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from encoders.core.arrays import frozen
from encoders.trees.cells import codes, cut
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits, no_sets

NUMBERS = (-1.5, -0.5, 0.5, 1.5, np.nan)
CATEGORIES = (0.0, 1.0, 2.0, np.nan)


def grown(random, n_nodes):
    """A tree whose nodes are numbered in random order; splits contradict each other often."""
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    free = random.permutation(np.arange(1, n_nodes)).tolist()
    leaves = [0]
    while len(free) > 1:
        node = leaves.pop(int(random.integers(len(leaves))))
        left[node], right[node] = free.pop(), free.pop()
        leaves += [int(left[node]), int(right[node])]
    return left, right, np.array(leaves + free)


def some_ensemble(seed, with_sets, with_gaps):
    random, n_nodes = np.random.default_rng(seed), 31
    trees = [grown(random, n_nodes) for _ in range(2)]
    shift = np.repeat([0, n_nodes], n_nodes)
    left, right = (np.concatenate([tree[side] for tree in trees]) for side in (0, 1))
    inner = left >= 0
    left, right = np.where(inner, left + shift, -1), np.where(inner, right + shift, -1)
    column = np.where(inner, random.integers(0, 3, 2 * n_nodes), -1)
    last_left = np.where(inner, random.integers(-1, 2, 2 * n_nodes), 0).astype(np.float64)
    sets = None
    if with_sets:
        of_node = np.where(column == 2, np.cumsum(column == 2) - 1, -1)
        n_sets = int((column == 2).sum())
        goes_left = random.random(4 * n_sets) < 0.5
        last_left = np.where(column == 2, -np.inf, last_left)
        sets = SetSplits(of_node, np.arange(n_sets) * 4, goes_left, {2: np.arange(2.0)})
    return Ensemble(
        3,
        *(frozen(part) for part in (np.array([0, n_nodes]), column, last_left, left, right)),
        frozen(random.normal(size=(2 * n_nodes, 2))),
        np.zeros(2),
        np.dtype(np.float64),
        1.0,
        False,
        default_left=frozen(random.random(2 * n_nodes) < 0.5) if with_gaps else None,
        sets=sets,
    )


def walked(ensemble, row, root):
    """The leaf of a row by the definition of a split."""
    node = root
    while ensemble.column[node] >= 0:
        value, own = row[ensemble.column[node]], -1
        if ensemble.sets is not None:
            own = ensemble.sets.of_node[node]
        if own >= 0:
            cell = 3 if np.isnan(value) else int(value)
            left = ensemble.sets.goes_left[ensemble.sets.first[own] + cell]
        elif np.isnan(value):
            left = ensemble.default_left[node]
        else:
            left = value <= ensemble.last_left[node]
        node = ensemble.left[node] if left else ensemble.right[node]
    return node


def rows_of(with_sets, with_gaps):
    numbers = NUMBERS if with_gaps else NUMBERS[:-1]
    given = CATEGORIES if with_gaps else CATEGORIES[:-1]
    return np.array(list(itertools.product(numbers, numbers, given if with_sets else numbers)))


@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.parametrize("with_sets", [False, True])
def test_every_row_is_in_the_boxes_of_the_leaves_that_it_ends_in(with_sets, with_gaps):
    rows, dropped = rows_of(with_sets, with_gaps), 0
    for seed in range(12):
        ensemble = some_ensemble(seed, with_sets, with_gaps)
        cells = cut(ensemble)
        dropped += int((ensemble.column < 0).sum()) - cells.node.size
        ends = [[walked(ensemble, row, root) for root in ensemble.root] for row in rows]
        assert ensemble.leaves(rows).tolist() == ends, seed
        for row, code, own in zip(
            rows, codes(cells.boundary, rows, ensemble.dtype), ends, strict=True
        ):
            held = [cells.node[at] for at in range(cells.node.size) if inside(cells, at, row, code)]
            assert held == sorted(own), (seed, row)
    assert dropped > 0  # leaves that no row gets to


def inside(cells, leaf, row, code):
    for at in range(cells.leaf_start[leaf], cells.leaf_start[leaf + 1]):
        column = cells.column[at]
        if np.isnan(row[column]):
            if not cells.takes_missing[at]:
                return False
        elif not cells.lo[at] <= code[column] <= cells.hi[at]:
            return False
    for group in cells.groups:
        for at in np.flatnonzero(group.leaf == leaf):
            if not group.allowed[at, group.class_of[code[group.column]]]:
                return False
    return True


def test_literals_of_a_leaf_are_in_the_order_of_columns():
    cells = cut(some_ensemble(1, False, True))
    for first, end in itertools.pairwise(cells.leaf_start.tolist()):
        columns = cells.column[first:end].tolist()
        assert columns == sorted(set(columns))


def sets_of_many_cells(seed, n_cells):
    """Trees whose columns 1 and 2 are split into sets of several bytes, and column 0 is not."""
    random = np.random.default_rng(seed)
    ensemble = some_ensemble(seed, False, True)
    of_node = np.where(ensemble.column > 0, np.cumsum(ensemble.column > 0) - 1, -1)
    n_sets = int((ensemble.column > 0).sum())
    goes_left = random.random(n_cells * n_sets) < 0.5
    edges = {column: np.arange(n_cells - 2.0) for column in (1, 2)}
    sets = SetSplits(of_node, np.arange(n_sets) * n_cells, goes_left, edges)
    last_left = np.where(of_node >= 0, -np.inf, ensemble.last_left)
    return replace(ensemble, last_left=frozen(last_left), sets=sets)


@pytest.mark.parametrize("n_cells", [3, 9, 40])
def test_the_cells_of_each_leaf_are_the_intersection_of_the_sets_above_it(n_cells):
    for seed in range(12):
        ensemble = sets_of_many_cells(seed, n_cells)
        cells, sets = cut(ensemble), ensemble.sets
        above = {
            int(child): node
            for node in np.flatnonzero(ensemble.column >= 0).tolist()
            for child in (ensemble.left[node], ensemble.right[node])
        }
        for group in cells.groups:
            limited = dict(zip(group.leaf.tolist(), group.allowed, strict=True))
            assert list(limited) == sorted(limited)
            for leaf, node in enumerate(cells.node.tolist()):
                expected, tested = np.ones(n_cells, dtype=bool), False
                while node in above:
                    split = above[node]
                    if ensemble.column[split] == group.column:
                        members = sets.members(group.column, sets.of_node[[split]])[0]
                        expected &= members == (ensemble.left[split] == node)
                        tested = True
                    node = split
                assert tested == (leaf in limited)
                if tested:
                    assert limited[leaf][group.class_of].tolist() == expected.tolist()


@pytest.mark.parametrize("others", [True, False])
def test_a_column_whose_sets_no_tree_uses_has_one_class(others):
    ensemble = some_ensemble(3, others, True)
    sets = ensemble.sets or no_sets(ensemble.column.size)
    edges = sets.edges | {1: np.arange(2.0)}
    column = np.where(ensemble.column == 1, 0, ensemble.column)
    groups = cut(replace(ensemble, column=frozen(column), sets=replace(sets, edges=edges))).groups
    assert [group.column for group in groups] == list(edges)
    assert (groups[-1].n_classes, groups[-1].leaf.size) == (1, 0)
