"""Threads that search one problem at once, each with its own pool of open nodes.

They run for slices of some milliseconds, outside the interpreter lock. Then all wait for the last,
and the smallest pool gets every second node of the largest. So no two threads use the same pool.
If slices are dives, whose times differ much, each thread continues with more of them until one has
no node left, or half a second is over.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from encoders.core.errors import Over, never
from encoders.problem.problem import Problem
from encoders.search.open_nodes import (
    FREE,
    HEAP,
    LOOKED,
    NODES,
    PRICED,
    Pool,
    deal,
    empty_pool,
    floor_of,
    grown,
    is_open,
    make_pool,
    slots_in_reserve,
)

# Nodes until stop and time limit are looked at first, and seconds between looks after that: with
# longer slices a stop is heard later.
FIRST_SLICE, SLICE_S = 64, 0.02
# Open nodes for each thread from which on more threads are worth their start.
ENOUGH = 32
FEW = 2  # the same where boxes have prices of their own: each is a dive of a tenth of a second
# Seconds of a round of several threads at most, where boxes have prices of their own: with a slice
# each, threads wait for the last one's dive a quarter of the time.
ROUND_S = 0.5


class Team:
    """Open nodes of a search, and the threads that expand them; used by one thread.

    Attributes
    ----------
    pools : list of Pool, pools in use; the first holds the whole problem at the beginning.
    reserve : int, slots of each pool that are kept free for depth first.
    """

    def __init__(
        self,
        problem: Problem,
        executor: ThreadPoolExecutor,
        most: int,
        now: Callable[[], int] | None = None,
    ) -> None:
        self._problem, self._executor, self._most = problem, executor, most
        self._now = now or (lambda: most)
        self.pools = [make_pool(problem)]
        self.reserve = slots_in_reserve(problem)
        self._slices = [FIRST_SLICE]

    @property
    def is_open(self) -> bool:
        """Return whether any node is open."""
        return any(is_open(pool) for pool in self.pools)

    @property
    def nodes(self) -> int:
        """Return the number of nodes expanded."""
        return sum(int(pool.counts[NODES]) for pool in self.pools)

    @property
    def looked(self) -> int:
        """Return the number of leaves scanned."""
        return sum(int(pool.counts[LOOKED]) for pool in self.pools)

    @property
    def floor(self) -> float:
        """The least bound of all open nodes."""
        return min(floor_of(pool) for pool in self.pools)

    def expand(self, run: Callable[[Pool, int], object], more: int, over: Over = never) -> None:
        """Let each thread expand nodes of its pool for a while."""
        threads = min(self._now(), self._most)
        self._share(threads)
        places = range(len(self.pools))
        lanes = [places[i::threads] for i in range(min(threads, len(places)))]
        dives = len(lanes) > 1 and any(pool.counts[PRICED] for pool in self.pools)
        end = time.perf_counter() + (ROUND_S if dives else 0.0)
        out = threading.Event()

        def run_lane(lane: Sequence[int]) -> None:
            self._run_all(run, lane, more)
            while not out.is_set() and time.perf_counter() < end and not over():
                if not any(is_open(self.pools[i]) for i in lane):
                    out.set()
                    return
                self._run_all(run, lane, more)

        others = [self._executor.submit(run_lane, lane) for lane in lanes[1:]]
        run_lane(lanes[0])
        for other in others:
            other.result()

    def _run_all(self, run: Callable[[Pool, int], object], lane: Sequence[int], more: int) -> None:
        for i in lane:
            self.pools[i] = self._grown(self.pools[i], self._slices[i] + more)
            self._slices[i] = _run(run, self.pools[i], self._slices[i])

    def _share(self, threads: int) -> None:
        """Give nodes to who has few; begin another thread where there is enough for it."""
        rich = max(self.pools, key=_size)
        enough = FEW if rich.counts[PRICED] else ENOUGH
        if len(self.pools) < threads and _size(rich) >= enough * threads:
            self.pools.append(empty_pool(self._problem))
            self._slices.append(FIRST_SLICE)
        poor = min(range(len(self.pools)), key=lambda i: _size(self.pools[i]))
        n_dealt = _size(rich) // 2
        if 4 * _size(self.pools[poor]) < _size(rich) and n_dealt:
            other = self.pools[poor] = self._grown(self.pools[poor], n_dealt)
            deal(rich, other, max(0, min(n_dealt, int(other.counts[FREE]) - self.reserve)))

    def _grown(self, pool: Pool, nodes: int) -> Pool:
        return grown(pool, nodes, self.reserve, self._most)


def _size(pool: Pool) -> int:
    return int(pool.counts[HEAP])


def _run(run: Callable[[Pool, int], object], pool: Pool, n_nodes: int) -> int:
    """Run for a slice; how many nodes the next one has, so that it is heard soon and costs little.

    A thread without nodes begins small when it gets some.
    """
    before, began = pool.counts[NODES], time.perf_counter()
    run(pool, n_nodes)
    pace = (pool.counts[NODES] - before) / max(time.perf_counter() - began, 1e-6)
    return int(np.clip(pace * SLICE_S, FIRST_SLICE, 8 * n_nodes))
