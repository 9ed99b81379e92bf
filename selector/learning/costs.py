"""What schedules cost: seconds on the clock, and seconds of cores."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.backends.registry import find_backend
from selector.backend_facts import HEAD_STARTER
from selector.learning.contention import Contention
from selector.schedule import Schedule

ALONE = (1.0, 0.0)  # how much slower, and seconds to begin with


class Spent(NamedTuple):
    """What rows took, a run without proof counting some time limits.

    Attributes
    ----------
    wall : wall-clock seconds, float64 (n_rows,)
    cores : the same, every second counted once for each backend that runs, but at most once for
        each core, float64 (n_rows,)
    """

    wall: FloatArray
    cores: FloatArray


class Runs(NamedTuple):
    """What backends took alone.

    Attributes
    ----------
    seconds : until the proof, inf without one, by the name of a backend: float64 (n_rows,)
    penalised : the same, without a proof what counts instead
    limit_s : of each row, float64 (n_rows,)
    late_s : what counts where a schedule ends without a proof, float64 (n_rows,)
    kept : whether models are kept, bool (n_rows,)
    """

    seconds: Callable[[str], FloatArray]
    penalised: Callable[[str], FloatArray]
    limit_s: FloatArray
    late_s: FloatArray
    kept: BoolArray


def spent_by(schedule: Schedule, runs: Runs, contention: Contention) -> Spent:
    """What a schedule takes on each row.

    What runs in a turn and the next one goes on. Racers are as much slower as was measured, or
    share the cores; the head starter has the threads of all cores while it is alone. A session
    asks the first of the last turn that it can ask.
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
        took = runs.penalised if last else runs.seconds  # it goes on until the limit
        found = np.min([(took(name) - done[name]) * slower for name in names], axis=0)
        found += offset + start
        open_rows = np.isinf(wall)
        ends = open_rows & (found <= offset + seconds)
        teamed = racers == 1 and slower < 1
        held = contention.cores if teamed else min(racers, contention.cores)
        cores += held * np.where(ends, found - offset, np.where(open_rows, seconds, 0.0))
        wall = np.where(ends, found, wall)
        offset += seconds
        done = {name: work + max(0.0, seconds - start) / slower for name, work in done.items()}
    if len(schedule) > 1 or racers > 1 or teamed:
        late = wall > runs.limit_s
        cores = np.where(late, cores + held * (runs.late_s - wall), cores)
        wall = np.where(late, runs.late_s, wall)
    names = schedule[-1][0]
    keeper = next((name for name in names if find_backend(name).capability.sessions), names[0])
    alone = runs.penalised(keeper)
    return Spent(np.where(runs.kept, alone, wall), np.where(runs.kept, alone, cores))
