"""Search for the most rows that a few actions can serve, by conflicts and their coverings.

A conflict is a set of rows that no action serves together (proved). The most rows that fit into
``k`` groups without a conflict bound what ``k`` actions can do. If there is an action for each of
the groups, the bound is reached; otherwise a group contains a new conflict.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import IntArray, starts
from encoders.problem.problem import LevelRow
from portfolio.engine.ask import Asker
from portfolio.questions.groups.group_rows import Found, GroupRows, Served
from portfolio.questions.set_problems import cheapest_levels, problem_of_rows

MOST_WEIGHTS = 2**26  # weights of all rows of a problem: half a gigabyte


Rows = frozenset[int]

REFUTED = (
    "The search claimed that no action serves some rows, but an action found later does. Nothing "
    "is proved."
)


def most_rows(
    n_rows: int,
    n_groups: int,
    conflicts: Sequence[frozenset[int]],
    asker: Asker,
    request: Request,
) -> IntArray | None:
    """Return the group of each row, int64 (n_rows,), 0 for none; None if not proved optimal."""
    if len(conflicts) * n_rows * n_groups**2 > MOST_WEIGHTS:
        return None
    # An axis per row, whose level 0 costs 1; level g is group g.
    size = np.minimum(np.arange(n_rows) + 1, n_groups) + 1
    start = starts(size)
    cost = np.zeros(int(start[-1]))
    cost[start[:-1]] = 1.0
    rows = []
    for members in conflicts:
        places = np.array(sorted(members))
        for group in range(1, n_groups + 1):
            inside = places[size[places] > group]
            if inside.size < places.size:
                continue  # one of these rows is never in this group
            weight = np.zeros(cost.size, dtype=np.int64)
            weight[start[places] + group] = 1
            rows.append(LevelRow(weight, places.size - 1))
    return cheapest_levels(problem_of_rows(start, cost, rows), asker, request)


@dataclass(eq=False)
class GroupSearch:
    """Search for actions.

    Attributes
    ----------
    rows : GroupRows, rows and the actions that they may share.
    n_actions : int, largest number of actions.
    asker : Asker, whose workers find the most rows without a conflict.
    request : Request of the search.
    deadline : float, ``time.perf_counter()`` at which to stop.
    report : callable (upper bound on the rows served, rows served), called when one changes.
    able : list of int, rows that some action serves, or that are undecided.
    conflicts : list of frozenset of int, rows that no action serves together, at least two each.
    known : list of Served, actions found.
    best : tuple of Served, actions that together serve most rows.
    bound : int, upper bound on the number of rows served.
    """

    rows: GroupRows
    n_actions: int
    asker: Asker
    request: Request
    deadline: float
    report: Callable[[int, int], None]
    able: list[int] = field(default_factory=list)
    conflicts: list[Rows] = field(default_factory=list)
    known: list[Served] = field(default_factory=list)
    best: tuple[Served, ...] = ()
    bound: int = 0

    @property
    def covered(self) -> Rows:
        """Rows that the best actions serve."""
        return frozenset().union(*(served.rows for served in self.best))

    @property
    def proved(self) -> bool:
        """True if no actions serve more rows than the best (proved)."""
        return len(self.covered) >= self.bound

    def run(self) -> None:
        """Search until optimality is proved or the time is over."""
        self.able = list(range(len(self.rows.queries)))
        self.bound = len(self.able)
        for row in list(self.able):
            if self._over():
                return
            if self.find(frozenset([row])).none:
                self.able.remove(row)
                self.bound -= 1
                self._report()
        self._grow()
        while not self.proved and not self._over():
            groups = self._most()
            if groups is None:
                return
            self.bound = min(self.bound, sum(map(len, groups)))
            self._report()
            settled = [self._settle(group) for group in groups]
            self._join(groups)
            if self.proved or not all(settled):
                return

    def find(self, rows: Rows) -> Found:
        """Return an action that serves all of some rows, or what is proved about them."""
        for served in self.known:
            if rows <= served.rows:
                return Found(served)
        for conflict in self.conflicts:
            if conflict <= rows:
                return Found(None, conflict)
        outcome = self.rows.find(rows, self.request, self.deadline)
        if outcome.served is not None:
            self._take(outcome.served)
        elif len(outcome.conflict) > 1:
            self.conflicts.append(outcome.conflict)
        return outcome

    def _take(self, served: Served) -> None:
        self.known.append(served)
        able = frozenset(self.able)
        if not served.rows <= able or any(each <= served.rows for each in self.conflicts):
            self.rows.doubt = REFUTED
        best = list(self.best)
        options = [(*best, served)] if len(best) < self.n_actions else []
        options += [(*best[:at], served, *best[at + 1 :]) for at in range(len(best))]
        before = len(self.covered)
        for option in options:
            if len(_union(option)) > len(self.covered):
                self.best = option
        if len(self.covered) > before:
            self._report()

    def _grow(self) -> None:
        """Add rows greedily to each action, as long as one action serves them all."""
        covered: Rows = frozenset()
        for _ in range(self.n_actions):
            remaining = [row for row in self.able if row not in covered]
            if not remaining or self.proved or self._over():
                return
            first = max(self.known, key=lambda served: len(served.rows - covered))
            group = first.rows - covered
            for row in remaining:
                if row in group or self._over():
                    continue
                outcome = self.find(group | {row})
                if outcome.served is not None:
                    group = outcome.served.rows - covered
            covered |= group

    def _most(self) -> list[Rows] | None:
        """Return groups of the most rows that no known conflict excludes; None if unknown."""
        place = {row: at for at, row in enumerate(self.able)}
        conflicts = [frozenset(place[row] for row in each) for each in _least(self.conflicts)]
        left_s = max(self.deadline - time.perf_counter(), 0.0)
        group_of = most_rows(
            len(self.able),
            self.n_actions,
            conflicts,
            self.asker,
            replace(self.request, time_limit_s=left_s),
        )
        if group_of is None:
            return None
        every = np.array(self.able)
        groups = [frozenset(every[group_of == at].tolist()) for at in range(1, self.n_actions + 1)]
        return [group for group in groups if group]

    def _settle(self, group: Rows) -> bool:
        """Find an action for a group or disjoint conflicts in it; return False if neither."""
        while group:
            outcome = self.find(group)
            if not outcome.none:
                return outcome.served is not None
            conflict = self._shrunk(group)
            group -= conflict
            if self._over():
                return False
        return True

    def _join(self, groups: Sequence[Rows]) -> None:
        """Take one known action for each group, if together they serve more rows than the best.

        The best actions are otherwise replaced one at a time, which misses some combinations.
        """
        actions = (
            next((served for served in self.known if group <= served.rows), None)
            for group in groups
        )
        option = tuple(served for served in actions if served is not None)
        if len(_union(option)) > len(self.covered):
            self.best = option
            self._report()

    def _shrunk(self, rows: Rows) -> Rows:
        """Return a minimal conflict among rows, as far as the time allows."""
        for conflict in self.conflicts:
            if conflict < rows:
                return self._shrunk(conflict)
        needed: Rows = frozenset()
        remaining = sorted(rows)
        while remaining and not self._over():
            # Bisect for the shortest prefix that conflicts with the needed rows.
            if needed and self.find(needed).none:
                break
            low, high = 0, len(remaining)
            while high - low > 1:
                middle = (low + high) // 2
                if self.find(needed | frozenset(remaining[:middle])).none:
                    high = middle
                else:
                    low = middle
            needed |= {remaining[high - 1]}
            remaining = remaining[: high - 1]
        return needed if self.find(needed).none else rows

    def _over(self) -> bool:
        return self.request.stop.is_set() or time.perf_counter() >= self.deadline

    def _report(self) -> None:
        self.report(self.bound, len(self.covered))


def _union(actions: Sequence[Served]) -> Rows:
    return frozenset().union(*(served.rows for served in actions))


def _least(conflicts: Sequence[Rows]) -> list[Rows]:
    """Return the conflicts that contain no other conflict."""
    minimal: list[Rows] = []
    for conflict in sorted(conflicts, key=len):
        if not any(other <= conflict for other in minimal):
            minimal.append(conflict)
    return minimal
