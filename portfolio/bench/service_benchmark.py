"""Benchmark of the service: overhead of HTTP per request, and throughput under load.

Requests exclude rounded values, which the runs in process and in batches do not compute either.
"""

import itertools
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.bench.batch_rate import Rate, batch_rate
from portfolio.bench.benchmark import Benchmark, run_each_model
from portfolio.bench.closed_loop import Answered, closed_loop, timed_loop
from portfolio.bench.cpu import Cpu, children_of, cpu_of
from portfolio.bench.served_apart import CALLED, connected, served_apart
from portfolio.data.collection import draw_queries
from portfolio.data.datasets import Dataset
from portfolio.results.as_json import as_plain

CLIENTS = (1, 8, 64)
PATH = f"/v1/models/{CALLED}/explain"
# These limits keep the time of a model below a minute.
LIMIT_S = 2.0  # seconds within which a row must be proved, else it is skipped
PAIRS_S = 10.0  # seconds after which no further pair is measured
ROUND_S = 1.0  # maximum total seconds of the rows of a loop, each answered once
LOOP_S = 0.5, 2.5  # seconds of a loop: before counting, while counting
PARTS = 10  # number of memory measurements
SAME = ("status", "distance", "lower_bound", "counterfactual")


@dataclass(frozen=True)
class Asked:
    """A request about a row, and the answer in process.

    Attributes
    ----------
    place : int, position of the row.
    body : bytes, request body as JSON.
    expected : dict, members of the answer that must be equal.
    seconds : float, time in process.
    """

    place: int
    body: bytes
    expected: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Pair:
    """Times of the same question in process and over HTTP.

    Attributes
    ----------
    in_process, over_http : float, seconds
    """

    in_process: float
    over_http: float


@dataclass(frozen=True)
class Load:
    """Measurements of a closed loop, in which each client sends the next request after an answer.

    Attributes
    ----------
    clients : int, number of clients.
    workers : int, number of worker processes.
    seconds : float, length of the measurement.
    codes : dict, number of all responses by HTTP status.
    seen : int, responses during the measurement.
    wrong : int, answers that differ from those in process.
    cpu : Cpu, processor time during the measurement.
    batch : tuple of Rate, rates of ``explain_batch`` with as many workers, before and after.
    """

    clients: int
    workers: int
    seconds: float
    codes: dict[int, int]
    seen: int
    wrong: int
    cpu: Cpu
    batch: tuple[Rate, ...]

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.seen / self.seconds

    @property
    def share(self) -> float:
        """Rate relative to that of the batch."""
        return self.rate / statistics.mean(each.rows for each in self.batch)


@dataclass
class ServiceRun:
    """All measurements of one model.

    Attributes
    ----------
    pairs : list of Pair, times in process and over HTTP.
    left_out : int, rows that were not proved within ``LIMIT_S``.
    in_loops : int, number of rows in the loops.
    loads : list of Load, closed loops.
    memory : list of (requests answered, bytes of the service and its workers)
    """

    dataset: str
    kind: str
    pairs: list[Pair] = field(default_factory=list)
    left_out: int = 0
    in_loops: int = 0
    loads: list[Load] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)


def run_service(
    benchmark: Benchmark,
    workers: int,
    requests: int,
    on_model: Callable[[ServiceRun], None],
    on_step: Callable[[str], None],
) -> None:
    """Train each model once, serve it from another process, and send requests to it."""

    def runs_of(dataset: Dataset, kind: str, model: Any) -> Iterator[None]:
        run = ServiceRun(dataset.name, kind)
        on_model(run)
        explainer = Explainer(model, dataset.X, dataset.space)
        drawn = draw_queries(dataset, explainer, benchmark.queries, benchmark.seed)
        rows = pd.DataFrame([query.x for query in drawn]).drop_duplicates()
        limit_s = min(LIMIT_S, benchmark.time_limit_s)
        measuring = _Measuring(run, explainer, rows, limit_s, on_step)
        measuring.all_of_it(workers, requests)
        yield

    run_each_model(benchmark, runs_of, lambda _: None)


@dataclass(frozen=True, eq=False)
class _Measuring:
    """Measurement of one model."""

    run: ServiceRun
    explainer: Explainer
    rows: pd.DataFrame
    limit_s: float
    on_step: Callable[[str], None]

    def all_of_it(self, workers: int, requests: int) -> None:
        """Measure pairs, loops and memory."""
        self.explainer.explain(
            self.rows.iloc[0], threads=1, time_limit_s=self.limit_s
        )  # compile first
        queries: list[Asked] | None = None
        for count in sorted({1, workers}):
            queries = self._loops(count, queries)
            if not queries:
                return
        if requests and queries:
            self._memory(workers, requests, queries)

    def _loops(self, workers: int, queries: list[Asked] | None) -> list[Asked]:
        """Measure loops between two batches of the same rows, as the machine's load may vary."""
        with served_apart(self.explainer, workers) as (port, pid):
            if queries is None:
                self.on_step("the same requests over HTTP and in process")
                queries = rows_of_a_loop(list(self._both_ways(port)))
                self.run.in_loops = len(queries)
            if not queries:
                return []
            batch = self._batch(queries, workers)
            bodies = [each.body for each in queries]
            closed_loop(
                port, PATH, (bodies * workers)[: 8 * workers], workers
            )  # warm imports and caches
            begun = len(self.run.loads)
            for clients in (each for each in CLIENTS if each >= workers):
                self.on_step(f"{clients} clients, {workers} workers")
                seen = timed_loop(port, PATH, bodies, clients, LOOP_S, partial(_cpu, pid))
                codes, wrong = _told(queries, seen.answers)
                first, last = seen.first, seen.last
                self.run.loads.append(
                    Load(
                        clients,
                        workers,
                        last.at - first.at,
                        dict(codes),
                        last.rows - first.rows,
                        wrong,
                        first.cpu.until(last.cpu),
                        (batch,),
                    )
                )
        after = self._batch(queries, workers)
        self.run.loads[begun:] = [
            replace(each, batch=(batch, after)) for each in self.run.loads[begun:]
        ]
        return queries

    def _batch(self, queries: list[Asked], workers: int) -> Rate:
        self.on_step(f"explain_batch with {workers} workers")
        return batch_rate(
            self.explainer, self.rows.iloc[[query.place for query in queries]], workers
        )

    def _memory(self, workers: int, requests: int, queries: list[Asked]) -> None:
        part, clients = max(1, requests // PARTS), CLIENTS[1]
        batch = self.run.loads[-1].batch
        with served_apart(self.explainer, workers) as (port, pid):
            for number in range(1, PARTS + 1):
                self.on_step(f"requests {part * (number - 1)} to {part * number}")
                bodies = [query.body for query in itertools.islice(itertools.cycle(queries), part)]
                before, began = _cpu(pid), time.perf_counter()
                answers = closed_loop(port, PATH, bodies, clients)
                seconds, cpu = time.perf_counter() - began, before.until(_cpu(pid))
                codes, wrong = _told(queries, answers)
                self.run.loads.append(
                    Load(clients, workers, seconds, dict(codes), len(answers), wrong, cpu, batch)
                )
                self.run.memory.append((number * part, _memory(pid)))

    def _both_ways(self, port: int) -> Iterator[Asked]:
        """Yield rows that are proved in time, measured both ways in alternating order."""
        ends = time.monotonic() + PAIRS_S
        for place in range(len(self.rows)):
            if time.monotonic() > ends:
                return
            query = self._pair(port, place)
            if query is None:
                self.run.left_out += 1
            else:
                yield query

    def _pair(self, port: int, place: int) -> Asked | None:
        """Measure a row both ways; return None if it is not proved, as such answers vary."""
        row = self.rows.iloc[place]
        members = {"x": as_plain(dict(row)), "time_limit_s": self.limit_s, "rounded": False}
        body = json.dumps(members).encode()
        with connected(port) as connection:
            _post(connection, body[:0])  # connect before the measurement
            if place % 2:
                status, document, over_http = _timed(lambda: _post(connection, body))
            _, result, in_process = _timed(
                lambda: (0, self.explainer.explain(row, threads=1, time_limit_s=self.limit_s))
            )
            if result.stop_reason == "interrupted":  # Ctrl-C stops the benchmark, not only this row
                raise KeyboardInterrupt
            if result.stop_reason != "proved":
                return None
            if not place % 2:
                status, document, over_http = _timed(lambda: _post(connection, body))
        plain = result.to_dict()
        expected = json.loads(json.dumps({name: plain[name] for name in SAME}))
        if status == 200 and document["answer"]["stop_reason"] != "proved":
            return None
        if status != 200 or not _equal(document, expected):
            raise InputError(
                f"the answer of the service differs from that of the explainer: {document}. "
                "Report this as a bug."
            )
        self.run.pairs.append(Pair(in_process, over_http))
        return Asked(place, body, expected, in_process)


def rows_of_a_loop(queries: Sequence[Asked]) -> list[Asked]:
    """Return the first rows that fit into ROUND_S, or the fastest row if none does."""
    chosen: list[Asked] = []
    left_s = ROUND_S
    for query in queries:
        if query.seconds <= left_s:
            chosen.append(query)
            left_s -= query.seconds
    return chosen or sorted(queries, key=lambda query: query.seconds)[:1]


def _timed(ask: Callable[[], tuple[int, Any]]) -> tuple[int, Any, float]:
    began = time.perf_counter()
    status, document = ask()
    return status, document, time.perf_counter() - began


def _equal(document: Any, expected: dict[str, Any]) -> bool:
    return {name: document["answer"][name] for name in SAME} == expected


def _cpu(pid: int) -> Cpu:
    """Return the processor time of this process, a service and its workers."""
    return Cpu(time.process_time(), cpu_of(pid), sum(map(cpu_of, children_of(pid))))


def _told(queries: Sequence[Asked], answers: Sequence[Answered]) -> tuple[Counter[int], int]:
    """Return (number of answers by status, number of answers that differ)."""
    differ = [
        status == 200 and not _equal(json.loads(body), queries[place % len(queries)].expected)
        for place, status, body in answers
    ]
    return Counter(status for _, status, _ in answers), sum(differ)


def _post(connection: HTTPConnection, body: bytes) -> tuple[int, Any]:
    connection.request("POST", PATH, body, {"content-type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def _memory(pid: int) -> int:
    """Return the resident memory in bytes of a process and its descendants."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") + sum(map(_memory, children_of(pid)))
