"""Whom to ask at a leaf of a diagram, by what backends took there in one's own sessions.

A bandit on a leash. The backend that the diagram names is asked until enough is known of it. Then
the one is asked whose mean cost may be least: of what was seen the newest count, and the lower
confidence bound is that of kl-UCB (Garivier and Cappé, 2011; over a window as in Garivier and
Moulines, 2011). Another than the diagram's is asked only where the *allowance* covers all that it
may waste, as in conservative bandits (Wu, Shariff, Lattimore and Szepesvári, 2016), and for no
longer than that; then the diagram's own goes on. So whatever the costs do, n problems take at most

    (1 + share) * (what the diagram's own takes on them)

where "takes" is what it did take if it was asked, after another one or not, and else its mean at
that moment; and what backends go on for once they are told to stop.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

SHARE = 0.05  # of the seconds of the diagram's own, that asking others may cost
NEWEST = 500  # entries of a leaf that count; older ones are forgotten
FEWEST = 5  # entries of a backend that tell something
# Times the mean of the diagram's own: how long another one may try. In less than twice its time
# nobody proves who is a little slower, so that little would be learned of them.
LONGEST = 2.0
# The same, where the allowance covers no more and nothing was seen: who is many times as fast
# proves within that.
PEEK = 0.25
# Seconds for starting a backend and building its model, once a session; 2.5 s are the slowest
# tenth of MaxSAT's in training_logs.
BUILD_S = 2.0
SAVED = 5.0  # tries that failed, which what was saved may pay for; more would let others fail long
BISECTIONS = 40  # of an interval of [0, 1]


@dataclass(frozen=True)
class Took:
    """What a backend took for a problem.

    Attributes
    ----------
    backend : its name
    seconds : on the clock, without starting and building where that was for many problems
    proved : if not, it was stopped
    """

    backend: str
    seconds: float
    proved: bool


@dataclass(frozen=True)
class LeafCosts:
    """What is known of a leaf.

    Attributes
    ----------
    newest : what was seen, the oldest first, at most ``NEWEST``
    allowance_s : seconds that asking others than the diagram's own may still cost
    reverted : how often another one was given up that had been better before
    """

    newest: tuple[Took, ...] = ()
    allowance_s: float = 0.0
    reverted: int = 0

    def of(self, backend: str) -> list[Took]:
        """What was seen of one backend.

        Parameters
        ----------
        backend : its name
        """
        return [took for took in self.newest if took.backend == backend]


@dataclass(frozen=True)
class Asked:
    """Whom to ask.

    Attributes
    ----------
    backend : its name
    seconds : until the diagram's own is asked in its place; inf for the diagram's own
    usual_s : mean seconds of the diagram's own, nan if not known
    """

    backend: str
    seconds: float = math.inf
    usual_s: float = math.nan


def whom(
    leaf: LeafCosts, own: str, others: Sequence[str], limit_s: float, ready: Collection[str]
) -> Asked:
    """Whom to ask next.

    Parameters
    ----------
    leaf : what is known
    own : the backend that the diagram names
    others : that could be asked as well
    limit_s : of the problem; another one leaves as much of it as the diagram's own ever needed
    ready : those that have their model by now
    """
    seen = leaf.of(own)
    if len(seen) < FEWEST:
        return Asked(own)
    usual = _mean(seen)
    left_s = limit_s - max((took.seconds for took in seen if took.proved), default=0.0)
    tries = {name: _try(leaf, name, usual, name in ready, left_s) for name in others}
    # Who can't be afforded yet does not stand in the way of who can.
    able = [own, *(name for name in others if 0 < tries[name] <= leaf.allowance_s)]
    best = min(able, key=lambda name: _least_loss(leaf.of(name), usual, len(leaf.newest)))
    if best == own:  # also of equal ones
        return Asked(own, usual_s=usual)
    return Asked(best, tries[best], usual)


def _try(leaf: LeafCosts, backend: str, usual: float, ready: bool, left_s: float) -> float:
    """Seconds that another one gets; fewer, where the allowance covers no more, if they may be
    enough for it."""
    seen, build_s = leaf.of(backend), 0.0 if ready else BUILD_S
    seconds = LONGEST * usual
    if leaf.allowance_s < build_s + seconds:
        if not seen:
            seconds = PEEK * usual
        elif all(took.proved for took in seen):
            seconds = min(seconds, LONGEST * max(took.seconds for took in seen))
    return min(build_s + seconds, left_s)


def reserved(leaf: LeafCosts, asked: Asked) -> LeafCosts:
    """The leaf while another one is asked: nobody else may spend what that may cost.

    Parameters
    ----------
    leaf : what is known
    asked : as :func:`whom` gave it
    """
    if math.isinf(asked.seconds):
        return leaf
    return replace(leaf, allowance_s=leaf.allowance_s - asked.seconds)


def after_own(leaf: LeafCosts, took: Took, share: float) -> LeafCosts:
    """The leaf once the diagram's own was asked, and nobody before.

    Parameters
    ----------
    leaf : what was known
    took : by the diagram's own
    share : of its seconds that asking others may cost
    """
    newest = (*leaf.newest, took)[-NEWEST:]
    known = replace(leaf, newest=newest)
    return _allowed(known, took.backend, leaf.allowance_s + share * took.seconds)


def after_other(
    leaf: LeafCosts, asked: Asked, own: str, took: Took, spent_s: float, own_s: float, share: float
) -> LeafCosts:
    """The leaf once another one was asked, and then, if that did not prove, the diagram's own.

    Page's test of cumulative sums (1954) tells when it is worse than before: what is saved is put
    by, up to a limit, and what is wasted is taken from it. When there is nothing left, what was
    seen of a backend that was better until then counts no more.

    Parameters
    ----------
    leaf : what was known, with the seconds of ``asked`` reserved
    asked : as :func:`whom` gave it
    own : the backend that the diagram names
    took : by the other one
    spent_s : on the clock by the other one, all included
    own_s : then by the diagram's own; nan if it was not asked
    share : of what the diagram's own takes, that asking others may cost
    """
    before = leaf.allowance_s + asked.seconds
    usual = asked.usual_s if math.isnan(own_s) else own_s
    saved = asked.usual_s if math.isnan(own_s) else 0.0
    known = replace(leaf, newest=(*leaf.newest, took)[-NEWEST:])
    known = _allowed(known, own, before + share * usual + saved - spent_s)
    seen = known.of(took.backend)
    if known.allowance_s >= LONGEST * asked.usual_s or len(seen) < FEWEST:
        return known
    mine = _losses(known.of(own), asked.usual_s)
    if _average(_losses(seen, asked.usual_s)) >= _average(mine or [1.0]):
        return known  # it never was better
    rest = tuple(each for each in known.newest if each.backend != took.backend)
    return replace(known, newest=rest, reverted=known.reverted + 1)


def _allowed(leaf: LeafCosts, own: str, allowance_s: float) -> LeafCosts:
    """The leaf with its allowance, of which so much is kept as some tries waste that fail."""
    seen = leaf.of(own)
    most = BUILD_S + SAVED * LONGEST * _mean(seen) if seen else BUILD_S
    return replace(leaf, allowance_s=min(allowance_s, most))


def _mean(seen: Sequence[Took]) -> float:
    return _average([took.seconds for took in seen])


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _losses(seen: Sequence[Took], usual_s: float) -> list[float]:
    """Seconds as shares of what a try takes that fails, from 0 to 1."""
    most = (LONGEST + 1) * usual_s
    return [min(1.0, took.seconds / most) if took.proved else 1.0 for took in seen]


def _least_loss(seen: Sequence[Took], usual_s: float, of: int) -> float:
    """What the mean loss of a backend may be, at least."""
    return lower_bound(_average(_losses(seen, usual_s)), len(seen), of) if seen else 0.0


def lower_bound(mean: float, count: int, of: int) -> float:
    """The least q such that ``count * kl(mean, q) <= log(of)``, where kl is the relative entropy of
    two Bernoulli distributions: the lower confidence bound of kl-UCB with c = 0, as its authors
    advise.

    Parameters
    ----------
    mean : from 0 to 1
    count : that it is the mean of
    of : how many there are of all backends
    """
    low, high, most = 0.0, mean, math.log(of) / count
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _divergence(mean, middle) > most:
            low = middle
        else:
            high = middle
    return high


def _divergence(p: float, q: float) -> float:
    """Relative entropy of Bernoulli distributions, for q <= p."""
    if p <= q:
        return 0.0
    if q <= 0:
        return math.inf
    above = 0.0 if p >= 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return p * math.log(p / q) + above
