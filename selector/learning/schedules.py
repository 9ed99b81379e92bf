"""Candidate schedules for the leaves of diagrams."""

import math
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from encoders.arrays import FloatArray
from selector.backend_facts import HEAD_STARTER
from selector.schedule import Schedule, alone

# On the solo queries of training_logs the head starter alone proves 97 % within SLICE_S, and 77 %
# within 0.1 s, so that no other process has to start.
SLICE_S = 2.0  # time limit of the first of two backends in sequence
HEAD_STARTS_S = (0.1, SLICE_S)  # delays before others join a race
DIGITS = 3  # significant digits of switch times, which are rounded up


def candidates(
    backends: Sequence[str], cores: int, seconds: FloatArray, switches: int = 0
) -> tuple[Schedule, ...]:
    """Return the candidate schedules, more robust ones later.

    They include single backends, and the head starter for a time slice before or after another
    backend. They include races of up to as many backends as cores, with a head start for the head
    starter.

    If ``switches`` is above 0, each backend is also followed by each other one at that many times.
    With two cores the other one may join instead of replacing the first. The times are quantiles of
    the proof times of the first backend, because the best switch time is always a proof time.
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
    """Return quantiles of the times of proofs, rounded up to few digits."""
    proofs = seconds[np.isfinite(seconds)]
    if not count or not proofs.size:
        return []
    ranks = np.linspace(0, 1, count + 2)[1:-1]
    times = np.quantile(proofs, ranks, method="higher").tolist()
    return sorted({_rounded_up(time_s) for time_s in times if time_s > 0})


def _rounded_up(time_s: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(time_s)) - DIGITS + 1)
    return float(f"{math.ceil(time_s / unit) * unit:.{DIGITS + 1}g}")
