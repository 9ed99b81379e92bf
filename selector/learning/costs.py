"""Candidate schedules for leaves, and their cost in wall-clock and core seconds."""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from encoders.backends.interface import Capability
from encoders.backends.registry import find_backend
from encoders.core.arrays import BoolArray, FloatArray
from selector.candidates import HEAD_STARTER, backend_of
from selector.learning.contention import Contention
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


ALONE = (1.0, 0.0)  # slow-down factor and start-up seconds of a backend that runs alone


class Spent(NamedTuple):
    """Seconds per row; a run without proof counts as a multiple of its time limit.

    Attributes
    ----------
    wall : wall-clock seconds, float64 (n_rows,)
    cores : core seconds: each second times the number of busy cores, float64 (n_rows,)
    """

    wall: FloatArray
    cores: FloatArray


class Runs(NamedTuple):
    """Seconds that backends took alone.

    Attributes
    ----------
    seconds : function from the name of a backend to its seconds until the proof, inf without one,
        float64 (n_rows,).
    penalised : the same function with a penalty instead of inf.
    limit_s : time limits, float64 (n_rows,).
    late_s : penalty where a schedule ends without a proof, float64 (n_rows,).
    kept : whether backends reuse their models, bool (n_rows,).
    """

    seconds: Callable[[str], FloatArray]
    penalised: Callable[[str], FloatArray]
    limit_s: FloatArray
    late_s: FloatArray
    kept: BoolArray


def spent_by(schedule: Schedule, runs: Runs, contention: Contention) -> Spent:
    """Compute the seconds that a schedule takes on each row.

    A backend that also runs in the next turn continues. Races are slower by the measured factor, or
    else share the cores evenly. The head starter uses the threads of all cores while it runs alone.
    A session runs the backends of the last turn that keep models; if the first one needs no model,
    only that one.
    """
    rows = len(runs.limit_s)
    wall, cores = np.full(rows, np.inf), np.zeros(rows)
    offset, done = 0.0, dict[str, float]()  # seconds of work that each running backend has done
    for names, seconds in schedule:
        last, racers = math.isinf(seconds), len(names)
        measured = racers > 1 or names == (HEAD_STARTER,)
        slower, start = (
            (contention.slower(racers), contention.start_s(racers)) if measured else ALONE
        )
        done = {name: done.get(name, 0.0) for name in names}
        took = runs.penalised if last else runs.seconds  # the last turn runs until the time limit
        end = np.min([(took(name) - done[name]) * slower for name in names], axis=0)
        end += offset + start
        open_rows = np.isinf(wall)
        ends = open_rows & (end <= offset + seconds)
        teamed = racers == 1 and slower < 1
        busy = contention.cores if teamed else min(racers, contention.cores)
        cores += busy * np.where(ends, end - offset, np.where(open_rows, seconds, 0.0))
        wall = np.where(ends, end, wall)
        offset += seconds
        done = {name: work + max(0.0, seconds - start) / slower for name, work in done.items()}
    if len(schedule) > 1 or racers > 1 or teamed:
        late = wall > runs.limit_s
        cores = np.where(late, cores + busy * (runs.late_s - wall), cores)
        wall = np.where(late, runs.late_s, wall)
    if not runs.kept.any():
        return Spent(wall, cores)
    session = _spent_in_session(schedule[-1][0], runs, contention)
    return Spent(np.where(runs.kept, session.wall, wall), np.where(runs.kept, session.cores, cores))


def _spent_in_session(names: Sequence[str], runs: Runs, contention: Contention) -> Spent:
    """Compute the seconds of a session, which runs the last turn of a schedule."""
    usable = [name for name in names if _capability(name).sessions] or [names[0]]
    keepers = tuple(name for name in usable if not _capability(name).afresh)
    if usable[0] not in keepers or len(keepers) == 1:
        alone = runs.penalised(usable[0])
        return Spent(alone, alone)
    queries = runs._replace(kept=np.zeros_like(runs.kept))
    return spent_by(((keepers, math.inf),), queries, contention)


def _capability(name: str) -> Capability:
    return find_backend(backend_of(name)).capability
