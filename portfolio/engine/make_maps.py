"""Maps of a model for a question, if they are worth their time."""

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, NarrowArray
from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole
from encoders.formulation.whole_space import WholeSpace, why_not_whole
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem
from encoders.query.constraints import MaxChanges
from encoders.query.goal import ClassGoal, Goal, ValueGoal, relative
from encoders.query.relations import Relation
from encoders.search.maps.region_map import (
    DIVES,
    DIVING_S,
    Budget,
    Guess,
    RegionMap,
    Space,
    guess,
    make_map,
    space_of,
)
from portfolio.engine.ask import Asker
from portfolio.engine.mapped import GoalMap, Mapped
from portfolio.engine.near_first import MANY_LEAVES
from portfolio.engine.question import Question, check_from_0
from portfolio.engine.warm_up import warm_up
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.fingerprint import fingerprint
from portfolio.model.goals import value_goal, wanted_of
from selector.choose import WAYS, may_be_worth_a_map, most_looks, worth_a_map

VERSION = 1  # of the file format and of the algorithm

USUAL = Budget()

# Two classes share one boundary. One map of three classes is smaller than three maps of one, but
# slower to make (SE, a forest of 20 trees: 54 and 97 MB; 16 s, and 3 s for each class).
TOGETHER = 2

NO_MAP = "this model cannot be mapped: {}. Query it without a map."


def load_map(path: Path, space: Space, budget: Budget) -> RegionMap | None:
    """Return a map from a file; None if absent, damaged, or smaller than the budget allows."""
    if not path.is_file():  # reading a pipe would block
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            tree, numbers, digest = file["tree"], file["numbers"], file["digest"].tobytes()
        depth, seconds, allowed_s, allowed_mb = (float(number) for number in numbers)
    except Exception:  # damaged bytes raise errors of many types
        return None
    if digest != _digest(path, tree, numbers, space):
        return None
    region_map = RegionMap(space, tree, int(depth), seconds)
    larger = budget.seconds > allowed_s or budget.megabytes > allowed_mb
    return None if region_map.gaps and larger else region_map


def save_map(path: Path, region_map: RegionMap, budget: Budget) -> None:
    """Save a map atomically; a folder that cannot be written is ignored."""
    numbers = np.array([region_map.depth, region_map.seconds, budget.seconds, budget.megabytes])
    digest = np.frombuffer(
        _digest(path, region_map.tree, numbers, region_map.space), dtype=np.uint8
    )

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            np.savez_compressed(file, tree=region_map.tree, numbers=numbers, digest=digest)

    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, write)


def _digest(path: Path, tree: NarrowArray, numbers: FloatArray, space: Space) -> bytes:
    """Return the digest of data, space and file name, so that a renamed file is invalid."""
    digest = hashlib.blake2b(path.stem.encode(), digest_size=16)
    for part in (tree, numbers, *space):
        digest.update(f"{part.dtype.str} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


@dataclass(frozen=True, eq=False)
class Sheet:
    """Goals and space of one map."""

    whole: WholeSpace  # the space
    goals: tuple[Goal, ...]  # goals that the map distinguishes
    problem: Problem  # the space with the rows of all goals
    goal_of: IntArray  # int64 (n_rows,), the goal of each row

    def guess(self, seconds: float = DIVING_S, most: int = DIVES, enough: float = inf) -> Guess:
        """Return an estimate of the size of the map."""
        return guess(self.problem, seconds, most, self.goal_of, enough)


@dataclass(frozen=True, eq=False)
class Plan:
    """Maps that a question needs."""

    model: ExplainedModel
    sheets: tuple[Sheet, ...]  # one for each view and goal, or for two goals together
    margin: float  # required lead in the user's score unit

    def make(
        self,
        budget: Budget,
        folder: Path | None,
        over: Callable[[], bool],
        expected: Guess | None = None,
    ) -> Mapped:
        """Return the maps, as far as the budget allows; those in the folder are loaded."""
        warm_up("maps")
        began = time.perf_counter()
        loaded = [self._load(sheet, budget, folder) for sheet in self.sheets]
        unknown = [s for s, from_file in zip(self.sheets, loaded, strict=True) if from_file is None]
        check_size(expected or added([sheet.guess() for sheet in unknown]), budget)
        remaining, maps = budget, list[GoalMap]()
        for sheet, from_file in zip(self.sheets, loaded, strict=True):
            region_map = from_file or make_map(sheet.problem, remaining, over, sheet.goal_of)
            if from_file is None and folder is not None and not over():
                save_map(self._file(sheet, folder), region_map, budget)
            remaining = budget.less(time.perf_counter() - began, region_map.megabytes)
            maps.append(GoalMap(sheet.whole, sheet.goals, region_map))
        return Mapped(tuple(maps), self.margin)

    def _load(self, sheet: Sheet, budget: Budget, folder: Path | None) -> RegionMap | None:
        if folder is None:
            return None
        return load_map(self._file(sheet, folder), space_of(tabulate(sheet.problem)), budget)

    def _file(self, sheet: Sheet, folder: Path) -> Path:
        identity = self.model.identity_for(isinstance(sheet.goals[0], ValueGoal))
        return folder / f"{fingerprint(VERSION, identity, sheet.goals, self.margin)}.npz"


def with_maps(
    asker: Asker, question: Question, budget: Budget = USUAL, folder: str | Path | None = None
) -> Asker:
    """Return the same asker, which answers from maps where they suffice."""
    place = None if folder is None else Path(folder)
    mapped = plan_maps(asker.model, question).make(budget, place, lambda: asker.stopped)
    return replace(asker, first=(mapped,))


def with_maps_if_worth(
    asker: Asker, question: Question, rows: int, budget: Budget = USUAL
) -> Asker:
    """Return the same asker for a batch, with maps if they save more time than they take."""
    beyond = any(
        isinstance(constraint, Relation | MaxChanges) for constraint in question.constraints
    )
    # Maps of so many leaves are never small, and encoding all of them takes seconds and memory.
    large = any(view.cells.node.size >= MANY_LEAVES for view in asker.model.views)
    is_mapped = any(isinstance(stage, Mapped) for stage in asker.first)
    if beyond or large or is_mapped or not may_be_worth_a_map(rows):
        return asker
    try:
        plan = plan_maps(asker.model, question)
    except InputError:
        return asker
    warm_up("maps")
    expected = list[Guess]()
    for sheet in plan.sheets:
        expected.append(sheet.guess(inf, WAYS, most_looks(rows)))
        if not worth_a_map(rows, added(expected)):
            return asker
    try:
        mapped = plan.make(budget, None, lambda: asker.stopped, added(expected))
    except InputError:  # the maps would far exceed the budget
        return asker
    return replace(asker, first=(mapped,))


def plan_maps(model: ExplainedModel, question: Question) -> Plan:
    """Return the plan of maps for a question, whatever the row."""
    margin = question.lead(model.ensemble.votes)
    of_view: dict[ClassView, list[Goal]] = {}
    for goal in _goals(model, question):
        of_view.setdefault(model.views[goal.target], []).append(goal)
    sheets = []
    for view, goals in of_view.items():
        reason = why_not_whole(view.cells, model.space)
        if reason:
            raise InputError(NO_MAP.format(reason))
        whole = WholeSpace(view.ensemble, view.cells, model.space)
        together = len(goals) if len(goals) <= TOGETHER else 1
        for at in range(0, len(goals), together):
            some = tuple(goals[at : at + together])
            posed = whole.problem(some, margin)
            if posed is None:
                raise InputError(
                    NO_MAP.format("no linear rows over its leaves express the target exactly")
                )
            sheets.append(Sheet(whole, some, *posed))
    return Plan(model, tuple(sheets), margin)


def _goals(model: ExplainedModel, question: Question) -> list[Goal]:
    """Return all goals that rows may have to reach."""
    number = wanted_of(model, question.target)
    if number is None and question.target is None:
        return [ClassGoal(target) for target in range(len(model.native.classes))]
    if number is None:
        return [ClassGoal(model.native.class_index(question.target))]
    if relative(number):
        raise InputError(NO_MAP.format(f"{number} is another target for each row"))
    return [value_goal(model, number, np.zeros(model.ensemble.n_columns))]  # the row is not used


def added(each: Sequence[Guess]) -> Guess:
    """Return the estimate of the total size of some maps."""
    nodes, looks = sum(part.nodes for part in each), sum(part.looks for part in each)
    return Guess(nodes, looks, sum(part.seconds for part in each))


def budget_of(seconds: float, megabytes: float) -> Budget:
    """Return a budget from the user's limits; raise InputError if they are invalid."""
    check_from_0("seconds", seconds)
    check_from_0("megabytes", megabytes)
    return Budget(float(seconds), float(megabytes))


def budget_before(ends_s: float | None, seconds: float | None, megabytes: float | None) -> Budget:
    """Return the user's budget, limited to half of the remaining seconds; rows need the rest."""
    budget = budget_of(
        USUAL.seconds if seconds is None else seconds,
        USUAL.megabytes if megabytes is None else megabytes,
    )
    return budget if ends_s is None else replace(budget, seconds=min(budget.seconds, ends_s / 2))


def check_size(expected: Guess, budget: Budget) -> None:
    """Raise InputError if maps would far exceed the budget."""
    if not expected.within(budget):
        raise InputError(
            f"a map of this model would have about {expected.nodes:.1g} boxes and take about "
            f"{expected.seconds:.1g} s and {expected.megabytes:.1g} MB, far more than the budget "
            f"of {budget.seconds:g} s and {budget.megabytes:g} MB. Query it without a map, or "
            "allow more seconds and megabytes."
        )
