"""Measured slow-down of races, and speed-up by threads, relative to one backend on one thread."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from encoders.core.text_files import read_text
from encoders.core.whole_files import write_text

CONTENTION = "contention.json"  # file name, in the folder of the logs
FORMAT = 1
CORES = 2  # of the machine of the shipped logs
# Shorter queries determine the start-up time of a race; longer ones determine its slow-down.
BRIEF_S = 0.2
RESAMPLES = 1000  # bootstrap samples


@dataclass(frozen=True)
class RacedQuery:
    """Query that a race and each racer alone solved on the same machine.

    Attributes
    ----------
    query : name of the query, which may have several races.
    racers : number of backends in the race; 1 if the head starter ran on all cores.
    alone_s : wall-clock seconds of the fastest racer alone on one thread, median over rounds.
    race_s : wall-clock seconds of the race, median over rounds.
    """

    query: str
    racers: int
    alone_s: float
    race_s: float


@dataclass(frozen=True)
class Pace:
    """The seconds of a race, modelled as ``start_s + slower * seconds of its fastest racer``.

    Attributes
    ----------
    slower : factor; below 1 if threads or shared bounds save more than sharing the cores costs.
    interval : 95 % bootstrap interval of ``slower`` over queries.
    start_s : start-up time in seconds.
    queries : number of measured queries.
    """

    slower: float
    interval: tuple[float, float]
    start_s: float
    queries: int


@dataclass(frozen=True)
class Contention:
    """The cost of races on one machine; without measurements racers share its cores evenly.

    Attributes
    ----------
    cores : number of cores of the machine.
    paces : measurements by number of racers, 1 for the head starter on all cores.
    load : one-minute load averages before and after the measurement, empty if not measured.
    """

    cores: int = CORES
    paces: Mapping[int, Pace] = field(default_factory=lambda: MappingProxyType({}))
    load: tuple[float, ...] = ()

    def slower(self, racers: int) -> float:
        """Return the factor by which a race is slower than its fastest racer alone."""
        if racers in self.paces:
            return self.paces[racers].slower
        return max(1.0, racers / self.cores) if racers > 1 else 1.0

    def start_s(self, racers: int) -> float:
        """Return the start-up time of a race in seconds."""
        return self.paces[racers].start_s if racers in self.paces else 0.0

    def __str__(self) -> str:
        if not self.paces:
            return f"Races not measured: more racers than the {self.cores} cores share them evenly."
        races = "; ".join(
            f"{f'{count} racers' if count > 1 else 'search on all cores'} take {pace.slower:.2f} "
            f"times as long ({pace.interval[0]:.2f} to {pace.interval[1]:.2f}, {pace.queries} "
            f"queries) plus {pace.start_s:.3f} s"
            for count, pace in sorted(self.paces.items())
        )
        load = f" at a load of {' to '.join(map(str, self.load))}" if self.load else ""
        return f"Races measured on {self.cores} cores{load}: {races}."


def contention_of(
    raced: Sequence[RacedQuery], cores: int, load: tuple[float, ...], seed: int = 0
) -> Contention:
    """Estimate the start-up time and slow-down of races from measurements.

    The start-up time is the median extra time of short queries. The slow-down is that of the summed
    time of all longer queries, so sums of seconds are right on average.
    """
    paces = {}
    for count in sorted({one.racers for one in raced}):
        races = [one for one in raced if one.racers == count]
        brief = [one.race_s - one.alone_s for one in races if one.alone_s < BRIEF_S]
        start = max(0.0, float(np.median(brief))) if brief else 0.0
        longer: dict[str, list[tuple[float, float]]] = {}
        for one in races:
            if one.alone_s >= BRIEF_S:
                longer.setdefault(one.query, []).append((one.alone_s, one.race_s))
        if longer:
            slower, interval = _pace([np.array(pairs) for pairs in longer.values()], start, seed)
            paces[count] = Pace(slower, interval, start, len({one.query for one in races}))
    if not paces:
        raise InputError(
            f"No query took {BRIEF_S:g} s or more alone and was proved in a race. Use larger "
            "models or more queries."
        )
    return Contention(cores, MappingProxyType(paces), load)


def _pace(
    queries: Sequence[FloatArray], start_s: float, seed: int
) -> tuple[float, tuple[float, float]]:
    """Return the slow-down and its interval; ``queries`` holds (alone_s, race_s) per race."""

    def factor(drawn: Iterable[FloatArray]) -> float:
        pairs = np.concatenate(list(drawn))
        alone, race = pairs.sum(axis=0)
        return float((race - start_s * len(pairs)) / alone)

    draws = np.random.default_rng(seed).integers(0, len(queries), (RESAMPLES, len(queries)))
    factors = [factor(queries[k] for k in draw) for draw in draws]
    low, high = np.quantile(factors, [0.025, 0.975])
    return factor(queries), (float(low), float(high))


def write_contention(
    contention: Contention, raced: Sequence[RacedQuery], how: Mapping[str, object], path: Path
) -> None:
    """Write the measurements and their queries to a JSON file, atomically."""
    whole = {
        "format": FORMAT,
        "cores": contention.cores,
        "load": list(contention.load),
        "paces": {str(count): asdict(pace) for count, pace in contention.paces.items()},
        "how": dict(how),
        "raced": [asdict(one) for one in raced],
    }
    write_text(path, json.dumps(whole, indent=1) + "\n")


def read_contention(path: Path) -> Contention:
    """Read measurements from a file that :func:`write_contention` wrote."""
    text = read_text(path, "the contention of races")
    try:
        whole = json.loads(text)
        if whole["format"] != FORMAT:
            raise InputError(
                f"{path} has format {whole['format']}, but this version reads format {FORMAT}. "
                "Measure again with `counterfolio bench --protocol contention`."
            )
        paces = {int(count): _read_pace(pace) for count, pace in whole["paces"].items()}
        cores, load = int(whole["cores"]), tuple(float(load) for load in whole["load"])
        if cores < 1 or not paces or min(paces) < 1:
            raise ValueError("it holds no race, or an invalid number of cores or racers")
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        fault = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{path} does not hold measurements of races: {fault}. Measure again with "
            "`counterfolio bench --protocol contention`."
        ) from error
    return Contention(cores, MappingProxyType(paces), load)


def _read_pace(entry: dict[str, Any]) -> Pace:
    low, high = map(float, entry["interval"])
    pace = Pace(float(entry["slower"]), (low, high), float(entry["start_s"]), int(entry["queries"]))
    numbers = (pace.slower, low, high, pace.start_s)
    if not all(math.isfinite(number) and number >= 0 for number in numbers) or not pace.slower:
        raise ValueError("its numbers must be finite, and factors above 0")
    return pace
