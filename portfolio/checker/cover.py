"""The tree of boxes, and the reasons that close its leaves."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from portfolio.checker.space import MOST, ONE, Least, Space
from portfolio.checker.trees import Array, RejectedError

# First and last level of each axis, and the leaves that may be those of a cheap row; None is empty.
Box = tuple[Array, Array, Array] | None
MOST_OPEN = 10**5  # boxes that wait


class Cover:
    """The boxes that close a space for one class.

    Parameters
    ----------
    space : of the question
    target : class index
    lead : over each other class, 0 for what predict decides
    cover : of the record
    """

    def __init__(self, space: Space, target: int, lead: float, cover: Any) -> None:
        self.space, bias = space, space.model.bias
        self.limit = MOST if space.below is None else ONE
        self.begin = np.flatnonzero(np.append(True, np.diff(space.tree) > 0))
        self.rows = []  # weights from 0 on, and their least sum
        for rival in (r for r in range(bias.size) if r != target):
            most = np.maximum.reduceat(np.abs(space.score).max(axis=1), self.begin).sum()
            scale = 2.0 ** (57 - math.ceil(math.log2(most + 1)))
            weight = np.ceil(space.score[:, target] * scale) - np.floor(
                space.score[:, rival] * scale
            )
            needed = Fraction(lead) if lead else space.model.needed(target, rival)
            needed -= Fraction(float(bias[target])) - Fraction(float(bias[rival]))
            spare = np.minimum.reduceat(weight, self.begin).astype(np.int64)
            least = math.floor(needed * Fraction(scale)) - sum(spare.tolist())
            self.rows.append((weight.astype(np.int64) - spare[space.tree], least))
        self._charge(**cover["prices"])
        self.refused = [self._cell(np.array(row, dtype=float)) for row in cover["refused"]]
        self.cost = Least(space.cost)
        self.loads = [(Least(np.append(load, 0)), most) for load, most in space.limits]

    def _charge(self, rows: Any, worth: Any, toll: Any) -> None:
        """What leaves and levels cost at prices on what ties them together."""
        space, end = self.space, np.append(self.begin[1:], self.space.tree.size)
        told = [*worth, *toll, *(row[4] for row in rows)]
        if any(type(price) is not int or price < 0 for price in told):
            raise RejectedError("a price is no whole number from 0 on")
        if sum(told) > MOST:
            raise RejectedError("prices are too large")
        level, leaf = space.cost.copy(), np.zeros(space.tree.size, dtype=np.int64)
        for tree, a, above, v, price in rows:
            if not (0 <= tree < len(end) and 0 <= a < space.size.size and 0 <= v < space.size[a]):
                raise RejectedError("a price is on no level")
            own, first = slice(self.begin[tree], end[tree]), int(space.start[a])
            here = space.axis[own] == a
            if above:  # leaves wholly above a level pay it, and levels above are paid
                leaf[own] += price * (here & (space.first[own] > v)).any(axis=1)
                level[first + v + 1 : space.start[a + 1]] -= price
            else:
                leaf[own] += price * (here & (space.last[own] <= v)).any(axis=1)
                level[first : first + v + 1] -= price
        self.constant, most_gained = 0, 0
        for (load, most), price in zip(space.limits, toll, strict=True):
            level[:-1] += price * load
            self.constant -= price * most
        for (weight, needed), price in zip(self.rows, worth, strict=True):
            if needed > 0:
                gained = (price * weight.astype(object) + needed - 1) // needed
                most_gained += max(gained) * len(end)  # of all rivals: their sum must not wrap
                if most_gained > MOST:
                    raise RejectedError("prices are too large")
                leaf -= gained.astype(np.int64)
                self.constant += price
        self.leaf, self.level = leaf, Least(level)

    def _cell(self, row: Array) -> tuple[Array, Array]:
        """The box of all rows that share a row's leaves."""
        space, lo, hi = self.space, np.zeros_like(self.space.size), self.space.size - 1
        cells = [np.searchsorted(edges, v) for edges, v in zip(space.edges, row, strict=True)]
        level = [np.searchsorted(own, cell) for own, cell in zip(space.cells, cells, strict=True)]
        at = np.append(level, 0)[space.axis]
        inside = np.flatnonzero(((space.first <= at) & (at <= space.last)).all(axis=1)).tolist()
        lives = [
            own[k : k + 1] == cell for own, k, cell in zip(space.cells, level, cells, strict=True)
        ]
        parted = np.array_equal(space.tree[inside], np.arange(len(self.begin)))
        if not (parted and all(found.all() and found.size for found in lives)):
            raise RejectedError("a row that is said to be refused is not admissible")
        for a, (first, last) in (item for leaf in inside for item in space.literals[leaf].items()):
            lo[a], hi[a] = max(lo[a], first), min(hi[a], last)
        return lo, hi

    def settle(self, box: Box, a: int = 0, low: int = 0, high: int = MOST) -> Box:
        """The part of a box where an axis is within low..high, and a feature has one category.

        Parameters
        ----------
        box : to look at
        a, low, high : column, and its first and last level
        """
        if box is None or max(box[0][a], low) > min(box[1][a], high):
            return None
        lo, hi = box[0].copy(), box[1].copy()
        lo[a], hi[a] = max(lo[a], low), min(hi[a], high)
        for axes, one in self.space.groups:
            can = (lo[axes] <= one) & (one <= hi[axes])
            must = can & (lo[axes] == hi[axes])
            if not can.any() or must.sum() > 1:
                return None
            if can.sum() == 1 or must.any():
                only = np.where(must if must.any() else can, one, 1 - one)
                lo[axes] = hi[axes] = np.where(can, only, lo[axes])
        return lo, hi, box[2]

    def cheapest(self, lo: Array, hi: Array) -> tuple[Array, int]:
        """The least cost of each axis in a box, and of the box.

        Parameters
        ----------
        lo, hi : of the box, int64 (n_columns,)
        """
        space, largest = self.space, math.isinf(self.space.power)
        own = self.cost.within(space.start[:-1] + lo, space.start[:-1] + hi)
        total = int(own.max() if largest else own.sum())
        for axes, one in space.groups:
            can, paid = (lo[axes] <= one) & (one <= hi[axes]), space.cost[space.start[axes] + one]
            free = paid <= space.cost[space.start[axes] + np.maximum(one - 1, 0)]
            if not (can & (free | (lo[axes] == one))).any():  # none is chosen yet, or free
                least = int(paid[can].min())
                total = max(total, least) if largest else total + least
        return own, total

    def look(self, lo: Array, hi: Array, live: Array) -> tuple[str, Array]:
        """Why the leaves close a box ("" if they do not), and those that are left.

        "prices" is said where these alone do, as a tree without a leaf has an infinite one.

        Parameters
        ----------
        lo, hi, live : of the box
        """
        space, (own, total) = self.space, self.cheapest(lo, hi)
        level = self.level.within(space.start[:-1] + lo, space.start[:-1] + hi)
        lo, hi, own, axis = np.append(lo, 0), np.append(hi, 0), np.append(own, 0), space.axis[live]
        first, last = (
            np.maximum(lo[axis], space.first[live]),
            np.minimum(hi[axis], space.last[live]),
        )
        fits = (first <= last).all(axis=1)
        live, axis, first, last = live[fits], axis[fits], first[fits], last[fits]
        paid = self.cost.within(space.start[axis] + first, space.start[axis] + last)
        if math.isinf(space.power):
            cost = np.maximum(total, paid.max(axis=1, initial=0))
        else:  # what the category of a feature costs is in the total
            cost = total + np.where(space.grouped[axis], 0, paid - own[axis]).sum(axis=1)
        live = live[cost < self.limit]
        begin = np.searchsorted(space.tree[live], np.arange(self.begin.size + 1))
        if (np.diff(begin) == 0).any():
            return "prices", live
        least = np.minimum.reduceat(self.leaf[live], begin[:-1])
        room = self.limit - self.constant - int(level.sum()) - int(least.sum())
        if room <= 0:
            return "prices", live
        live = live[self.leaf[live] - least[space.tree[live]] < room]
        begin = np.searchsorted(space.tree[live], np.arange(self.begin.size))
        short = any(np.maximum.reduceat(w[live], begin).sum() < needed for w, needed in self.rows)
        return "trees" if short else "", live

    def closes(self, box: Box, reason: str, number: str = "-1") -> bool:
        """Whether a box holds nothing of interest, for the reason that is given.

        Parameters
        ----------
        box : to look at
        reason : of the record
        number : of the refused row
        """
        if box is None:
            return True
        if reason == "cost":
            return self.cheapest(*box[:2])[1] >= self.limit
        if reason == "limit":
            ends = self.space.start[:-1] + box[0], self.space.start[:-1] + box[1]
            return any(int(load.within(*ends).sum()) > most for load, most in self.loads)
        if reason == "refused" and 0 <= int(number) < len(self.refused):
            lo, hi = self.refused[int(number)]
            return bool((lo <= box[0]).all() and (box[1] <= hi).all())
        held = self.look(*box)[0] if reason in ("trees", "prices") else ""
        return held == "prices" or (reason == "trees" and held == "trees")

    def check(self, steps: Iterator[str]) -> None:
        """Walk through the tree of boxes; RejectedError at the first step that does not hold.

        Parameters
        ----------
        steps : lines of the record, each once
        """
        size, waiting = self.space.size, []
        now = self.settle((np.zeros_like(size), size - 1, np.arange(self.space.tree.size)))
        for number, line in enumerate(steps, 1):
            line = line.strip()
            what, *told = line.split()
            holds = True
            if what in ("split", "low", "high"):
                a, v = int(told[0]), int(told[1])
                low, high = self.settle(now, a, high=v), self.settle(now, a, low=v + 1)
                side, now = (low, high) if what == "low" else (high, low)
                if what == "split":
                    waiting.append(side)
                else:
                    holds = self.closes(side, *told[2:])
            elif what == "filter":
                now = now and (now[0], now[1], self.look(*now)[1])
            else:
                holds = self.closes(now, what, *told)
                if holds and not waiting:
                    if next(steps, None) is not None:
                        raise RejectedError("steps go on after the last box is closed")
                    return
                now = waiting.pop() if waiting else now
            if not holds or len(waiting) > MOST_OPEN:
                raise RejectedError(f"step {number}, {line!r}, does not hold")
        raise RejectedError("a box is left open at the end")
