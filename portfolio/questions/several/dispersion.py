"""Max-min dispersion: the ``k`` rows with the largest minimum pairwise distance.

Rows are put into groups around one row each. The distance of two groups is bounded from above by
that of their rows. As long as ``k`` groups may be farther apart than the best rows found, one of
them is split. When no such groups remain, optimality is proved. If distances violate the triangle
inequality, each row is a separate group.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from portfolio.questions.several.ruler import Ruler

MOST_GROUPS = 4_000  # their distance matrix takes 128 MiB

SAME = 1e-9  # relative tolerance within which distances are equal

HALVINGS = 20  # bisection steps of the gap between the bounds, after the search

OnBounds = Callable[[float, float], None]  # called with (upper, lower)


@dataclass(eq=False)
class RowGroups:
    """Partition of rows into groups; it starts with a single group."""

    ruler: Ruler  # distance between rows
    values: FloatArray  # float64 (n_rows, n_features)
    member: IntArray = field(init=False)  # int64 (n_rows,), group of each row
    centre: list[int] = field(init=False)  # central row of each group
    reach: list[float] = field(init=False)  # largest distance of a group's rows from its centre
    _away: FloatArray = field(init=False)  # distance of each row from the centre of its group
    _gap: FloatArray = field(init=False)  # distances between centres, with spare capacity

    def __post_init__(self) -> None:
        self.member = np.zeros(len(self.values), dtype=np.int64)
        self._away = self._from(np.arange(len(self.values)), 0)
        self.centre, self.reach = [0], [float(self._away.max())]
        self._gap = np.zeros((64, 64))

    @property
    def full(self) -> bool:
        """True if the largest number of groups is reached."""
        return len(self.centre) >= MOST_GROUPS

    def farther(self, apart: float) -> BoolArray:
        """Return which groups may have rows farther apart than this, bool (n_groups, n_groups)."""
        size, reach = len(self.centre), np.array(self.reach)
        most = self._gap[:size, :size] + reach[:, None] + reach[None, :]
        joined: BoolArray = most > apart
        np.fill_diagonal(joined, False)
        return joined

    def split(self, group: int) -> None:
        """Move the row farthest from the centre, and all rows nearer to it, to a new group."""
        rows = np.flatnonzero(self.member == group)
        new, size = int(rows[self._away[rows].argmax()]), len(self.centre)
        away = self._from(rows, new)
        nearer = away < self._away[rows]
        self.member[rows[nearer]], self._away[rows[nearer]] = size, away[nearer]
        self.centre.append(new)
        self.reach[group] = float(self._away[rows[~nearer]].max())
        self.reach.append(float(away[nearer].max()))
        if size == len(self._gap):
            self._gap = np.pad(self._gap, (0, size))
        to_centres = self.ruler.between(self.values[[new]], self.values[self.centre])[0]
        self._gap[size, : size + 1] = self._gap[: size + 1, size] = to_centres

    def _from(self, rows: IntArray, row: int) -> FloatArray:
        return self.ruler.between(self.values[rows], self.values[[row]])[:, 0]


def find_clique(joined: BoolArray, size: int, over: Callable[[], bool]) -> IntArray | None:
    """Return a clique of the given size, int64 (size,), in no order; None if there is none.

    Branch and bound by colours: nodes of one colour are not adjacent, so a clique has at most as
    many nodes as there are colours (Tomita and Seki, 2003).
    """
    alive = np.arange(len(joined))
    while True:
        enough = joined[np.ix_(alive, alive)].sum(axis=1) >= size - 1
        if enough.all():
            break
        alive = alive[enough]
    if alive.size < size:
        return None
    packed = np.packbits(joined[np.ix_(alive, alive)], axis=1, bitorder="little")
    clique = _grown([int.from_bytes(row.tobytes(), "little") for row in packed], size, over)
    return None if clique is None else alive[np.array(clique)]


def _grown(neighbours: list[int], size: int, over: Callable[[], bool]) -> list[int] | None:
    """Return a clique as a list of nodes, or None.

    Nodes are bits of integers, and sets of nodes are integers.
    """

    def among(nodes: int, need: int) -> list[int] | None:
        if need == 0:
            return []
        if over():
            raise TimeoutError
        for node, colours in reversed(_coloured(neighbours, nodes)):
            if colours < need:
                return None
            rest = among(nodes & neighbours[node], need - 1)
            if rest is not None:
                return [node, *rest]
            nodes &= ~(1 << node)
        return None

    return among((1 << len(neighbours)) - 1, size)


def _coloured(neighbours: list[int], nodes: int) -> list[tuple[int, int]]:
    """Return the nodes by colour, each with the number of colours up to its own."""
    order, colour = [], 0
    while nodes:
        colour += 1
        free = nodes
        while free:
            node = (free & -free).bit_length() - 1
            order.append((node, colour))
            nodes &= ~(1 << node)
            free &= ~(1 << node) & ~neighbours[node]
    return order


@dataclass(eq=False)
class Dispersion:
    """Search for the rows that are farthest apart.

    Attributes
    ----------
    ruler : Ruler, distance between rows.
    values : float64 (n_rows, n_features), at least ``k`` rows, the cheapest first.
    k : int, number of rows, at least 2.
    over : callable () -> bool, whether to stop the search.
    late : callable () -> bool, whether to stop improving the bound afterwards.
    report : callable (upper, lower), called whenever a bound changes.
    chosen : int64 (k,), best rows found, ascending.
    apart : float, their smallest distance.
    upper : float, upper bound on the smallest distance of any ``k`` rows.
    metric : bool, whether the triangle inequality holds.
    """

    ruler: Ruler
    values: FloatArray
    k: int
    over: Callable[[], bool]
    late: Callable[[], bool]
    report: OnBounds = lambda upper, lower: None
    chosen: IntArray = field(init=False)
    apart: float = field(init=False, default=-1.0)
    upper: float = field(init=False)
    metric: bool = field(init=False)
    _groups: RowGroups = field(init=False)

    def __post_init__(self) -> None:
        differ = (self.values != self.values[0]).any(axis=0)
        self.ruler, self.values = self.ruler.only(differ), self.values[:, differ]
        self.upper = self.ruler.widest(self.values)
        self.metric = self.ruler.keeps_triangles(self.values)
        self._groups = RowGroups(self.ruler, self.values)
        self._take(self._from(0))
        self._take(self._from(int(self._distances([0])[:, 0].argmax())))

    @property
    def proved(self) -> bool:
        """True if no other rows are farther apart (proved)."""
        return self.upper <= self.apart * (1 + SAME)

    def run(self) -> None:
        """Search until the best rows are proved optimal or the time is over."""
        try:
            if not self.proved:
                self._refine()
        except TimeoutError:
            if self.metric and max(self._groups.reach) <= self.apart / 2:
                self._bound()
        self.report(self.upper, self.apart)

    def _distances(self, rows: "list[int] | IntArray") -> FloatArray:
        """Return distances of all rows to some, float64 (n_rows, n_some)."""
        return self.ruler.between(self.values, self.values[rows])

    def _from(self, row: int) -> IntArray:
        """Return rows chosen greedily, each the farthest (Gonzalez, 1985), then exchanged."""
        chosen, least = [row], self._distances([row])[:, 0]
        while len(chosen) < self.k:
            least[chosen] = -1.0
            chosen.append(int(least.argmax()))
            reach = float(least[chosen[-1]])
            least = np.minimum(least, self._distances(chosen[-1:])[:, 0])
        if self.metric:  # two of any k rows are nearest to the same one of k - 1 rows
            self.upper = min(self.upper, 2 * reach)
        return self._exchanged(np.array(chosen))

    def _exchanged(self, chosen: IntArray) -> IntArray:
        """Replace single rows by the farthest one, as long as that helps."""
        gaps, idle, at = self._distances(chosen), 0, 0
        while idle < self.k:
            least = np.delete(gaps, at, axis=1).min(axis=1)
            better = int(least.argmax())
            idle += 1
            if least[better] > least[chosen[at]] * (1 + SAME):
                chosen[at], idle = better, 0
                gaps[:, at] = self._distances([better])[:, 0]
            at = (at + 1) % self.k
        return chosen

    def _take(self, chosen: IntArray) -> None:
        apart = self.ruler.least(self.values[chosen])
        if apart > self.apart:
            self.chosen, self.apart = np.sort(chosen), apart
            self.report(self.upper, self.apart)

    def _refine(self) -> None:
        """Split groups until no ``k`` of them may be farther apart than the best rows."""
        for group in self._too_wide():
            self._groups.split(group)
        while True:
            rival = find_clique(self._groups.farther(self.apart * (1 + SAME)), self.k, self.over)
            if rival is None:
                self.upper = self.apart
                return
            centres = np.array(self._groups.centre)[rival]
            if self.ruler.least(self.values[centres]) > self.apart:
                self._take(self._exchanged(centres))
            for group in rival.tolist():
                if self._groups.reach[group] > 0:
                    self._check_room()
                    self._groups.split(group)

    def _too_wide(self) -> Iterator[int]:
        """Yield groups that may contain two rows of a better set."""
        group, groups = 0, self._groups
        while group < len(groups.centre):
            while groups.reach[group] > (self.apart / 2 if self.metric else 0.0):
                self._check_room()
                yield group
            group += 1

    def _check_room(self) -> None:
        if self.over() or self._groups.full:
            raise TimeoutError

    def _bound(self) -> None:
        """Lower the upper bound by bisection, as far as the current groups allow."""
        low, high = self.apart, self.upper
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            try:
                rival = find_clique(self._groups.farther(middle), self.k, self.late)
            except TimeoutError:
                return
            if rival is None:
                self.upper = high = middle
            else:
                low = middle

    def cheapest(self) -> IntArray:
        """Return rows as far apart as the best, each as cheap as possible; ascending."""
        chosen = self.chosen.copy()
        for at in range(self.k):
            others = np.delete(chosen, at)
            least = self._distances(others).min(axis=1)
            fits = least >= min(self.apart, float(least[chosen[at]]))
            fits[others] = False
            chosen[at] = int(np.flatnonzero(fits)[0])
        return np.sort(chosen)
