"""What races and more threads change against one backend on one thread: measured once."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.text_files import read_text
from encoders.whole_files import write_text

CONTENTION = "contention.json"  # beside the logs that it is about
FORMAT = 1
CORES = 2  # of the machine that the shipped logs are from
BRIEF_S = 0.2  # queries that take less alone tell what a race costs from the start, others its pace
RESAMPLES = 1000  # of the bootstrap


@dataclass(frozen=True)
class RacedQuery:
    """One query, raced for and asked of each racer alone, in turn on the same machine.

    Attributes
    ----------
    query : its name; several races may be of one query
    racers : how many raced; 1 where the head starter had the threads of all cores
    alone_s : wall-clock seconds of the fastest of them alone on one thread, the median over rounds
    race_s : those of the race, the median over rounds
    """

    query: str
    racers: int
    alone_s: float
    race_s: float


@dataclass(frozen=True)
class Pace:
    """A race's seconds as ``start_s + slower * seconds of its fastest alone``.

    Attributes
    ----------
    slower : factor; below 1 where more threads, or what racers tell each other, save more than
        sharing costs
    interval : of ``slower``, 95 %, by bootstrap over queries
    start_s : seconds to begin with
    queries : that it was measured on
    """

    slower: float
    interval: tuple[float, float]
    start_s: float
    queries: int


@dataclass(frozen=True)
class Contention:
    """What racing costs on one machine; without measurements racers share its cores evenly.

    Attributes
    ----------
    cores : of the machine
    paces : by how many race, 1 for the head starter with the threads of all cores
    load : one-minute load averages before and after the measurement, none if not measured
    """

    cores: int = CORES
    paces: Mapping[int, Pace] = field(default_factory=lambda: MappingProxyType({}))
    load: tuple[float, ...] = ()

    def slower(self, racers: int) -> float:
        """Factor by which a race is slower than its fastest racer alone."""
        if racers in self.paces:
            return self.paces[racers].slower
        return max(1.0, racers / self.cores) if racers > 1 else 1.0

    def start_s(self, racers: int) -> float:
        """Seconds that a race costs from the start."""
        return self.paces[racers].start_s if racers in self.paces else 0.0

    def __str__(self) -> str:
        if not self.paces:
            return f"Races are not measured: on {self.cores} cores more racers share them evenly."
        told = "; ".join(
            f"{f'{count} race' if count > 1 else 'search on all cores'} {pace.slower:.2f} times "
            f"as slow ({pace.interval[0]:.2f} to {pace.interval[1]:.2f}, {pace.queries} queries) "
            f"after {pace.start_s:.3f} s"
            for count, pace in sorted(self.paces.items())
        )
        load = f" at a load of {' to '.join(map(str, self.load))}" if self.load else ""
        return f"Races as measured on {self.cores} cores{load}: {told}."


def contention_of(
    raced: Sequence[RacedQuery], cores: int, load: tuple[float, ...], seed: int = 0
) -> Contention:
    """What measured races say.

    The start is the median of what brief queries took longer; the pace is that of the seconds of
    all longer ones together, so that it is right on average where seconds are added up.
    """
    paces = {}
    for count in sorted({one.racers for one in raced}):
        own = [one for one in raced if one.racers == count]
        brief = [one.race_s - one.alone_s for one in own if one.alone_s < BRIEF_S]
        start = max(0.0, float(np.median(brief))) if brief else 0.0
        longer: dict[str, list[tuple[float, float]]] = {}
        for one in own:
            if one.alone_s >= BRIEF_S:
                longer.setdefault(one.query, []).append((one.alone_s, one.race_s))
        if longer:
            slower, interval = _pace([np.array(pairs) for pairs in longer.values()], start, seed)
            paces[count] = Pace(slower, interval, start, len({one.query for one in own}))
    if not paces:
        raise InputError(
            f"no query took {BRIEF_S:g} s or more alone and was proved in a race; take larger "
            "models or more queries."
        )
    return Contention(cores, MappingProxyType(paces), load)


def _pace(
    queries: Sequence[FloatArray], start_s: float, seed: int
) -> tuple[float, tuple[float, float]]:
    """The factor and its interval; seconds alone and of races come as (n_races, 2) per query."""

    def factor(drawn: Iterable[FloatArray]) -> float:
        pairs = np.concatenate(list(drawn))
        alone, race = pairs.sum(axis=0)
        return float((race - start_s * len(pairs)) / alone)

    draws = np.random.default_rng(seed).integers(0, len(queries), (RESAMPLES, len(queries)))
    found = [factor(queries[k] for k in draw) for draw in draws]
    low, high = np.quantile(found, [0.025, 0.975])
    return factor(queries), (float(low), float(high))


def write_contention(
    contention: Contention, raced: Sequence[RacedQuery], told: Mapping[str, object], path: Path
) -> None:
    """Write measurements, and each query that they rest on, moved into place whole."""
    whole = {
        "format": FORMAT,
        "cores": contention.cores,
        "load": list(contention.load),
        "paces": {str(count): asdict(pace) for count, pace in contention.paces.items()},
        "how": dict(told),
        "raced": [asdict(one) for one in raced],
    }
    write_text(path, json.dumps(whole, indent=1) + "\n")


def read_contention(path: Path) -> Contention:
    """Read what :func:`write_contention` wrote."""
    text = read_text(path, "the contention of races")
    try:
        whole = json.loads(text)
        if whole["format"] != FORMAT:
            raise InputError(f"{path} has format {whole['format']}; this version reads {FORMAT}.")
        paces = {int(count): _read_pace(pace) for count, pace in whole["paces"].items()}
        cores, load = int(whole["cores"]), tuple(float(load) for load in whole["load"])
        if cores < 1 or not paces or min(paces) < 1:
            raise ValueError("it tells of no race")
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        fault = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} holds no contention of races: {fault}.") from error
    return Contention(cores, MappingProxyType(paces), load)


def _read_pace(entry: dict[str, Any]) -> Pace:
    low, high = map(float, entry["interval"])
    pace = Pace(float(entry["slower"]), (low, high), float(entry["start_s"]), int(entry["queries"]))
    numbers = (pace.slower, low, high, pace.start_s)
    if not all(math.isfinite(number) and number >= 0 for number in numbers) or not pace.slower:
        raise ValueError("its numbers must be finite, and factors above 0")
    return pace
