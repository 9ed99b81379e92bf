"""Nodes of decision diagrams: splits and leaves."""

from dataclasses import dataclass

from selector.schedule import Schedule


@dataclass(frozen=True)
class Split:
    """A node that leads to node ``low`` if ``value <= threshold``, else to node ``high``.

    Attributes
    ----------
    feature : descriptor name, one of :data:`selector.case.NAMES`
    threshold : float, in the unit of the descriptor
    low, high : indices of later nodes of the diagram
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
    """

    schedule: Schedule
    purity: float = 1.0

    @property
    def backend(self) -> str:
        """The first backend of the last turn."""
        return self.schedule[-1][0][0]


Node = Split | Leaf
