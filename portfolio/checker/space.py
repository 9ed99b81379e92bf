"""What an admissible row can be: levels of each column, and leaves as boxes of them."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from portfolio.checker.trees import Array, Model, RejectedError

ONE = 2**40  # whole units of cost in "below"
MOST = 2**60  # sums of whole numbers stay below
LOWERED = 1 - 2.0**-47  # a factor: costs computed in floats are off by less


def check_costs(question: Any) -> None:
    """RejectedError where costs are no numbers, or may fall with distance.

    Parameters
    ----------
    question : of the record
    """
    for own in question["features"]:
        paid = [own["weight"], *(each for _, each in own["prices"] or ())]
        if not (float(question["power"]) >= 0 and all(0 <= each < math.inf for each in paid)):
            raise RejectedError(f"costs of {own['name']} are no numbers from 0 on")
        if not (own["unit"] > 0 and (own["step"] is None or own["step"] > 0)):
            raise RejectedError(f"unit or step of {own['name']} is not above 0")


def costs(feature: Any, value: Array, power: float) -> Array:
    """What moving a feature to each value costs, in floats that are a few roundings off.

    Parameters
    ----------
    feature : of the question
    value : float64 (n_values,); a category's place
    power : of the norm
    """
    changed, weight = value != feature["start"], float(feature["weight"])
    if feature["prices"] is not None:
        told = {float(v): float(paid) for v, paid in feature["prices"]}
        own: Array = weight * np.array(
            [told[v] if v != feature["start"] else 0.0 for v in value.tolist()]
        )
        return own
    if feature["kind"] in ("categorical", "binary") or power == 0:
        return np.asarray(weight * changed)
    far = np.abs(value - feature["start"]) / feature["unit"]
    return np.asarray(weight * (far if math.isinf(power) else far**power))


def multiples(feature: Any, low: Array, high: Array) -> Array:
    """Of each interval the two multiples of the feature's step that are nearest to its start.

    Parameters
    ----------
    feature : of the question
    low, high : float64 (n_intervals,)
    """
    step, found = Fraction("1" if feature["step"] is None else str(feature["step"])), []
    near = math.floor(Fraction(feature["start"]) / step)
    for a, b in zip(low.tolist(), high.tolist(), strict=True):
        first, last = math.ceil(Fraction(a) / step) - 1, math.floor(Fraction(b) / step) + 1
        first += sum(float(k * step) < a for k in (first, first + 1))
        last -= sum(float(k * step) > b for k in (last, last - 1))
        found += [float(min(max(k, first), last) * step) for k in (near, near + 1) if first <= last]
    return np.array(found)


def admissible(feature: Any, edges: Array) -> Array:
    """The values that a feature may take, of each cell at least the nearest to its start.

    Parameters
    ----------
    feature : of the question
    edges : last float64 of each cell but the last
    """
    lower, upper = (
        math.inf if v is None else float(v) for v in (feature["lower"], feature["upper"])
    )
    lower, start = -math.inf if feature["lower"] is None else lower, float(feature["start"])
    values = feature["values"]
    if feature["kind"] == "categorical" and values is None:
        values = range(len(feature["columns"]))
    if values is not None:
        value = np.array([float(v) for v in values if lower <= v <= upper])
    else:
        last = np.append(edges, np.finfo(np.float32).max)
        low = np.maximum(np.append(-last[-1], np.nextafter(last[:-1], np.inf)), lower)
        low, high = (
            ends[low <= np.minimum(last, upper)] for ends in (low, np.minimum(last, upper))
        )
        whole = feature["step"] is not None or feature["kind"] == "ordinal"
        value = multiples(feature, low, high) if whole else np.clip(start, low, high)
    return np.unique(np.append(value, start) if feature["stay"] else value)


class Least:
    """Least entries of many windows of an array at once.

    Parameters
    ----------
    entries : whole numbers, (n_entries,)
    """

    def __init__(self, entries: Any) -> None:
        rows = [np.asarray(entries, dtype=np.int64)]
        while 2 ** len(rows) <= rows[0].size:
            width = 2 ** (len(rows) - 1)
            rows.append(np.minimum(rows[-1], np.append(rows[-1][width:], rows[-1][-width:])))
        self.table = np.array(rows)
        self.power = np.log2(np.arange(rows[0].size + 2) + 0.5).astype(np.int64)

    def within(self, first: Array, last: Array) -> Array:
        """The least of first..last, for each pair.

        Parameters
        ----------
        first, last : int64, of one shape
        """
        power = self.power[last - first + 1]
        least: Array = np.minimum(
            self.table[power, first], self.table[power, last + 1 - (1 << power)]
        )
        return least


class Space:
    """What an admissible row can be: levels of each column, and the leaves as boxes of them.

    Parameters
    ----------
    model : as read
    question : of the record
    below : the bound, None for no limit
    """

    def __init__(self, model: Model, question: Any, below: float | None) -> None:
        features, self.model, self.power = question["features"], model, float(question["power"])
        self.below, columns = below, sorted(c for own in features for c in own["columns"])
        tested = np.concatenate([tree.column for tree in model.trees])
        last = np.concatenate([tree.last for tree in model.trees])
        if columns != list(range(len(columns))) or tested.max() >= len(columns):
            raise RejectedError("the features are not those of the model")
        self.edges, self.limits = [np.unique(last[tested == c]) for c in columns], []
        axes: dict[int, tuple[Array, Array, Array]] = {}  # cells, costs, whether they are changes
        for own in features:
            value = admissible(own, self.edges[own["columns"][0]])
            paid = self._units(costs(own, value, self.power), len(columns))
            if own["kind"] != "categorical":
                cell = np.searchsorted(self.edges[own["columns"][0]], value)
                changed = value != own["start"]
                order = np.lexsort((changed, paid, cell))
                first = order[np.append(True, np.diff(cell[order]) > 0)[: order.size]]
                axes[own["columns"][0]] = cell[first], paid[first], changed[first]
                continue
            for category, column in enumerate(own["columns"]):
                can = np.unique(value == category).astype(float)  # 0, 1 or both
                cell = np.searchsorted(self.edges[column], can)
                dear = np.where(can > 0, paid[value == category].sum(), 0)
                axes[column] = cell, dear, (can > 0) & (category != own["start"])
        self.cells = [axes[column][0] for column in columns]
        self.size = np.array([cell.size for cell in self.cells])
        if (self.size == 0).any():
            raise RejectedError("a feature has no admissible value")
        self.start = np.append(0, np.cumsum(self.size))
        self.groups: list[tuple[Array, Array]] = []  # axes, and the level of each that is a yes
        self.cost = np.concatenate(
            [axes[column][1] for column in columns] + [np.zeros(1, np.int64)]
        )
        for limit in question["max_changes"]:
            named = range(len(features)) if limit["features"] is None else limit["features"]
            mine = {column for index in named for column in features[index]["columns"]}
            told = np.concatenate([axes[c][2] & (c in mine) for c in columns])
            self.limits.append((told.astype(np.int64), int(limit["count"])))
        for own in (own for own in features if own["kind"] == "categorical"):
            allowed = admissible(own, np.zeros(0)).astype(int)
            self._share(np.array(own["columns"])[allowed])
        self.grouped = np.zeros(len(columns) + 1, dtype=bool)
        for group, _ in self.groups:
            self.grouped[group] = True
        self._grow()

    def _units(self, paid: Array, n_columns: int) -> Array:
        if self.below is None:
            return np.zeros(paid.shape, dtype=np.int64)
        most = MOST / ONE / (1 + n_columns)
        return np.floor(np.minimum(paid / self.below, most) * ONE * LOWERED).astype(np.int64)

    def _share(self, axes: Array) -> None:
        """What the category of a feature costs, told apart by column."""
        one = self.start[axes + 1] - 1
        paid, order = self.cost[one], np.argsort(self.cost[one], kind="stable")
        second = paid[order[min(1, order.size - 1)]]
        self.cost[one] -= 0 if math.isinf(self.power) else second
        self.cost[one[order[0]]] = paid[order[0]]
        if self.size[axes[order[0]]] > 1:
            self.cost[one[order[0]] - 1] = second
        self.groups.append((axes, one - self.start[axes]))

    def _possible(self, box: dict[int, tuple[int, int]]) -> bool:
        """Whether some choice of one category of each feature is in a leaf."""
        for axes, one in self.groups:
            ends = [box.get(a, (0, int(self.size[a]) - 1)) for a in axes.tolist()]
            sure = sum(lo == yes for (lo, _), yes in zip(ends, one.tolist(), strict=True))
            if sure > 1 or not any(
                hi == yes for (_, hi), yes in zip(ends, one.tolist(), strict=True)
            ):
                return False
        return True

    def _grow(self) -> None:
        """The leaves that an admissible row can get to, tree by tree, each with its literals."""
        tree_of, self.literals, score = [], [], []
        for number, tree in enumerate(self.model.trees):
            cut = [0] * tree.column.size  # levels that go left
            for node in np.flatnonzero(tree.column >= 0).tolist():
                edge = np.searchsorted(self.edges[tree.column[node]], tree.last[node])
                cut[node] = int(np.searchsorted(self.cells[tree.column[node]], edge, side="right"))
            waiting: list[tuple[int, dict[int, tuple[int, int]]]] = [(0, {})]
            while waiting:
                node, box = waiting.pop()
                a, at = int(tree.column[node]), cut[node]
                if a < 0:
                    if self._possible(box):
                        tree_of.append(number)
                        self.literals.append(box)
                        score.append(tree.score[node])
                    continue
                lo, hi = box.get(a, (0, int(self.size[a]) - 1))
                if at <= hi:
                    waiting.append((int(tree.right[node]), {**box, a: (max(lo, at), hi)}))
                if at > lo:
                    waiting.append((int(tree.left[node]), {**box, a: (lo, min(hi, at - 1))}))
        self.tree, self.score = np.array(tree_of), np.array(score)
        # Where a leaf has no more literals there is an axis of one level.
        self.axis = np.full((len(score), max(1, *map(len, self.literals))), self.size.size)
        self.first, self.last = np.zeros_like(self.axis), np.zeros_like(self.axis)
        for leaf, box in enumerate(self.literals):
            for k, (a, ends) in enumerate(box.items()):
                self.axis[leaf, k], (self.first[leaf, k], self.last[leaf, k]) = a, ends
