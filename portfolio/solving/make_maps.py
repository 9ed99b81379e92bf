"""Maps of a model for a question, if they are worth making."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np

from encoders.errors import InputError
from encoders.maps.region_map import DIVES, DIVING_S, Budget, Guess, guess, make_map, space_of
from encoders.posing.whole_space import WholeSpace, why_not_whole
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem
from encoders.query.constraints import MaxChanges
from encoders.query.goal import ClassGoal, Goal, ValueGoal, relative
from encoders.query.relations import Relation
from portfolio.fingerprint import fingerprint
from portfolio.goals import value_goal, wanted_of
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.question import Question, check_from_0
from portfolio.solving.ask import Asker
from portfolio.solving.map_files import VERSION, load_map, save_map
from portfolio.solving.mapped import GoalMap, Mapped
from portfolio.solving.warm_up import warm_up
from selector.maps import WAYS, may_be_worth_a_map, worth_a_map

USUAL = Budget()
NO_MAP = "no map is made of this model: {}; ask without one."


@dataclass(frozen=True, eq=False)
class Plan:
    """What there is to map.

    Attributes
    ----------
    model : the model
    spaces : the whole space of each view
    problems : by goal
    margin : in the user's score unit
    """

    model: ExplainedModel
    spaces: dict[ClassView, WholeSpace]
    problems: dict[Goal, Problem]
    margin: float

    def make(self, budget: Budget, folder: Path | None, over: Callable[[], bool]) -> Mapped:
        """The maps, as far as the budget reaches; those that are known are read.

        Parameters
        ----------
        budget : for all of them
        folder : where they are kept, None for nowhere
        over : whether to stop

        Raises
        ------
        InputError
            They are not worth making.
        """
        spaces = {goal: space_of(tabulate(own)) for goal, own in self.problems.items()}
        files = {goal: folder / f"{self._key(goal)}.npz" for goal in spaces if folder is not None}
        known = {goal: load_map(file, spaces[goal], budget) for goal, file in files.items()}
        fresh = [goal for goal in spaces if known.get(goal) is None]
        warm_up("maps")
        began = time.perf_counter()
        check_size(whole_guess([self.problems[goal] for goal in fresh]), budget)
        left, maps = budget, dict[Goal, GoalMap]()
        for goal, problem in self.problems.items():
            made = known.get(goal) or make_map(problem, left, over)
            if goal in files and goal in fresh and not over():
                save_map(files[goal], made, budget)
            left = budget.less(time.perf_counter() - began, made.megabytes)
            maps[goal] = GoalMap(self.spaces[self.model.views[goal.target]], made)
        return Mapped(maps, self.margin)

    def _key(self, goal: Goal) -> str:
        identity = self.model.identity_for(isinstance(goal, ValueGoal))
        return fingerprint(VERSION, identity, goal, self.margin)


def with_maps(
    asker: Asker, question: Question, budget: Budget = USUAL, folder: Path | None = None
) -> Asker:
    """The same asker, which answers by maps as far as they reach.

    Parameters
    ----------
    asker : of the model
    question : its target and margin count
    budget, folder : as of :meth:`Plan.make`

    Raises
    ------
    InputError
        They are not worth making, or there are none of such a model or target.
    """
    made = plan_maps(asker.model, question).make(budget, folder, lambda: asker.stopped)
    return replace(asker, answering=made)


def with_maps_if_worth(asker: Asker, question: Question, rows: int) -> Asker:
    """The same asker for a batch, with maps if they save more than they take.

    Parameters
    ----------
    asker : of the model
    question : that is asked of each row
    rows : how many
    """
    beyond = any(isinstance(own, Relation | MaxChanges) for own in question.constraints)
    if beyond or isinstance(asker.answering, Mapped) or not may_be_worth_a_map(rows):
        return asker
    try:
        plan = plan_maps(asker.model, question)
    except InputError:
        return asker
    warm_up("maps")
    expected = whole_guess(list(plan.problems.values()), inf, WAYS)
    if not worth_a_map(rows, expected):
        return asker
    return replace(asker, answering=plan.make(USUAL, None, lambda: asker.stopped))


def plan_maps(model: ExplainedModel, question: Question) -> Plan:
    """What there is to map for a question, whatever the row.

    Parameters
    ----------
    model : that is explained
    question : its target and margin count

    Raises
    ------
    InputError
        There is no map of such a model or target.
    """
    margin = question.lead(model.ensemble.votes)
    spaces: dict[ClassView, WholeSpace] = {}
    problems: dict[Goal, Problem] = {}
    for goal in _goals(model, question):
        view = model.views[goal.target]
        reason = why_not_whole(view.cells, model.space)
        if reason:
            raise InputError(NO_MAP.format(reason))
        own = spaces.setdefault(view, WholeSpace(view.ensemble, view.cells, model.space))
        problem = own.problem(goal, margin)
        if problem is None:
            raise InputError(NO_MAP.format("no rows over its leaves say exactly what is asked"))
        problems[goal] = problem
    return Plan(model, spaces, problems, margin)


def _goals(model: ExplainedModel, question: Question) -> list[Goal]:
    """All that rows may be asked to reach."""
    wanted = wanted_of(model, question.target)
    if wanted is None and question.target is None:
        return [ClassGoal(target) for target in range(len(model.native.classes))]
    if wanted is None:
        return [ClassGoal(model.native.class_index(question.target))]
    if relative(wanted):
        raise InputError(NO_MAP.format(f"{wanted} asks each row for something else"))
    return [value_goal(model, wanted, np.zeros(model.ensemble.n_columns))]  # looks at no row


def whole_guess(problems: Sequence[Problem], seconds: float = DIVING_S, most: int = DIVES) -> Guess:
    """How large the maps of some problems will be all together.

    Parameters
    ----------
    problems : whole, as of :class:`WholeSpace`
    seconds, most : for each, as of :func:`guess`
    """
    each = [guess(problem, seconds, most) for problem in problems]
    nodes, looks = sum(own.nodes for own in each), sum(own.looks for own in each)
    return Guess(nodes, looks, sum(own.seconds for own in each))


def budget_of(seconds: float, megabytes: float) -> Budget:
    """A budget as users give it, checked.

    Parameters
    ----------
    seconds, megabytes : from 0 on
    """
    check_from_0("seconds", seconds)
    check_from_0("megabytes", megabytes)
    return Budget(float(seconds), float(megabytes))


def check_size(expected: Guess, budget: Budget) -> None:
    """Raise :class:`InputError` unless maps are worth making.

    Parameters
    ----------
    expected : of all of them
    budget : for all of them
    """
    if not expected.within(budget):
        raise InputError(
            f"a map of this model would have about {expected.nodes:.1g} boxes and take about "
            f"{expected.seconds:.1g} s and {expected.megabytes:.1g} MB, which is far more than "
            f"{budget.seconds:g} s and {budget.megabytes:g} MB; ask without a map, or give it more "
            "seconds and megabytes."
        )
