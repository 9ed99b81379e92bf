"""Answers from a map of the model, which is made once for many rows."""

import time
from dataclasses import dataclass, replace

import numpy as np

from encoders.backends.attempt import Provenance
from encoders.formulation.whole_space import Levels, WholeSpace
from encoders.query.goal import Goal
from encoders.query.query import Query
from encoders.search.maps.region_map import Nearest, RegionMap
from portfolio.engine.certificate import Certificate, Times
from portfolio.engine.question import MAP
from portfolio.engine.strategies import Reduced
from portfolio.engine.task import QueryTask, Solve
from portfolio.engine.verify import is_too_small, verify
from portfolio.model.explained_model import ExplainedModel


@dataclass(frozen=True, eq=False)
class GoalMap:
    """Map of some goals."""

    whole: WholeSpace  # space of the map
    goals: tuple[Goal, ...]  # goals that it distinguishes
    regions: RegionMap  # regions in which each goal may be reached, and unexplored boxes


@dataclass(frozen=True, eq=False)
class Mapped:
    """Stage that answers from maps where they suffice, and otherwise leaves a task to later ones.

    Thread safe; picklable, if the model is.
    """

    maps: tuple[GoalMap, ...]  # maps of different goals
    margin: float  # required lead that they were made for

    def __call__(self, task: QueryTask, rest: Solve) -> Certificate:
        """Return the cheapest answer to any of the goals."""
        certificate, strategy = None, task.strategy
        if self._reach(task) and isinstance(strategy, Reduced) and strategy.may_use(MAP):
            certificate = self._answer(task)
        if certificate is None:
            return rest(task)
        for goal in task.goals:
            task.progress.report(goal.target, certificate.distance, certificate.lower)
        return certificate

    def __str__(self) -> str:
        every = [each.regions for each in self.maps]
        regions, gaps = (sum(each.regions for each in every), sum(each.gaps for each in every))
        seconds = sum(each.seconds for each in every)
        size = sum(each.megabytes for each in every)
        open_ = f"; {gaps:,} boxes are unexplored" if gaps else ""
        return f"A map of {regions:,} regions, {size:.1f} MB, made in {seconds:.1f} s{open_}."

    def _reach(self, task: QueryTask) -> bool:
        """Return whether a query differs from the maps only in the costs of levels."""
        query = task.query
        return (
            query.related is None
            and not query.max_changes
            and query.margin == self.margin
            and all(any(goal in goal_map.goals for goal_map in self.maps) for goal in task.goals)
        )

    def _answer(self, task: QueryTask) -> Certificate | None:
        """Return the proved answer; None if maps leave it open, or the model rejects it."""
        began, query = time.perf_counter(), task.query
        levels_of: dict[WholeSpace, Levels | None] = {}
        best: tuple[GoalMap, Levels, Nearest] | None = None
        open_from, walk_s = np.inf, 0.0
        for goal_map in self.maps:
            places = [at for at, goal in enumerate(goal_map.goals) if goal in task.goals]
            if not places:
                continue
            if goal_map.whole not in levels_of:
                levels_of[goal_map.whole] = goal_map.whole.levels(query)
            levels, aggregate = levels_of[goal_map.whole], query.cost.aggregate
            if levels is None:
                return None
            upper = np.inf if best is None else best[2].cost
            walked = time.perf_counter()
            nearest = goal_map.regions.nearest(levels.cost, aggregate, places, upper)
            walk_s += time.perf_counter() - walked
            open_from = min(open_from, nearest.open_from)
            if nearest.choice is not None:
                best = goal_map, levels, nearest
        if best is None or best[2].cost > min(open_from, task.request.cutoff):
            return None
        encode_s = time.perf_counter() - began - walk_s
        return self._verified(task.model, query, *best, Times(encode_s, solve_s=walk_s))

    def _verified(
        self,
        model: ExplainedModel,
        query: Query,
        goal_map: GoalMap,
        levels: Levels,
        nearest: Nearest,
        times: Times,
    ) -> Certificate | None:
        began = time.perf_counter()
        assert nearest.choice is not None
        row, goal = goal_map.whole.decode(levels, nearest.choice), goal_map.goals[nearest.goals[0]]
        oracle = replace(model.oracle(goal.target), margin=query.margin)
        verified = verify(row, nearest.cost, replace(query, goal=goal), model.space, oracle)
        if verified is None or is_too_small(verified, query, model.space):
            return None
        return Certificate(
            answer=verified,
            lower=verified.distance,
            stop_reason="proved",
            times=times + Times(verify_s=time.perf_counter() - began),
            provenance=Provenance(MAP),
            margin=query.margin,
        )
