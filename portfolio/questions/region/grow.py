"""A region around a row grows side by side, until the proof that the decision holds fails."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from encoders.arrays import BoolArray, IntArray
from encoders.backends.interface import Request
from portfolio.questions.region.extents import Extent, Extents
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
        """Add as much of a feature as the decision allows, given the other features."""
        extent = self.extents[0].each[index]
        if self.over:
            self.settled &= bool(self.allowed[index].all())
            return
        if extent.ordered:
            if extent.absent[extent.own]:
                self._add_numbers(index, extent)
            else:
                self._push(index, np.arange(extent.own, extent.present.size))
                self._push(index, np.arange(extent.own, -1, -1))
            others = np.flatnonzero(extent.absent & ~self.allowed[index])
        else:
            others = np.flatnonzero(~self.allowed[index])
        if others.size > 1 and self._take(index, others) is None:
            return
        for option in others.tolist():
            self._take(index, np.array([option]))

    def _add_numbers(self, index: int, extent: Extent) -> None:
        """Add an interval of numbers where the row has no value: the longest, counted in cells."""
        cells = extent.present
        while cells.size:
            flip = self._flip_in(index, cells)
            if flip is None:
                runs = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1)
                self.allowed[index][max(runs, key=len)] = True
                return
            fewer = cells[extent.level[cells] != extent.level[flip]]
            if flip < 0 or fewer.size == cells.size:
                self.settled = False
                return
            cells = fewer

    def _push(self, index: int, way: IntArray) -> None:
        """Extend an interval as far along a way as the decision holds, by halving."""
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

    def _take(self, index: int, options: IntArray) -> int | None:
        """Add options if the decision holds in them, too; returns what :meth:`_flip_in` does."""
        flip = self._flip_in(index, options)
        if flip is None:
            self.allowed[index][options] = True
        return flip

    def _flip_in(self, index: int, options: IntArray) -> int | None:
        """Return the option of a row that is predicted differently once options are added.

        None if there is no such row, -1 if it is not known.
        """
        wider = self.allowed[index].copy()
        wider[options] = True
        tried = [*self.allowed[:index], wider, *self.allowed[index + 1 :]]
        for flip in self._flips:
            if all(option >= 0 and own[option] for option, own in zip(flip, tried, strict=True)):
                return flip[index]
        for side, extents in zip(self.sides, self.extents, strict=True):
            narrowed = extents.narrowed(tried, side.query.admissible)
            found = side.find_within(extents.levels(tried), narrowed, self.request, self.deadline)
            if found.flip is not None:
                values = side.space.values(found.flip.row)
                pairs = zip(extents.each, values.tolist(), strict=True)
                self._flips.append([extent.option(value) for extent, value in pairs])
                self._found.append(found.flip)
                return self._flips[-1][index]
            if not found.proved:
                self.settled = False
                return -1
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
