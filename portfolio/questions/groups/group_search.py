"""From single rows to the most that a few actions can serve: conflicts, and the most rows without.

A conflict is a set of rows that no action serves together (proved). The most rows that can be put
into ``k`` groups without a conflict bound what ``k`` actions can do. Where there is an action for
each of the groups, the bound is reached; else a group has a conflict that was not known.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from encoders.backends.interface import Request
from portfolio.questions.groups.group_cover import most_rows
from portfolio.questions.groups.group_rows import Found, GroupRows, Served
from portfolio.solving.ask import Asker

Rows = frozenset[int]
REFUTED = (
    "The search claimed that no action serves some rows, and one that was found later does, so "
    "nothing is proved."
)


@dataclass(eq=False)
class GroupSearch:
    """Looks for actions, and keeps what is known.

    Attributes
    ----------
    rows : and the actions that they might share
    n_actions : at most so many
    asker : its workers find the most rows without a conflict
    request : of the search
    deadline : ``time.perf_counter()`` at which to stop
    tell : told (most rows that there may be, rows served) whenever one changes
    able : rows that some action serves, or that are not known to have none
    conflicts : sets of rows that no action serves together, none of one row alone
    known : actions that were found
    best : the actions that serve most rows together
    bound : no actions serve more rows
    """

    rows: GroupRows
    n_actions: int
    asker: Asker
    request: Request
    deadline: float
    tell: Callable[[int, int], None]
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
        """Whether no actions serve more rows than the best."""
        return len(self.covered) >= self.bound

    def run(self) -> None:
        """Search until it is proved that no actions serve more rows, or time is over."""
        self.able = list(range(len(self.rows.queries)))
        self.bound = len(self.able)
        for row in list(self.able):
            if self._over():
                return
            if self.find(frozenset([row])).none:
                self.able.remove(row)
                self.bound -= 1
                self._told()
        self._grow()
        while not self.proved and not self._over():
            groups = self._most()
            if groups is None:
                return
            self.bound = min(self.bound, sum(map(len, groups)))
            self._told()
            settled = [self._settle(group) for group in groups]
            self._join(groups)
            if self.proved or not all(settled):
                return

    def find(self, rows: Rows) -> Found:
        """What is known of the actions that serve all of some rows."""
        for served in self.known:
            if rows <= served.rows:
                return Found(served)
        for conflict in self.conflicts:
            if conflict <= rows:
                return Found(None, conflict)
        found = self.rows.find(rows, self.request, self.deadline)
        if found.served is not None:
            self._take(found.served)
        elif len(found.conflict) > 1:
            self.conflicts.append(found.conflict)
        return found

    def _take(self, served: Served) -> None:
        self.known.append(served)
        able = frozenset(self.able)
        if not served.rows <= able or any(each <= served.rows for each in self.conflicts):
            self.rows.doubt = REFUTED
        kept = list(self.best)
        options = [(*kept, served)] if len(kept) < self.n_actions else []
        options += [(*kept[:at], served, *kept[at + 1 :]) for at in range(len(kept))]
        before = len(self.covered)
        for option in options:
            if len(_union(option)) > len(self.covered):
                self.best = option
        if len(self.covered) > before:
            self._told()

    def _grow(self) -> None:
        """For each action take rows up one by one, as long as one action serves them all."""
        taken: Rows = frozenset()
        for _ in range(self.n_actions):
            left = [row for row in self.able if row not in taken]
            if not left or self.proved or self._over():
                return
            first = max(self.known, key=lambda served: len(served.rows - taken))
            group = first.rows - taken
            for row in left:
                if row in group or self._over():
                    continue
                found = self.find(group | {row})
                if found.served is not None:
                    group = found.served.rows - taken
            taken |= group

    def _most(self) -> list[Rows] | None:
        """Groups of the most rows that no known conflict rules out."""
        place = {row: at for at, row in enumerate(self.able)}
        conflicts = [frozenset(place[row] for row in each) for each in _least(self.conflicts)]
        left = max(self.deadline - time.perf_counter(), 0.0)
        found = most_rows(
            len(self.able),
            self.n_actions,
            conflicts,
            self.asker,
            replace(self.request, time_limit_s=left),
        )
        if found is None:
            return None
        every = np.array(self.able)
        groups = [frozenset(every[found == at].tolist()) for at in range(1, self.n_actions + 1)]
        return [group for group in groups if group]

    def _settle(self, group: Rows) -> bool:
        """An action for a group, or conflicts in it that share no row; False if neither."""
        while group:
            found = self.find(group)
            if not found.none:
                return found.served is not None
            conflict = self._shrunk(group)
            group -= conflict
            if self._over():
                return False
        return True

    def _join(self, groups: Sequence[Rows]) -> None:
        """Take one known action for each group, if together they serve more rows than the best.

        The best actions are replaced one at a time, so they may miss what several new ones serve.
        """
        found = (
            next((served for served in self.known if group <= served.rows), None)
            for group in groups
        )
        option = tuple(served for served in found if served is not None)
        if len(_union(option)) > len(self.covered):
            self.best = option
            self._told()

    def _shrunk(self, rows: Rows) -> Rows:
        """A conflict among rows of which none can be left out, as far as time allows."""
        for conflict in self.conflicts:
            if conflict < rows:
                return self._shrunk(conflict)
        needed: Rows = frozenset()
        left = sorted(rows)
        while left and not self._over():
            # The fewest of what is left that are in conflict with what is needed, by halving.
            if needed and self.find(needed).none:
                break
            low, high = 0, len(left)
            while high - low > 1:
                middle = (low + high) // 2
                if self.find(needed | frozenset(left[:middle])).none:
                    high = middle
                else:
                    low = middle
            needed |= {left[high - 1]}
            left = left[: high - 1]
        return needed if self.find(needed).none else rows

    def _over(self) -> bool:
        return self.request.stop.is_set() or time.perf_counter() >= self.deadline

    def _told(self) -> None:
        self.tell(self.bound, len(self.covered))


def _union(actions: Sequence[Served]) -> Rows:
    return frozenset().union(*(served.rows for served in actions))


def _least(conflicts: Sequence[Rows]) -> list[Rows]:
    """Conflicts that hold no other one."""
    kept: list[Rows] = []
    for conflict in sorted(conflicts, key=len):
        if not any(other <= conflict for other in kept):
            kept.append(conflict)
    return kept
