"""A proof that others can check: the search walks once more, with the bound known."""

import base64
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.arrays import IntArray, owners
from encoders.backends.search.cover import RowPrices, cover, row_prices
from encoders.posing.pose import Posed, pose
from encoders.problem.problem import Problem
from encoders.query.goal import ClassGoal
from encoders.query.query import Query
from portfolio.checker.check import MOST_BYTES
from portfolio.checker.space import MOST, ONE
from portfolio.model.explained_model import ExplainedModel

STEP = ("split", "", "", "filter")
REASON = ("cost", "trees", "prices", "limit", "refused")
SIDE = ("low", "high")


@dataclass(frozen=True)
class Cover:
    """The proof for one class.

    Attributes
    ----------
    target : class index
    refused : rows that the model itself refused, though its sums are too near a tie to tell
    prices : of the rows that tie trees, columns and the goal together
    steps : of the tree of boxes, compressed
    n_steps : how many
    """

    target: int
    refused: tuple[tuple[float, ...], ...]
    prices: dict[str, Any]
    steps: bytes
    n_steps: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in a record."""
        return {
            "class": self.target,
            "refused": [list(row) for row in self.refused],
            "prices": self.prices,
            "steps": base64.b64encode(self.steps).decode(),
        }


@dataclass(frozen=True, eq=False)
class Limits:
    """What ends the writing of a proof.

    Attributes
    ----------
    n_bytes : of the steps, compressed
    deadline : ``time.perf_counter()``
    over : whether somebody interrupted
    """

    n_bytes: float
    deadline: float
    over: Callable[[], bool]

    def ended(self) -> str:
        """Why there is no time left, as a reason for there being no proof; "" if there is some."""
        if self.over():
            return "the work was interrupted"
        return "the time was up" if time.perf_counter() >= self.deadline else ""

    def full(self, n_bytes: int, n_letters: int) -> str:
        """The same, of steps that may be too many.

        Parameters
        ----------
        n_bytes : that they take, compressed
        n_letters : that they take as text
        """
        if n_bytes > self.n_bytes:
            return "its steps take more bytes than were allowed"
        return "it has more steps than the checker reads" if n_letters > MOST_BYTES else ""


class _Writer:
    """Steps as text, compressed as they come."""

    def __init__(self, limits: Limits) -> None:
        self.packer, self.parts, self.count = zlib.compressobj(9), [b""], 0
        self.limits, self.size, self.letters = limits, 0, 0

    def write(self, steps: IntArray) -> bool:
        """Take steps as of :func:`encoders.backends.search.cover.cover`; whether to go on."""
        text = "".join(map(_line, steps.tolist()))
        self.parts.append(self.packer.compress(text.encode("ascii")))
        self.count += len(steps)
        self.size, self.letters = self.size + len(self.parts[-1]), self.letters + len(text)
        return not (self.limits.ended() or self.limits.full(self.size, self.letters))

    def packed(self) -> bytes:
        """All of them."""
        return b"".join([*self.parts, self.packer.flush()])


def _line(step: list[int]) -> str:
    what, axis, level, side, reason = step
    if what == 0:
        return f"split {axis} {level}\n"
    if what == 1:
        return f"{SIDE[side]} {axis} {level} {REASON[reason]}\n"
    if what == 3:
        return "filter\n"
    return f"{REASON[reason]} {level}\n" if REASON[reason] == "refused" else f"{REASON[reason]}\n"


def prove(
    model: ExplainedModel,
    query: Query,
    goal: ClassGoal,
    upper: float,
    below: float | None,
    limits: Limits,
) -> Cover | str:
    """The cover of one class, or why there is none.

    Parameters
    ----------
    model : that is explained
    query : its goal is replaced
    goal : the class
    upper : what no admissible row of the class costs less than; inf for none at all
    below : a little less: what is claimed; None for inf
    limits : what ends it
    """
    if why := limits.ended():
        return why
    asked, view = replace(query, goal=goal), model.views[goal.target]
    posed = pose(view.ensemble, view.cells, model.space, asked)
    oracle = replace(model.oracle(goal.target), margin=query.margin)
    refused: list[tuple[float, ...]] = []

    def without(problem: Problem, levels: IntArray) -> Problem | None:
        row = posed.decode(levels)
        if oracle.accepts(row, goal):
            return None
        refused.append(tuple(row.tolist()))
        return problem.without(levels)

    problem = posed.problem
    if below is not None:  # the checker's whole numbers end there, too
        dearest = below * (MOST / ONE / (1 + len(model.space.columns)))
        problem = replace(problem, cost=np.minimum(problem.cost, dearest))
    prices = row_prices(problem, upper, 1.0 if below is None else below / ONE)
    writer = _Writer(limits)
    end = cover(problem, prices, upper, without, writer.write)
    if end == "refuted":
        return "a cheaper answer was found while the proof was written"
    steps = writer.packed()
    full = limits.full(len(steps), writer.letters)
    if why := full or ("" if end == "proved" else limits.ended()):
        return why
    told = _prices(posed, prices, None if below is None else below / ONE)
    return Cover(goal.target, tuple(refused), told, steps, writer.count)


def _prices(posed: Posed, prices: RowPrices | None, unit: float | None) -> dict[str, Any]:
    """Whole multiples of a unit, on rows named by tree, axis, side and level."""
    if prices is None or unit is None:
        n_rows, n_levels = len(posed.problem.leaf_rows), len(posed.problem.level_rows)
        return {"rows": [], "worth": [0] * n_rows, "toll": [0] * n_levels}
    coupling, given = prices.coupling, prices.given
    paid = np.flatnonzero(given.price > 0)
    problem = posed.problem
    tree = np.zeros(coupling.axis.size, dtype=np.int64)
    tree_of = owners(problem.tree_start)[owners(problem.leaf_start)]
    for row in (coupling.hi_row, coupling.lo_row):
        told = row >= 0
        tree[row[told]] = tree_of[told]
    rows = np.stack(
        [
            tree[paid],
            coupling.axis[paid],
            (~coupling.below[paid]).astype(np.int64),
            coupling.level[paid],
            np.rint(given.price[paid] / unit).astype(np.int64),
        ],
        axis=1,
    )
    return {
        "rows": rows.tolist(),
        "worth": np.rint(given.worth / unit).astype(np.int64).tolist(),
        "toll": np.rint(given.toll / unit).astype(np.int64).tolist(),
    }
