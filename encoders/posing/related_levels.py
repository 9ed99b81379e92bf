"""Relations between features, as rows, boxes and further axes of a problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.errors import Over, look, never
from encoders.posing.axes import level_ends
from encoders.posing.feature_levels import LevelsOf, box_of, levels_of
from encoders.posing.layout import Layout
from encoders.posing.never_together import boxes_of
from encoders.posing.sum_levels import SumLevels
from encoders.problem.problem import Box, Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.query.related import PairCosts, Related
from encoders.trees.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class RelatedLevels:
    """Relations of a query and the levels that they are about.

    Attributes
    ----------
    related : the relations
    options : levels by index of feature
    sums : sums among the relations
    n_axes : number of axes of the problem, without those that relations add
    """

    related: Related
    options: Mapping[int, LevelsOf]
    sums: SumLevels
    n_axes: int

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
