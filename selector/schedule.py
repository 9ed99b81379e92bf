"""Schedules: which backends run, for how long, and which ones then."""

import math
from collections.abc import Sequence

from encoders.errors import InputError

# Names of backends, and wall-clock seconds. Several of one turn race; where there is one core the
# first of them runs.
Turn = tuple[tuple[str, ...], float]
# Turns that follow each other until one proves; the last one's seconds are infinite.
Schedule = tuple[Turn, ...]


def alone(backend: str) -> Schedule:
    """One backend until the end.

    Parameters
    ----------
    backend : its name
    """
    return (((backend,), math.inf),)


def complexity(schedule: Schedule) -> tuple[int, int]:
    """Return the number of backends that a schedule may start, and its number of turns.

    Parameters
    ----------
    schedule : Schedule
    """
    return len({name for names, _ in schedule for name in names}), len(schedule)


def check_schedule(where: str, schedule: Schedule) -> None:
    """Refuse a schedule that can't be run.

    Parameters
    ----------
    where : named in errors, such as "node 3 of the diagram"
    schedule : of any type, as read

    Raises
    ------
    InputError
        Turns are no pairs of names and seconds, name a backend twice, or one before the last has
        no end, or the last one has.
    """
    if not schedule:
        raise InputError(f"{where} names no backend.")
    for number, turn in enumerate(schedule, 1):
        if not (isinstance(turn, tuple) and len(turn) == 2 and isinstance(turn[0], tuple)):
            raise InputError(f"{where}: turn {number} must be (names of backends, seconds).")
        names, seconds = turn
        if not names or len(set(names)) < len(names) or not all(map(_is_name, names)):
            raise InputError(f"{where}: turn {number} must name different backends.")
        last = number == len(schedule)
        if not isinstance(seconds, float) or not (seconds == math.inf if last else seconds > 0):
            what = "have no end (null)" if last else "last some seconds above 0"
            raise InputError(f"{where}: turn {number} must {what}, got {seconds!r}.")
        if not last and math.isinf(seconds):
            raise InputError(f"{where}: turn {number} has no end, so that no other one follows.")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def schedule_from_json(turns: Sequence[tuple[str | list[str], object]]) -> Schedule:
    """Read ``[[names, seconds or null], ...]``; a lone name stands for a list of one.

    Parameters
    ----------
    turns : as JSON was read, null as None

    Raises
    ------
    TypeError, ValueError
        It is nothing of the kind.
    """
    return tuple(
        ((names,) if isinstance(names, str) else tuple(names), _seconds(seconds))
        for names, seconds in turns
    )


def schedule_to_json(schedule: Schedule) -> list[list[object]]:
    """What :func:`schedule_from_json` reads.

    Parameters
    ----------
    schedule : that can be run
    """
    return [[list(names), None if math.isinf(seconds) else seconds] for names, seconds in schedule]


def _seconds(entry: object) -> float:
    if entry is None:
        return math.inf
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        raise TypeError(f"seconds must be a number or null, not {entry!r}")
    return float(entry)
