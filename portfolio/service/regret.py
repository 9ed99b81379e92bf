"""Regret of the decision diagrams of a service, computed from its training logs."""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.errors import InputError
from portfolio.engine.logbook import EXPLORED
from selector import logs
from selector.diagram import Diagram, Leaf, Split
from selector.learning.contention import Contention
from selector.learning.examples import Examples, examples
from selector.learning.policies import SINGLE_BEST, VIRTUAL_BEST, baselines, follow
from selector.logs.summary import PAR_FACTOR

LARGEST = 100_000_000  # maximum bytes of logs to read
NEWEST = 200  # newest queries per model to use; a thousand take seconds


@dataclass(frozen=True)
class Regret:
    """Mean seconds (PAR10) of explored queries of one model."""

    queries: int  # number of queries
    since: str  # time of the oldest of these queries, ISO 8601
    seconds: float  # mean of the current diagram
    regret: float  # difference to the virtual best solver
    virtual_best: float  # mean of the fastest backend for each query
    single_best: float  # mean of the backend that is best for all queries
    backend: str  # name of the single best solver


class Regrets:
    """Regrets by model, recomputed when logs or diagrams change. Thread safe."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._folder, self._threads = folder / EXPLORED, threads
        self._lock = threading.Lock()
        self._state: Any = None
        self._told: dict[str, Any] = {}

    def of(self, diagrams: Mapping[str, Diagram]) -> dict[str, Any]:
        """Return by model its regret as plain values, or the reason why it is unknown."""
        with self._lock:
            files = {path: path.stat() for path in sorted(self._folder.glob("*"))}
            stamps = [(path, each.st_size, each.st_mtime_ns) for path, each in files.items()]
            state = (stamps, {name: diagram.digest for name, diagram in diagrams.items()})
            if state != self._state:
                size = sum(each.st_size for each in files.values())
                self._told = self._computed(diagrams, size)
                self._state = state
            return self._told

    def _computed(self, diagrams: Mapping[str, Diagram], size: int) -> dict[str, Any]:
        if size > LARGEST:
            megabytes = LARGEST // 1_000_000
            why = f"there are more than {megabytes} MB of logs. Run counterfolio logs compact."
            return {name: {"unknown": why} for name in diagrams}
        try:
            frame = logs.read(self._folder)
        except InputError:
            return {name: {"unknown": "no query was explored yet."} for name in diagrams}
        return {name: self._by(diagram, frame, name) for name, diagram in diagrams.items()}

    def _by(self, diagram: Diagram, frame: pd.DataFrame, name: str) -> dict[str, Any]:
        rows = frame[frame["dataset"] == name]
        newest = rows.groupby("query")["time"].max().sort_values().index[-NEWEST:]
        try:
            recent = rows[rows["query"].isin(newest)]
            data = examples(recent, contention=Contention(self._threads))
        except InputError:
            return {"unknown": "no explored query was proved yet."}
        return asdict(regret(diagram, data, self._threads))


def regret(diagram: Diagram, data: Examples, threads: int) -> Regret:
    """Return the regret of a diagram on examples."""
    each = baselines(data.backends)
    mean = {
        name: float(each[name](data)(data, PAR_FACTOR).wall.mean())
        for name in (SINGLE_BEST, VIRTUAL_BEST)
    }
    seconds = float(follow(diagram if threads > 1 else _on_one_core(diagram), data).wall.mean())
    return Regret(
        queries=len(data),
        since=str(min(data.time)),
        seconds=seconds,
        regret=seconds - mean[VIRTUAL_BEST],
        virtual_best=mean[VIRTUAL_BEST],
        single_best=mean[SINGLE_BEST],
        backend=data.backends[int(np.argmin(data.penalised().sum(axis=0)))],
    )


def _on_one_core(diagram: Diagram) -> Diagram:
    nodes = [
        node
        if isinstance(node, Split)
        else Leaf(tuple((names[:1], seconds) for names, seconds in node.schedule), node.purity)
        for node in diagram.nodes
    ]
    return Diagram(tuple(nodes), diagram.manifest)
