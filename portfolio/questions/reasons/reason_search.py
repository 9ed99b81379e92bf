"""From all features to a reason: by deletion, then by hitting sets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from encoders.arrays import BoolArray, IntArray
from portfolio.questions.flips import Flips
from portfolio.questions.reasons.hitting import fewest
from portfolio.questions.side import Flip, Found
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

# Of the time left, for a proof about all features that are left. Where it takes longer, half of
# them are tried; with a larger share less is left for these.
SHARE = 0.1


@dataclass(eq=False)
class Search:
    """Looks for a reason, and keeps what is known.

    Attributes
    ----------
    flips : finds rows that are decided otherwise
    n_features : of the space
    began : ``time.perf_counter()`` at the call
    on_progress : told (seconds, upper, lower) sizes
    free : bool (n_features,), what the reason leaves out
    witness : for a feature of the reason, a row that shows that it is needed
    known : every flip found, each of which a reason must touch
    lower : no reason is smaller
    settled : every feature was decided about
    proved : all that was asked for is proved
    doubt : why nothing is
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
        """Free one feature after another, as long as the decision stays.

        Which features these are is guessed first, by walks, and then proved of all of them at
        once. Each of the others has a row that moves it and what was freed before it.
        """
        left, most = order.tolist(), order.size
        while left:
            block, needed, rest = self._guess(left, most)
            free = self.free.copy()
            free[block] = True
            found = self._settle(free, len(block), len(left))
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
            left, most = rest, 2 * most
            self.witness |= needed
            self.lower = max(self.lower, _apart(self.known))
            self._tell()
        self.doubt = self.flips.doubt(self.free)
        self.proved = self.settled and not self.doubt
        self._tell()

    def _settle(self, free: BoolArray, block: int, left: int) -> Found:
        """Whether free features flip the decision; a block of them has a share of the time."""
        if not block:
            return Found(None, True)
        if block == 1:
            return self.flips.find(free)
        deadline = time.perf_counter() + SHARE * self._left() * block / left
        return replace(self.flips, deadline=deadline).find(free)

    def _known(self, free: BoolArray) -> Flip | None:
        """A row that was found before."""
        moves = set(np.flatnonzero(free).tolist())
        return next((flip for flip in self.known if flip.features <= moves), None)

    def _guess(self, left: list[int], most: int) -> tuple[list[int], dict[int, Flip], list[int]]:
        """Return free features, flips that prove others necessary, and the undecided features."""
        free, block, needed = self.free.copy(), list[int](), dict[int, Flip]()
        for at, feature in enumerate(left):
            free[feature] = True
            flip = self._known(free) or self.flips.walk(free)
            if flip is None:
                block.append(feature)
                if len(block) == most:
                    return block, needed, left[at + 1 :]
                continue
            free[feature] = False
            needed[feature] = flip
            if flip not in self.known:
                self.known.append(flip)
        return block, needed, []

    def shrink(self, asker: Asker) -> None:
        """Fewest features that touch every known flip; where they do not suffice, a new flip."""
        self.proved = False
        while self._size() > self.lower:
            hit = fewest(
                [flip.changed for flip in self.known], asker, self.flips.request, self._left()
            )
            if hit is None:
                return
            self.lower = max(self.lower, int(hit.sum()))
            self._tell()
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
        """More flips that have nothing in common with this one, as long as there are any."""
        held = hit.copy()
        while True:
            self.known.append(flip)
            held |= flip.changed
            found = self.flips.find(~held)
            if found.flip is None:
                if found.proved and int(held.sum()) < self._size():
                    self._replace(~held)
                return
            flip = found.flip

    def _replace(self, free: BoolArray) -> None:
        """A smaller reason takes the place of the one that was known."""
        self.free, self.witness = free, {}
        self._tell()

    def show(self) -> None:
        """A row for every feature of the reason that shows that it is needed, where time allows."""
        for feature in np.flatnonzero(~self.free).tolist():
            if feature in self.witness:
                continue
            freed = self.free.copy()
            freed[feature] = True
            found = self.flips.find(freed)
            if found.flip is not None:
                self.witness[feature] = found.flip

    def confirm(self) -> None:
        """Ask the model itself about every row that was found; if it denies one, all are out."""
        doubt = self.flips.confirm([*self.known, *self.witness.values()])
        if doubt:
            self.doubt, self.proved = doubt, False
            self.witness, self.lower = {}, 0

    def _size(self) -> int:
        return int((~self.free).sum())

    def _left(self) -> float:
        return self.flips.deadline - time.perf_counter()

    def _tell(self) -> None:
        if self.on_progress is not None:
            self.on_progress(
                time.perf_counter() - self.began, float(self._size()), float(self.lower)
            )


def _apart(known: Sequence[Flip]) -> int:
    """How many flips have nothing in common, counted from the smallest: a bound on reasons."""
    taken, count = frozenset[int](), 0
    for flip in sorted(known, key=lambda flip: len(flip.features)):
        if taken.isdisjoint(flip.features):
            taken |= flip.features
            count += 1
    return count
