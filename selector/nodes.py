"""What a decision diagram is made of."""

from dataclasses import dataclass

from selector.schedule import Schedule


@dataclass(frozen=True)
class Split:
    """``value <= threshold`` goes to node ``low``, else to ``high``; both come later.

    Attributes
    ----------
    feature : a descriptor, one of :data:`selector.case.NAMES`
    threshold : in the descriptor's unit
    low, high : places among the diagram's nodes
    """

    feature: str
    threshold: float
    low: int
    high: int


@dataclass(frozen=True)
class Leaf:
    """Turns that follow each other until one proves.

    Attributes
    ----------
    schedule : (backends, seconds); several of one turn race, or the first runs where there is
        one core; the last turn's seconds are infinite
    purity : share of what the leaf was learned from on which this cost at most 1.25 times the
        least; 1 if unknown
    """

    schedule: Schedule
    purity: float = 1.0

    @property
    def backend(self) -> str:
        """The one that has the last word, the first of them if several race for it."""
        return self.schedule[-1][0][0]


Node = Split | Leaf
