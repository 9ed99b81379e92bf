"""From all features to a reason: by deletion, then by hitting sets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from encoders.arrays import BoolArray, IntArray
from portfolio.questions.flips import Flips
from portfolio.questions.reasons.hitting import fewest
from portfolio.questions.side import Flip
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress


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

        Parameters
        ----------
        order : int64 (n_features,), the one to be freed first comes first
        """
        for feature in order.tolist():
            self.free[feature] = True
            found = self.flips.find(self.free)
            if found.flip is None and found.proved:
                self._tell()
                continue
            self.free[feature] = False
            if found.flip is None:
                self.settled = False
                continue
            self.witness[feature] = found.flip
            self.known.append(found.flip)
            self.lower = max(self.lower, _apart(self.known))
        self.doubt = self.flips.doubt(self.free)
        self.proved = self.settled and not self.doubt
        self._tell()

    def shrink(self, asker: Asker) -> None:
        """Fewest features that touch every known flip; where they do not suffice, a new flip.

        Parameters
        ----------
        asker : its workers find the fewest
        """
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
    taken, count = np.zeros_like(known[0].changed), 0
    for flip in sorted(known, key=lambda flip: int(flip.changed.sum())):
        if not (taken & flip.changed).any():
            taken = taken | flip.changed
            count += 1
    return count
