"""Search for sufficient reasons: by deletion, then by hitting sets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import BoolArray, IntArray
from portfolio.engine.ask import Asker
from portfolio.engine.progress import OnProgress
from portfolio.questions.flips import Flips
from portfolio.questions.set_problems import cheapest_levels, hitting_sets
from portfolio.questions.side import Flip, Found

# Share of the remaining time for a proof about all undecided features together. If it is not
# enough, half of them are tried; a larger share would leave less time for the halves.
SHARE = 0.1


def fewest(
    sets: Sequence[BoolArray], asker: Asker, request: Request, limit_s: float
) -> BoolArray | None:
    """Return the fewest features that intersect every set, bool (n_features,), or None."""
    if limit_s <= 0 or request.stop.is_set():
        return None
    limited = replace(request, time_limit_s=limit_s)
    levels = cheapest_levels(hitting_sets(sets), asker, limited)
    return None if levels is None else levels.astype(np.bool_)


@dataclass(eq=False)
class Search:
    """Search for a sufficient reason, with its state.

    Attributes
    ----------
    flips : finder of rows with another prediction.
    n_features : number of features.
    began : value of ``time.perf_counter()`` at the call.
    on_progress : function called with (seconds, size of the reason, lower bound on the size).
    free : bool (n_features,), features outside the reason.
    witness : flips by feature of the reason; each shows that the feature is needed.
    known : flips found so far; every reason contains a changed feature of each.
    lower : lower bound on the size of a reason.
    settled : True if every feature was decided.
    proved : True if the requested property is proved.
    doubt : reason why nothing is proved, or "".
    """

    flips: Flips
    n_features: int
    began: float
    on_progress: OnProgress | None
    free: BoolArray = field(init=False)
    witness: dict[int, Flip] = field(default_factory=dict)
    known: list[Flip] = field(default_factory=list)
    lower: int = 0
    settled: bool = True
    proved: bool = False
    doubt: str = ""

    def __post_init__(self) -> None:
        self.free = np.zeros(self.n_features, dtype=np.bool_)

    def delete(self, order: IntArray) -> None:
        """Free one feature after another as long as the prediction stays the same.

        Local search first guesses which features can be freed; one proof then covers all of them.
        For each other feature there is a flip that changes it and features freed before it.
        """
        undecided, most = order.tolist(), order.size
        while undecided:
            block, needed, rest = self._guess(undecided, most)
            free = self.free.copy()
            free[block] = True
            found = self._settle(free, len(block), len(undecided))
            if found.flip is not None:
                self.known.append(found.flip)
            if most > 1 and (found.flip is not None or not found.proved):
                most = max(1, len(block) // 2)
                continue
            if found.flip is not None:
                needed[block[0]] = found.flip
            elif found.proved:
                self.free = free
            else:
                self.settled = False
            undecided, most = rest, 2 * most
            self.witness |= needed
            self.lower = max(self.lower, _disjoint(self.known))
            self._report()
        self.doubt = self.flips.doubt(self.free)
        self.proved = self.settled and not self.doubt
        self._report()

    def _settle(self, free: BoolArray, block: int, undecided: int) -> Found:
        """Search for a flip by free features; a block of them gets a share of the time."""
        if not block:
            return Found(None, True)
        if block == 1:
            return self.flips.find(free)
        deadline = time.perf_counter() + SHARE * self._remaining_s() * block / undecided
        return replace(self.flips, deadline=deadline).find(free)

    def _known(self, free: BoolArray) -> Flip | None:
        """Return a flip found before that changes free features only, or None."""
        moves = set(np.flatnonzero(free).tolist())
        return next((flip for flip in self.known if flip.features <= moves), None)

    def _guess(self, order: list[int], most: int) -> tuple[list[int], dict[int, Flip], list[int]]:
        """Return free features, flips that prove others necessary, and the undecided features."""
        free, block, needed = self.free.copy(), list[int](), dict[int, Flip]()
        for at, feature in enumerate(order):
            free[feature] = True
            flip = self._known(free) or self.flips.walk(free)
            if flip is None:
                block.append(feature)
                if len(block) == most:
                    return block, needed, order[at + 1 :]
                continue
            free[feature] = False
            needed[feature] = flip
            if flip not in self.known:
                self.known.append(flip)
        return block, needed, []

    def shrink(self, asker: Asker) -> None:
        """Shrink the reason to a minimum hitting set of flips, adding flips until it suffices."""
        self.proved = False
        while self._size() > self.lower:
            changed = [flip.changed for flip in self.known]
            hit = fewest(changed, asker, self.flips.request, self._remaining_s())
            if hit is None:
                return
            self.lower = max(self.lower, int(hit.sum()))
            self._report()
            if self.lower >= self._size():
                break
            found = self.flips.find(~hit)
            if found.flip is None:
                if not found.proved:
                    return
                self._replace(~hit)
                break
            self._spread(hit, found.flip)
        self.doubt = self.doubt or self.flips.doubt(self.free)
        self.proved = not self.doubt

    def _spread(self, hit: BoolArray, flip: Flip) -> None:
        """Add flips that are disjoint from this one and from each other, until none is found."""
        fixed = hit.copy()
        while True:
            self.known.append(flip)
            fixed |= flip.changed
            found = self.flips.find(~fixed)
            if found.flip is None:
                if found.proved and int(fixed.sum()) < self._size():
                    self._replace(~fixed)
                return
            flip = found.flip

    def _replace(self, free: BoolArray) -> None:
        """Replace the reason by a smaller one."""
        self.free, self.witness = free, {}
        self._report()

    def show(self) -> None:
        """Find a flip for each feature of the reason, as far as time allows."""
        for feature in np.flatnonzero(~self.free).tolist():
            if feature in self.witness:
                continue
            free = self.free.copy()
            free[feature] = True
            found = self.flips.find(free)
            if found.flip is not None:
                self.witness[feature] = found.flip

    def confirm(self) -> None:
        """Verify all flips by the model; if it rejects one, nothing is proved."""
        doubt = self.flips.confirm([*self.known, *self.witness.values()])
        if doubt:
            self.doubt, self.proved = doubt, False
            self.witness, self.lower = {}, 0

    def _size(self) -> int:
        return int((~self.free).sum())

    def _remaining_s(self) -> float:
        return self.flips.deadline - time.perf_counter()

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(
                time.perf_counter() - self.began, float(self._size()), float(self.lower)
            )


def _disjoint(flips: Sequence[Flip]) -> int:
    """Return a number of disjoint flips, from the smallest on: a lower bound on reasons."""
    covered, count = frozenset[int](), 0
    for flip in sorted(flips, key=lambda flip: len(flip.features)):
        if covered.isdisjoint(flip.features):
            covered |= flip.features
            count += 1
    return count
