"""Cost of schedules in wall-clock seconds and in core seconds."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.backends.registry import find_backend
from selector.backend_facts import HEAD_STARTER
from selector.learning.contention import Contention
from selector.schedule import Schedule

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
    A session runs the first backend of the last turn that supports sessions.
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
    names = schedule[-1][0]
    keeper = next((name for name in names if find_backend(name).capability.sessions), names[0])
    alone = runs.penalised(keeper)
    return Spent(np.where(runs.kept, alone, wall), np.where(runs.kept, alone, cores))
