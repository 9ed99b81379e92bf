"""What a leaf may hold: backends, and who comes first, for how long, and who joins then."""

import math
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from encoders.arrays import FloatArray
from selector.backend_facts import HEAD_STARTER
from selector.schedule import Schedule, alone

# The head starter itself proves 97 % of the solo queries of training_logs within the first, and
# 77 % within the second, in which no other process need be woken.
SLICE_S = 2.0  # of the first of two that follow each other
HEAD_STARTS_S = (0.1, SLICE_S)  # before others join a race
DIGITS = 3  # of switch times, which are rounded up


def candidates(
    backends: Sequence[str], cores: int, seconds: FloatArray, switches: int = 0
) -> tuple[Schedule, ...]:
    """Schedules to choose among, what copes with more surprises last.

    Single backends; a slice of the head starter before another one, or of another one before
    it; as many that race as there are cores, the head starter being alone before. With
    switch times of one's own also each backend before each other one, which takes its place or,
    given two cores, joins it, at some of the times that the first was seen to prove at: whatever
    the rows, the best time to switch is one of those.
    """
    single = [alone(name) for name in backends]
    others = [name for name in backends if name != HEAD_STARTER]
    turns: list[Schedule] = []
    if len(others) < len(backends):
        turns += [(((HEAD_STARTER,), SLICE_S), *alone(name)) for name in others]
        turns += [(((name,), SLICE_S), *alone(HEAD_STARTER)) for name in others]
    first = sorted(backends, key=lambda name: name != HEAD_STARTER)
    races = [
        race
        for count in range(2, cores + 1)
        for names in combinations(first, count)
        for race in _races(names)
    ]
    joined: list[Schedule] = []
    for name, other in permutations(backends, 2):
        for time_s in _times(seconds[:, list(backends).index(name)], switches):
            turns.append((((name,), time_s), *alone(other)))
            joined.append((((name,), time_s), ((name, other), math.inf)))
    return (*dict.fromkeys((*single, *turns, *(joined if cores > 1 else ()), *races)),)


def _races(names: tuple[str, ...]) -> list[Schedule]:
    race = (names, math.inf)
    if HEAD_STARTER not in names:
        return [(race,)]
    return [((names[:1], head_s), race) for head_s in sorted(HEAD_STARTS_S, reverse=True)]


def _times(seconds: FloatArray, count: int) -> list[float]:
    """Some of the times of proofs, rounded up to few digits."""
    proofs = seconds[np.isfinite(seconds)]
    if not count or not proofs.size:
        return []
    ranks = np.linspace(0, 1, count + 2)[1:-1]
    times = np.quantile(proofs, ranks, method="higher").tolist()
    return sorted({_rounded_up(time_s) for time_s in times if time_s > 0})


def _rounded_up(time_s: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(time_s)) - DIGITS + 1)
    return float(f"{math.ceil(time_s / unit) * unit:.{DIGITS + 1}g}")
