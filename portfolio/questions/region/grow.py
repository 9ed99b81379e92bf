"""Growth of a region around a row, one side at a time, with a proof for each step."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import BoolArray, IntArray
from portfolio.engine.findings import REFUTED
from portfolio.questions.region.extents import Extent, Extents
from portfolio.questions.side import WITNESSES, Flip, Side


@dataclass(eq=False)
class Growth:
    """Options of the features for which the prediction is proved to stay the same.

    Attributes
    ----------
    sides : sequence of Side, one per other decision.
    extents : sequence of Extents, the options of the features as levels of each side's problem.
    request : Request of the search.
    deadline : float, ``time.perf_counter()`` at which to stop.
    allowed : list of bool (n_options,), options inside the region, one array per feature.
    settled : bool, whether each side of the region is proved not to extend further.
    """

    sides: Sequence[Side]
    extents: Sequence[Extents]
    request: Request
    deadline: float
    allowed: list[BoolArray] = field(init=False)
    settled: bool = True
    _flips: list[list[int]] = field(default_factory=list)
    _confirmable: list[Flip] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.allowed = []
        for extent in self.extents[0].each:
            self.allowed.append(np.zeros(extent.size, dtype=np.bool_))
            self.allowed[-1][extent.row_option] = True

    def widen(self, index: int) -> None:
        """Add as much of a feature as the prediction allows, given the other features."""
        extent = self.extents[0].each[index]
        if self.over:
            self.settled &= bool(self.allowed[index].all())
            return
        if extent.ordered:
            if extent.absent[extent.row_option]:
                self._add_numbers(index, extent)
            else:
                self._push(index, np.arange(extent.row_option, extent.present.size))
                self._push(index, np.arange(extent.row_option, -1, -1))
            others = np.flatnonzero(extent.absent & ~self.allowed[index])
        else:
            others = np.flatnonzero(~self.allowed[index])
        if others.size > 1 and self._take(index, others) is None:
            return
        for option in others.tolist():
            self._take(index, np.array([option]))

    def _add_numbers(self, index: int, extent: Extent) -> None:
        """Add the interval with the most cells to a region of a row without a value."""
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
        """Extend an interval in one direction as far as the prediction holds, by bisection."""
        inside, beyond = 0, way.size
        reach = beyond - 1
        while inside < beyond - 1:
            flip = self._take(index, way[: reach + 1])
            if flip is None:
                inside = reach
            elif flip < 0:
                return
            else:
                at = int(np.flatnonzero(way == flip)[0]) if flip in way[: reach + 1] else reach
                beyond = max(inside + 1, min(reach, at))
            reach = (inside + beyond) // 2

    def _take(self, index: int, options: IntArray) -> int | None:
        """Add options if the prediction holds for them; return the same as :meth:`_flip_in`."""
        flip = self._flip_in(index, options)
        if flip is None:
            self.allowed[index][options] = True
        return flip

    def _flip_in(self, index: int, options: IntArray) -> int | None:
        """Return the option of a row that is predicted differently once options are added.

        Return None if no such row exists (proved), and -1 if that is undecided.
        """
        wider = self.allowed[index].copy()
        wider[options] = True
        tried = [*self.allowed[:index], wider, *self.allowed[index + 1 :]]
        for flip in self._flips:
            if all(option >= 0 and each[option] for option, each in zip(flip, tried, strict=True)):
                return flip[index]
        for side, extents in zip(self.sides, self.extents, strict=True):
            narrowed = extents.narrowed(tried, side.query.admissible)
            outcome = side.find_within(extents.levels(tried), narrowed, self.request, self.deadline)
            if outcome.flip is not None:
                values = side.space.values(outcome.flip.row)
                pairs = zip(extents.each, values.tolist(), strict=True)
                self._flips.append([extent.option(value) for extent, value in pairs])
                self._confirmable.append(outcome.flip)
                return self._flips[-1][index]
            if not outcome.proved:
                self.settled = False
                return -1
        return None

    @property
    def over(self) -> bool:
        """True if the time is over or the user interrupted."""
        return time.perf_counter() >= self.deadline or self.request.stop.is_set()

    def doubt(self) -> str:
        """Return the reason why the proofs are not valid, or ""."""
        for side, extents in zip(self.sides, self.extents, strict=True):
            side.confirm([flip for flip in self._confirmable if flip.side is side])
            if (
                not side.keeps_invariants
                or side.doubt
                or _refuted(side, extents.levels(self.allowed))
            ):
                return side.doubt
        return ""


def _refuted(side: Side, keep: BoolArray) -> bool:
    """Return whether a training row inside the region has a different prediction."""
    first = side.posed.problem.level_start[:-1]
    rows = side.posed.closest(side.view.near(side.query.goal), WITNESSES)
    for levels in rows[keep[first + rows].all(axis=1)]:
        row = side.posed.decode(levels)
        if side.oracle.accepts(row, side.query.goal):
            side.doubt = f"The search {REFUTED}."
            return True
    return False
