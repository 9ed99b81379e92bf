"""Processor times of processes."""

import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cpu:
    """Processor times.

    Attributes
    ----------
    clients, service, workers : float, seconds of these processes; a batch counts as the client
    """

    clients: float
    service: float
    workers: float

    def until(self, later: Self) -> Self:
        """Return the difference to a later measurement."""
        mine, others = astuple(self), astuple(later)
        return type(self)(*(after - before for before, after in zip(mine, others, strict=True)))


@dataclass(frozen=True)
class Mark:
    """A moment at which answers came.

    Attributes
    ----------
    at : float, seconds
    rows : int, number of answers before
    cpu : Cpu, processor times so far
    """

    at: float
    rows: int
    cpu: Cpu


def cpu_of(pid: int) -> float:
    """Return the processor time of one process in seconds."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / TICKS


def children_of(pid: int) -> list[int]:
    """Return the process ids of the children of a process."""
    return [
        int(child)
        for each in Path(f"/proc/{pid}/task").glob("*/children")
        for child in each.read_text().split()
    ]
