"""A conservative bandit that picks backends at a leaf of a diagram from observed times.

The diagram's backend runs until there are enough observations of it. Then the backend with the
smallest lower confidence bound of its mean cost runs. The bound is that of kl-UCB (Garivier and
Cappé, 2011) over a window of the newest observations (Garivier and Moulines, 2011).

An alternative to the diagram's backend runs only if the *allowance* covers all that it may waste,
and for no longer than that. This follows conservative bandits (Wu, Shariff, Lattimore and
Szepesvári, 2016). If the alternative does not prove, the diagram's backend runs after it. So
whatever the costs are, n problems take at most

    (1 + share) * (time of the diagram's backend on them)

plus the time that backends continue after they were stopped. The time of the diagram's backend on a
problem is the observed one if it ran, also after an alternative. Otherwise it is the mean of its
observations at that moment.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

SHARE = 0.05  # of the time of the diagram's backend, which alternatives may cost
NEWEST = 500  # observations kept per leaf; older ones are dropped
FEWEST = 5  # observations of a backend that are enough to judge it
# Time limit of an alternative, in means of the diagram's backend. With less than 2 a slightly
# slower backend would never prove, so little would be learned about it.
LONGEST = 2.0
# The same for a backend without observations if the allowance covers no more; enough for a backend
# that is several times faster.
PEEK = 0.25
# Allowed seconds for starting a backend and building its model, once per session. The slowest tenth
# of MaxSAT in training_logs takes 2.5 s.
BUILD_S = 2.0
SAVED = 5.0  # failed attempts that saved time may pay for; with more, bad backends run too long
BISECTIONS = 40  # of the interval [0, 1]


@dataclass(frozen=True)
class Took:
    """An observation: the time of one backend on one problem.

    Attributes
    ----------
    backend : str
        Name of the backend.
    seconds : float
        Wall-clock seconds, without start and model building if those served many problems.
    proved : bool
        Whether the backend finished with a proof; otherwise it was stopped.

    Examples
    --------
    >>> from counterfolio import OnlineCosts
    >>> from selector.online import Took
    >>> costs = OnlineCosts(explainer.diagram)
    >>> costs.record_default(0, Took("search", seconds=0.5, proved=True))
    >>> costs.leaves[0].of("search")
    [Took(backend='search', seconds=0.5, proved=True)]
    """

    backend: str
    seconds: float
    proved: bool


@dataclass(frozen=True)
class LeafCosts:
    """The observations at one leaf and the remaining allowance.

    Attributes
    ----------
    newest : tuple of Took
        Observations, the oldest first, at most ``NEWEST``.
    allowance_s : float
        Seconds that alternatives to the diagram's backend may still cost.
    reverted : int
        Number of times that an alternative was dropped after it had been better.

    Examples
    --------
    >>> from selector.online import LeafCosts, Took, after_own
    >>> leaf = after_own(LeafCosts(), Took("search", 10.0, True), share=0.05)
    >>> len(leaf.newest), leaf.allowance_s
    (1, 0.5)
    """

    newest: tuple[Took, ...] = ()
    allowance_s: float = 0.0
    reverted: int = 0

    def of(self, backend: str) -> list[Took]:
        """Return the observations of one backend.

        Parameters
        ----------
        backend : str
            Name of the backend.

        Returns
        -------
        list of Took
            Observations, the oldest first.

        Examples
        --------
        >>> from selector.online import LeafCosts, Took
        >>> leaf = LeafCosts((Took("search", 0.5, True), Took("cp", 2.0, False)))
        >>> leaf.of("cp")
        [Took(backend='cp', seconds=2.0, proved=False)]
        """
        return [took for took in self.newest if took.backend == backend]


@dataclass(frozen=True)
class Asked:
    """The backend to run next.

    Attributes
    ----------
    backend : str
        Name of the backend.
    seconds : float
        Seconds after which the diagram's backend takes over, inf for the diagram's backend.
    usual_s : float
        Mean seconds of the diagram's backend, nan if not known.

    Examples
    --------
    >>> from selector.online import LeafCosts, next_backend
    >>> next_backend(LeafCosts(), "search", ["cp"], limit_s=60, ready=[])
    Asked(backend='search', seconds=inf, usual_s=nan)
    """

    backend: str
    seconds: float = math.inf
    usual_s: float = math.nan


def next_backend(
    leaf: LeafCosts, own: str, others: Sequence[str], limit_s: float, ready: Collection[str]
) -> Asked:
    """Choose the backend to run next.

    Parameters
    ----------
    leaf : LeafCosts
        Observations at the leaf.
    own : str
        Name of the diagram's backend.
    others : sequence of str
        Names of the alternatives.
    limit_s : float
        Time limit of the problem in seconds. An alternative leaves as much of it as the diagram's
        backend ever needed.
    ready : collection of str
        Names of the backends that have already built their model.

    Returns
    -------
    Asked
        The backend and its time limit.

    Examples
    --------
    >>> from selector.online import LeafCosts, Took, next_backend
    >>> next_backend(LeafCosts(), "search", ["cp"], limit_s=60, ready=["cp"]).backend
    'search'
    >>> seen = LeafCosts(5 * (Took("search", 1.0, True),), allowance_s=2.0)
    >>> next_backend(seen, "search", ["cp"], limit_s=60, ready=["cp"])
    Asked(backend='cp', seconds=2.0, usual_s=1.0)
    """
    seen = leaf.of(own)
    if len(seen) < FEWEST:
        return Asked(own)
    usual = _mean(seen)
    left_s = limit_s - max((took.seconds for took in seen if took.proved), default=0.0)
    tries = {name: _try(leaf, name, usual, name in ready, left_s) for name in others}
    # A backend that the allowance does not cover yet must not block one that it covers.
    able = [own, *(name for name in others if 0 < tries[name] <= leaf.allowance_s)]
    best = min(able, key=lambda name: _least_loss(leaf.of(name), usual, len(leaf.newest)))
    if best == own:  # ties go to the diagram's backend
        return Asked(own, usual_s=usual)
    return Asked(best, tries[best], usual)


def _try(leaf: LeafCosts, backend: str, usual: float, ready: bool, left_s: float) -> float:
    """Return the time limit of an alternative in seconds.

    It is shorter if the allowance does not cover the usual limit but a shorter one may suffice.
    """
    seen, build_s = leaf.of(backend), 0.0 if ready else BUILD_S
    seconds = LONGEST * usual
    if leaf.allowance_s < build_s + seconds:
        if not seen:
            seconds = PEEK * usual
        elif all(took.proved for took in seen):
            seconds = min(seconds, LONGEST * max(took.seconds for took in seen))
    return min(build_s + seconds, left_s)


def reserved(leaf: LeafCosts, asked: Asked) -> LeafCosts:
    """Return the leaf with the time limit of an alternative subtracted from the allowance.

    So two sessions cannot spend the same allowance at the same time.

    Parameters
    ----------
    leaf : LeafCosts
        Observations at the leaf.
    asked : Asked
        Result of :func:`next_backend`.

    Returns
    -------
    LeafCosts
        The leaf while the backend runs.

    Examples
    --------
    >>> from selector.online import Asked, LeafCosts, reserved
    >>> reserved(LeafCosts(allowance_s=3.0), Asked("cp", seconds=2.0, usual_s=1.0)).allowance_s
    1.0
    """
    if math.isinf(asked.seconds):
        return leaf
    return replace(leaf, allowance_s=leaf.allowance_s - asked.seconds)


def after_own(leaf: LeafCosts, took: Took, share: float) -> LeafCosts:
    """Return the leaf after a run of the diagram's backend alone.

    Parameters
    ----------
    leaf : LeafCosts
        Observations before the run.
    took : Took
        Observation of the diagram's backend.
    share : float
        Share of its time that alternatives may cost, from 0 to 1.

    Returns
    -------
    LeafCosts
        The leaf with the new observation and a larger allowance.

    Examples
    --------
    >>> from selector.online import LeafCosts, Took, after_own
    >>> after_own(LeafCosts(), Took("search", 10.0, True), share=0.05).allowance_s
    0.5
    """
    newest = (*leaf.newest, took)[-NEWEST:]
    updated = replace(leaf, newest=newest)
    return _allowed(updated, took.backend, leaf.allowance_s + share * took.seconds)


def after_other(
    leaf: LeafCosts, asked: Asked, own: str, took: Took, spent_s: float, own_s: float, share: float
) -> LeafCosts:
    """Return the leaf after a run of an alternative.

    If the alternative did not prove, the diagram's backend ran after it. Page's cumulative sum test
    (1954) detects when an alternative became worse: saved time is added to the allowance, up to a
    limit, and wasted time is subtracted. When the allowance is used up, the observations of a
    backend that was better until then are dropped.

    Parameters
    ----------
    leaf : LeafCosts
        Observations before the run, with the time limit of ``asked`` reserved.
    asked : Asked
        Result of :func:`next_backend`.
    own : str
        Name of the diagram's backend.
    took : Took
        Observation of the alternative.
    spent_s : float
        Wall-clock seconds of the alternative, including start and model building.
    own_s : float
        Seconds of the diagram's backend after it, nan if it did not run.
    share : float
        Share of the time of the diagram's backend that alternatives may cost, from 0 to 1.

    Returns
    -------
    LeafCosts
        The leaf with the new observation and the new allowance.

    Examples
    --------
    >>> import math
    >>> from selector.online import Asked, LeafCosts, Took, after_other, reserved
    >>> asked = Asked("cp", seconds=2.0, usual_s=1.0)
    >>> leaf = reserved(LeafCosts((Took("search", 1.0, True),), allowance_s=2.0), asked)
    >>> after = after_other(leaf, asked, "search", Took("cp", 0.5, True), 0.5, math.nan, share=0.05)
    >>> round(after.allowance_s, 2)  # 2.0 + 0.05 x 1.0 + 0.5 saved
    2.55
    """
    before = leaf.allowance_s + asked.seconds
    usual = asked.usual_s if math.isnan(own_s) else own_s
    saved = asked.usual_s if math.isnan(own_s) else 0.0
    updated = replace(leaf, newest=(*leaf.newest, took)[-NEWEST:])
    updated = _allowed(updated, own, before + share * usual + saved - spent_s)
    seen = updated.of(took.backend)
    if updated.allowance_s >= LONGEST * asked.usual_s or len(seen) < FEWEST:
        return updated
    default = _losses(updated.of(own), asked.usual_s)
    if _average(_losses(seen, asked.usual_s)) >= _average(default or [1.0]):
        return updated  # it was never better
    rest = tuple(each for each in updated.newest if each.backend != took.backend)
    return replace(updated, newest=rest, reverted=updated.reverted + 1)


def _allowed(leaf: LeafCosts, own: str, allowance_s: float) -> LeafCosts:
    """Return the leaf with an allowance that is capped at the cost of ``SAVED`` failed attempts."""
    seen = leaf.of(own)
    most = BUILD_S + SAVED * LONGEST * _mean(seen) if seen else BUILD_S
    return replace(leaf, allowance_s=min(allowance_s, most))


def _mean(seen: Sequence[Took]) -> float:
    return _average([took.seconds for took in seen])


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _losses(seen: Sequence[Took], usual_s: float) -> list[float]:
    """Return times as shares of the cost of a failed attempt, from 0 to 1."""
    most = (LONGEST + 1) * usual_s
    return [min(1.0, took.seconds / most) if took.proved else 1.0 for took in seen]


def _least_loss(seen: Sequence[Took], usual_s: float, of: int) -> float:
    """Return the lower confidence bound of the mean loss of a backend."""
    return lower_bound(_average(_losses(seen, usual_s)), len(seen), of) if seen else 0.0


def lower_bound(mean: float, count: int, of: int) -> float:
    """Return the lower confidence bound of a mean by kl-UCB, with c = 0 as its authors advise.

    This is the smallest q with ``count * kl(mean, q) <= log(of)``, where kl is the relative entropy
    of two Bernoulli distributions.

    Parameters
    ----------
    mean : float
        Mean of the observations, from 0 to 1.
    count : int
        Number of observations of this backend.
    of : int
        Number of observations of all backends.

    Returns
    -------
    float
        Lower confidence bound, from 0 to ``mean``.

    Examples
    --------
    >>> from selector.online import lower_bound
    >>> [round(lower_bound(0.5, count, of=100), 3) for count in (5, 50)]
    [0.041, 0.295]
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
    """Return the relative entropy of two Bernoulli distributions, for q <= p."""
    if p <= q:
        return 0.0
    if q <= 0:
        return math.inf
    above = 0.0 if p >= 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return p * math.log(p / q) + above
