"""Schedules (backends in turns, each with a time limit), and the nodes of diagrams."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from encoders.core.errors import InputError

# Names of backends, and wall-clock seconds. Backends of one turn race; with one core only the
# first one runs.
Turn = tuple[tuple[str, ...], float]
# Turns run in order until one proves; the last turn has infinite seconds.
Schedule = tuple[Turn, ...]


def alone(backend: str) -> Schedule:
    """Return the schedule that runs one backend until the time limit of the query.

    Parameters
    ----------
    backend : str
        Name of the backend.

    Returns
    -------
    Schedule
        A schedule of one turn.

    Examples
    --------
    >>> from selector.schedule import alone
    >>> alone("search")
    ((('search',), inf),)
    """
    return (((backend,), math.inf),)


def complexity(schedule: Schedule) -> tuple[int, int]:
    """Return the number of distinct backends of a schedule, and its number of turns.

    Parameters
    ----------
    schedule : Schedule
        A valid schedule.

    Returns
    -------
    tuple of int
        Number of backends, number of turns.

    Examples
    --------
    >>> import math
    >>> from selector.schedule import complexity
    >>> complexity(((("search",), 0.5), (("search", "milp"), math.inf)))
    (2, 2)
    """
    return len({name for names, _ in schedule for name in names}), len(schedule)


def check_schedule(where: str, schedule: Schedule) -> None:
    """Raise InputError if a schedule is not valid.

    Parameters
    ----------
    where : str
        Place of the schedule in error messages, such as "Node 3 of the diagram".
    schedule : Schedule
        Value to check, of any type.

    Raises
    ------
    InputError
        If a turn is not a pair of names and seconds or names a backend twice. Also if a turn
        before the last has no time limit, or the last turn has one.

    Examples
    --------
    >>> from selector.schedule import check_schedule
    >>> try:
    ...     check_schedule("my schedule", ((("search",), 2.0),))
    ... except InputError as error:
    ...     print(error)
    my schedule: turn 1 must have no time limit (null), got 2.0.
    """
    if not schedule:
        raise InputError(f"{where} has an empty schedule; name at least one backend.")
    for number, turn in enumerate(schedule, 1):
        if not (isinstance(turn, tuple) and len(turn) == 2 and isinstance(turn[0], tuple)):
            raise InputError(
                f"{where}: turn {number} must be a pair (names of backends, seconds), got {turn!r}."
            )
        names, seconds = turn
        if not names or len(set(names)) < len(names) or not all(map(_is_name, names)):
            raise InputError(
                f"{where}: turn {number} must name one or more different backends, got {names!r}."
            )
        last = number == len(schedule)
        if not isinstance(seconds, float) or not (seconds == math.inf if last else seconds > 0):
            rule = "have no time limit (null)" if last else "have a time limit above 0 seconds"
            raise InputError(f"{where}: turn {number} must {rule}, got {seconds!r}.")
        if not last and math.isinf(seconds):
            raise InputError(
                f"{where}: turn {number} has no time limit, so later turns never start; give it "
                "seconds, or remove the later turns."
            )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def schedule_from_json(turns: Sequence[tuple[list[str], object]]) -> Schedule:
    """Convert parsed JSON ``[[names, seconds or null], ...]`` to a schedule.

    The result is not checked.

    Parameters
    ----------
    turns : sequence of pairs
        Parsed JSON: names of backends, and seconds or None.

    Returns
    -------
    Schedule
        The schedule.

    Raises
    ------
    TypeError
        If the value has another structure, or seconds are not a number.
    ValueError
        If a turn is not a pair.

    Examples
    --------
    >>> from selector.schedule import schedule_from_json
    >>> schedule_from_json([[["search"], 0.5], [["search", "milp"], None]])
    ((('search',), 0.5), (('search', 'milp'), inf))
    """
    return tuple((_names(names), _seconds(seconds)) for names, seconds in turns)


def schedule_to_json(schedule: Schedule) -> list[list[object]]:
    """Convert a schedule to values for JSON, which :func:`schedule_from_json` reads.

    Parameters
    ----------
    schedule : Schedule
        A valid schedule.

    Returns
    -------
    list
        One ``[names, seconds or None]`` per turn.

    Examples
    --------
    >>> import math
    >>> from selector.schedule import schedule_to_json
    >>> schedule_to_json(((("search",), 0.5), (("search", "milp"), math.inf)))
    [[['search'], 0.5], [['search', 'milp'], None]]
    """
    return [[list(names), None if math.isinf(seconds) else seconds] for names, seconds in schedule]


def _names(entry: object) -> tuple[str, ...]:
    if not isinstance(entry, list):
        raise TypeError(f"a turn must have a list of backends, got {entry!r}")
    return tuple(entry)


def _seconds(entry: object) -> float:
    if entry is None:
        return math.inf
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        raise TypeError(f"seconds must be a number or null, got {entry!r}")
    return float(entry)


@dataclass(frozen=True)
class Split:
    """A node that leads to node ``low`` if ``value <= threshold``, else to node ``high``.

    Attributes
    ----------
    feature : descriptor name, one of :data:`selector.descriptors.NAMES`
    threshold : float, in the unit of the descriptor
    low, high : indices of later nodes of the diagram

    Examples
    --------
    >>> from selector.schedule import Split
    >>> Split("n_features", 12.0, 1, 2).threshold
    12.0
    """

    feature: str
    threshold: float
    low: int
    high: int


@dataclass(frozen=True)
class Leaf:
    """A node that holds a schedule of backends.

    Attributes
    ----------
    schedule : turns (backends, seconds), run in order until one proves. Backends of a turn race, or
        only the first runs if there is one core. The last turn has infinite seconds.
    purity : share of the leaf's training rows on which the schedule took at most 1.25 times the
        minimum; 1 if unknown.

    Examples
    --------
    >>> from selector.schedule import Leaf
    >>> Leaf(((("search",), float("inf")),)).purity
    1.0
    """

    schedule: Schedule
    purity: float = 1.0

    @property
    def backend(self) -> str:
        """The first backend of the last turn."""
        return self.schedule[-1][0][0]


Node = Split | Leaf
