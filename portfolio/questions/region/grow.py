"""A region around a row grows side by side, until the proof that the decision holds fails."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from encoders.arrays import BoolArray
from encoders.backends.interface import Request
from portfolio.questions.region.extents import Extents
from portfolio.questions.side import WITNESSES, Flip, Side
from portfolio.solving.findings import REFUTED


@dataclass(eq=False)
class Growth:
    """Options of the features: the decision is proved to hold in all of them together.

    Attributes
    ----------
    sides : one per other decision
    extents : per side, the same options of the features as levels of its problem
    request : of the search
    deadline : ``time.perf_counter()`` at which to stop
    allowed : per feature bool (n_options,)
    settled : whether each side of the region was proved not to go further
    """

    sides: Sequence[Side]
    extents: Sequence[Extents]
    request: Request
    deadline: float
    allowed: list[BoolArray] = field(init=False)
    settled: bool = True
    _flips: list[list[int]] = field(default_factory=list)
    _found: list[Flip] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.allowed = []
        for extent in self.extents[0].each:
            self.allowed.append(np.zeros(extent.size, dtype=np.bool_))
            self.allowed[-1][extent.own] = True

    def widen(self, index: int) -> None:
        """Take in as much of a feature as the decision allows, given the other features.

        Parameters
        ----------
        index : of the feature
        """
        extent = self.extents[0].each[index]
        if self.over:
            self.settled &= bool(self.allowed[index].all())
            return
        if extent.ordered:
            self._push(index, np.arange(extent.own, extent.size))
            self._push(index, np.arange(extent.own, -1, -1))
            return
        others = np.flatnonzero(~self.allowed[index])
        if others.size and self._take(index, others) is None:
            return
        for option in others.tolist():
            self._take(index, np.array([option]))

    def _push(self, index: int, way: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> None:
        """As far along a way as the decision holds, by halving."""
        held, beyond = 0, way.size
        reach = beyond - 1
        while held < beyond - 1:
            flip = self._take(index, way[: reach + 1])
            if flip is None:
                held = reach
            elif flip < 0:
                return
            else:
                at = int(np.flatnonzero(way == flip)[0]) if flip in way[: reach + 1] else reach
                beyond = max(held + 1, min(reach, at))
            reach = (held + beyond) // 2

    def _take(
        self, index: int, options: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    ) -> int | None:
        """Add options if the decision holds in them, too.

        Returns None if it does, the option of a row that is decided otherwise, or -1 if neither was
        found out.
        """
        wider = self.allowed[index].copy()
        wider[options] = True
        tried = [*self.allowed[:index], wider, *self.allowed[index + 1 :]]
        for flip in self._flips:
            if all(option >= 0 and own[option] for option, own in zip(flip, tried, strict=True)):
                return flip[index]
        for side, extents in zip(self.sides, self.extents, strict=True):
            found = side.find_within(
                extents.levels(tried), extents.rules(tried), self.request, self.deadline
            )
            if found.flip is not None:
                values = side.space.values(found.flip.row)
                pairs = zip(extents.each, values.tolist(), strict=True)
                self._flips.append([extent.option(value) for extent, value in pairs])
                self._found.append(found.flip)
                return self._flips[-1][index]
            if not found.proved:
                self.settled = False
                return -1
        self.allowed[index] = wider
        return None

    @property
    def over(self) -> bool:
        """Whether there is no time left, or somebody interrupted."""
        return time.perf_counter() >= self.deadline or self.request.stop.is_set()

    def doubt(self) -> str:
        """Why the proofs are not to be believed; "" if they are."""
        for side, extents in zip(self.sides, self.extents, strict=True):
            side.confirm([flip for flip in self._found if flip.side is side])
            if not side.lawful or side.doubt or _refuted(side, extents.levels(self.allowed)):
                return side.doubt
        return ""


def _refuted(side: Side, keep: BoolArray) -> bool:
    """Whether a training row of the region is decided otherwise."""
    first = side.posed.problem.level_start[:-1]
    rows = side.posed.closest(side.view.near(side.query.goal), WITNESSES)
    for levels in rows[keep[first + rows].all(axis=1)]:
        row = side.posed.decode(levels)
        if side.oracle.accepts(row, side.query.goal):
            side.doubt = f"The search {REFUTED}."
            return True
    return False
