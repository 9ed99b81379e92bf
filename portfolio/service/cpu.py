"""What processes have taken of the processors."""

import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cpu:
    """Seconds of processors.

    Attributes
    ----------
    clients, service, workers : of their processes; a batch is its own client, and has no service
    """

    clients: float
    service: float
    workers: float

    def until(self, later: Self) -> Self:
        """What was taken meanwhile."""
        mine, others = astuple(self), astuple(later)
        return type(self)(*(after - before for before, after in zip(mine, others, strict=True)))


@dataclass(frozen=True)
class Mark:
    """A moment at which answers came.

    Attributes
    ----------
    at : seconds
    rows : answered before
    cpu : taken by then
    """

    at: float
    rows: int
    cpu: Cpu


def cpu_of(pid: int) -> float:
    """Seconds of one process."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / TICKS


def children_of(pid: int) -> list[int]:
    """Processes that one began."""
    return [
        int(child)
        for each in Path(f"/proc/{pid}/task").glob("*/children")
        for child in each.read_text().split()
    ]
