"""Relations between features, as rows, boxes and further axes of a problem."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import InputError, Over, look, never
from encoders.formulation.axes import level_ends
from encoders.formulation.feature_levels import LevelsOf, Literal, box_of, levels_of
from encoders.formulation.layout import Layout
from encoders.formulation.sum_levels import SumLevels
from encoders.problem.problem import Box, Problem
from encoders.query.conditions import Test
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.query.related import PairCosts, Related
from encoders.trees.ensemble import Ensemble

MOST_BOXES = 50_000  # of one relation; more would take too long


def boxes_of(tests: tuple[Test, ...], options: Mapping[int, LevelsOf]) -> Iterator[Box]:
    """Boxes in which all tests pass."""
    sides = [list(_passing(test, options[test.index])) for test in tests]
    if prod(map(len, sides)) > MOST_BOXES:
        raise InputError(
            "a relation between features parts their values too finely; give them a step, "
            "fewer values, or narrower bounds."
        )
    for literals in product(*sides):
        joined = _joined([literal for part in literals for literal in part])
        if joined is not None:
            yield box_of(joined)


def _passing(test: Test, own: LevelsOf) -> Iterator[list[Literal]]:
    """Alternatives, each of literals that hold together."""
    passes = test.passes(own.value)
    if own.ordered:
        edges = np.flatnonzero(np.diff(np.r_[False, passes, False].astype(np.int64)))
        for lo, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            yield [(int(own.axis[0]), lo, end - 1)]
    elif passes.all():  # all of an axis
        yield [(int(own.axis[0]), 0, int(own.level[0]))]
    elif passes.sum() == 1:
        at = int(np.flatnonzero(passes)[0])
        yield [(int(own.axis[at]), int(own.level[at]), int(own.level[at]))]
    elif passes.any():  # it is none of the others
        others = np.flatnonzero(~passes).tolist()
        yield [(int(own.axis[at]), 0, int(own.level[at]) - 1) for at in others]


def _joined(literals: list[Literal]) -> list[Literal] | None:
    """Return one literal per axis; None if none can hold."""
    spans: dict[int, tuple[int, int]] = {}
    for axis, lo, hi in literals:
        low, high = spans.get(axis, (lo, hi))
        spans[axis] = max(low, lo), min(high, hi)
    if any(lo > hi for lo, hi in spans.values()):
        return None
    return [(axis, lo, hi) for axis, (lo, hi) in spans.items()]


@dataclass(frozen=True, eq=False)
class RelatedLevels:
    """Relations of a query and the levels that they are about."""

    related: Related  # the relations
    options: Mapping[int, LevelsOf]  # levels by index of feature
    sums: SumLevels  # sums among the relations
    n_axes: int  # number of axes of the problem, without those that relations add

    def posed(self, problem: Problem, over: Over = never) -> Problem:
        """Return the problem with boxes, rows and axes of the relations."""
        boxes: list[Box] = []
        for tests in self.related.never:
            look(over)
            boxes += boxes_of(tests, self.options)
        problem = replace(problem, forbidden=(*problem.forbidden, *boxes))
        problem = self.sums.posed(problem, over)
        for pair in self.related.pairs:
            look(over)
            problem = self._with_pair(problem, pair)
        return problem

    def complete(self, problem: Problem, levels: IntArray) -> IntArray:
        """Extend a choice of the first axes by the cheapest admissible level of each later axis."""
        whole = np.zeros(problem.n_axes, dtype=np.int64)
        whole[: self.n_axes] = levels[: self.n_axes]
        for axis in range(self.n_axes, problem.n_axes):
            own = [box for box in problem.forbidden if int(box.axis[-1]) == axis]
            for box in own:
                inside = whole[box.axis[:-1]]
                if ((box.lo[:-1] <= inside) & (inside <= box.hi[:-1])).all():
                    whole[axis] = max(whole[axis], int(box.hi[-1]) + 1)
        return whole

    def _with_pair(self, problem: Problem, pair: PairCosts) -> Problem:
        """Add an axis whose levels are joint costs, and forbid levels too cheap for their pair."""
        first, second = self.options[pair.first], self.options[pair.second]
        prices = sorted({0.0, *pair.cost.values()})
        axis, boxes = problem.n_axes, []
        for (one, other), cost in pair.cost.items():
            ends = [np.flatnonzero(o.value == v) for o, v in ((first, one), (second, other))]
            if cost > 0 and all(end.size for end in ends):
                literals = [
                    (int(own.axis[end[0]]), int(own.level[end[0]]), int(own.level[end[0]]))
                    for own, end in zip((first, second), ends, strict=True)
                ]
                boxes.append(box_of([*literals, (axis, 0, prices.index(cost) - 1)]))
        wider = problem.with_axis(np.array(prices))
        return replace(wider, forbidden=(*wider.forbidden, *boxes))


def relate_levels(
    related: Related,
    layout: Layout,
    boundaries: Sequence[FloatArray],
    ensemble: Ensemble,
    query: Query,
    space: FeatureSpace,
) -> RelatedLevels:
    """Relations of a query over its levels."""
    options = {}
    for index in sorted(related.features):
        feature, ends = space.features[index], None
        if index in related.any_number:
            own = levels_of(feature, layout, None)
            boundary, admissible = boundaries[feature.column], query.admissible[index]
            unsure = (ensemble.unsure or {}).get(feature.column)
            ends = level_ends(own.value, boundary, ensemble.dtype, admissible, feature, unsure)
        options[index] = levels_of(feature, layout, ends)
    numbers = {index: own.without(space.features[index].codes) for index, own in options.items()}
    sums = SumLevels(related.rows, related.any_number, numbers, query, space)
    return RelatedLevels(related, options, sums, len(layout.axes))
