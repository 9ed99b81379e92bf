"""Benchmark of the service: overhead of HTTP per request, and throughput under load."""

import itertools
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from http.client import HTTPConnection
from mmap import PAGESIZE
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from encoders.core.arrays import FloatArray
from encoders.core.cores import usable_cores
from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.bench.cases import Case, CasePlan, RunLimits
from portfolio.bench.runner import machine_load, unless_interrupted
from portfolio.bench.served_apart import CALLED, connected, served_apart
from portfolio.bench.service_load import (
    BatchRate,
    Cpu,
    LoopResult,
    batch_rate,
    children_of,
    closed_loop,
    counted,
    cpu_of,
    timed_loop,
)
from portfolio.bench.tables import markdown_table
from portfolio.cli.output import Console
from portfolio.results.codec import encode

CLIENTS = (1, 8, 64)
PATH = f"/v1/models/{CALLED}/explain"
# These limits keep the time of a model below a minute.
LIMIT_S = 2.0  # seconds within which a row must be proved, else it is skipped
PAIRS_S = 10.0  # seconds after which no further pair is measured
ROUND_S = 1.0  # maximum total seconds of the rows of a loop, each answered once
LOOP_S = 0.5, 2.5  # seconds of a loop: before counting, while counting
PARTS = 10  # number of memory measurements
SAME = ("status", "distance", "lower_bound", "counterfactual")
BATCH = attrgetter("clients"), attrgetter("workers")  # a batch has no service process


@dataclass(frozen=True)
class LoopQuery:
    """A request about a row, and the answer in process."""

    place: int  # position of the row
    body: bytes  # the HTTP body
    expected: dict[str, Any]  # members of the answer in process
    seconds: float  # time of the answer in process


@dataclass(frozen=True)
class Pair:
    """Seconds of the same question in process and over HTTP."""

    in_process: float
    over_http: float


@dataclass(frozen=True)
class Load:
    """Measurements of a closed loop, in which each client sends the next request after an answer.

    Attributes
    ----------
    clients, workers : numbers of clients and of workers.
    seconds : measured time span.
    codes : number of answers by HTTP status.
    seen : number of answers in the time span.
    wrong : number of answers that differ from those in process.
    cpu : processor times in the time span.
    batch : rates of batches of the same rows, before and after.
    """

    clients: int
    workers: int
    seconds: float
    codes: dict[int, int]
    seen: int
    wrong: int
    cpu: Cpu
    batch: list[BatchRate]

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
    dataset, kind : data set and kind of the model.
    pairs : times of questions in process and over HTTP.
    left_out : number of rows that were not proved in time.
    in_loops : number of rows in the loops.
    loads : measurements of loops.
    memory : (number of requests, bytes) pairs.
    """

    dataset: str
    kind: str
    pairs: list[Pair] = field(default_factory=list)
    left_out: int = 0
    in_loops: int = 0
    loads: list[Load] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)

    @property
    def added_ms(self) -> FloatArray:
        """Milliseconds that HTTP adds to each question, float64 (n_pairs,)."""
        return 1000.0 * np.array([pair.over_http - pair.in_process for pair in self.pairs])

    @property
    def alone_ms(self) -> float:
        """Median milliseconds of a question in process."""
        return 1000.0 * statistics.median(pair.in_process for pair in self.pairs)


@dataclass(frozen=True)
class ServicePlan(CasePlan):
    """Serve each model from another process and send requests to it."""

    unit = "models"

    limits: RunLimits = field(default_factory=RunLimits)  # limits of each query
    requests: int = 0  # number of requests before memory is measured; 0 for no such measurement
    workers: int = field(default_factory=usable_cores)  # number of workers of the service

    @property
    def total(self) -> int:
        """Number of models."""
        return len(self.cases.sets) * len(self.cases.kinds)

    def case_runs(self, case: Case) -> Iterator[ServiceRun | str]:
        """See :class:`CasePlan`; a yielded run is filled later."""
        run = ServiceRun(case.dataset.name, case.kind)
        yield _step(f"{run.dataset} {run.kind}")
        yield run
        explainer = case.explainer()
        rows = pd.DataFrame([query.x for query in case.drawn(explainer)][1:]).drop_duplicates()
        limit_s = min(LIMIT_S, self.limits.time_limit_s)
        measuring = _Measurement(run, explainer, rows, limit_s)
        yield from measuring.steps(self.workers, self.requests)

    def report(self, runs: list[ServiceRun], console: Console) -> int:
        """Print each model; return 1 if an answer differs from the one in process, else 0."""
        for run in runs:
            _print(console, run)
        if len(runs) > 1:
            _print_shares(console, runs)
        loads = [load for run in runs for load in run.loads]
        return int(any(load.wrong or load.codes.keys() - {200} for load in loads))


def _step(words: str) -> str:
    return f"{words}; {machine_load()}"


@dataclass(frozen=True, eq=False)
class _Measurement:
    """Measurement of one model, whose steps fill a run."""

    run: ServiceRun
    explainer: Explainer
    rows: pd.DataFrame
    limit_s: float
    queries: list[LoopQuery] = field(default_factory=list)  # requests of the loops

    def steps(self, workers: int, requests: int) -> Iterator[str]:
        """Measure pairs, loops and memory; yield each step before it starts."""
        # Compile first.
        self.explainer.explain(self.rows.iloc[0], threads=1, time_limit_s=self.limit_s)
        for count in sorted({1, workers}):
            yield from self._loops(count)
            if not self.queries:
                return
        if requests:
            yield from self._memory(workers, requests)

    def _loops(self, workers: int) -> Iterator[str]:
        """Measure loops between two batches of the same rows, as the machine's load may vary."""
        with served_apart(self.explainer, workers) as (port, pid):
            if not self.queries:
                yield _step("the same requests over HTTP and in process")
                self.queries.extend(rows_of_a_loop(list(self._both_ways(port))))
                self.run.in_loops = len(self.queries)
            if not self.queries:
                return
            yield _step(f"explain_batch with {workers} workers")
            batch = [self._batch(workers)]
            bodies = [each.body for each in self.queries]
            # Warm imports and caches.
            closed_loop(port, PATH, (bodies * workers)[: 8 * workers], workers, partial(_cpu, pid))
            for clients in (each for each in CLIENTS if each >= workers):
                yield _step(f"{clients} clients, {workers} workers")
                loop = timed_loop(port, PATH, bodies, clients, LOOP_S, partial(_cpu, pid))
                self._add(clients, workers, loop, batch)
        yield _step(f"explain_batch with {workers} workers")
        batch.append(self._batch(workers))  # also in the loops above, which share the list

    def _batch(self, workers: int) -> BatchRate:
        rows = self.rows.iloc[[query.place for query in self.queries]]
        return batch_rate(self.explainer, rows, workers)

    def _memory(self, workers: int, requests: int) -> Iterator[str]:
        part, clients = max(1, requests // PARTS), CLIENTS[1]
        batch = self.run.loads[-1].batch
        with served_apart(self.explainer, workers) as (port, pid):
            for number in range(1, PARTS + 1):
                yield _step(f"requests {part * (number - 1)} to {part * number}")
                queries = itertools.islice(itertools.cycle(self.queries), part)
                bodies = [query.body for query in queries]
                loop = closed_loop(port, PATH, bodies, clients, partial(_cpu, pid))
                self._add(clients, workers, loop, batch)
                self.run.memory.append((number * part, _memory(pid)))

    def _add(self, clients: int, workers: int, loop: LoopResult, batch: list[BatchRate]) -> None:
        """Add the measurements of a loop, whose answers are compared with those in process."""
        expected = [query.expected for query in self.queries]
        wrong = sum(
            status == 200 and not _equal(json.loads(body), expected[place % len(expected)])
            for place, status, body in loop.answers
        )
        codes = dict(Counter(status for _, status, _ in loop.answers))
        seconds, seen, cpu = counted(loop.first, loop.last)
        load = Load(clients, workers, seconds, codes, seen, wrong, cpu, batch)
        self.run.loads.append(load)

    def _both_ways(self, port: int) -> Iterator[LoopQuery]:
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

    def _pair(self, port: int, place: int) -> LoopQuery | None:
        """Measure a row both ways; return None if it is not proved, as such answers vary."""
        row = self.rows.iloc[place]
        members = {"x": encode(dict(row)), "time_limit_s": self.limit_s, "rounded": False}
        body = json.dumps(members).encode()
        with connected(port) as connection:
            _post(connection, body[:0])  # connect before the measurement
            if place % 2:
                (status, document), over_http = _timed(lambda: _post(connection, body))
            result, in_process = _timed(
                lambda: self.explainer.explain(row, threads=1, time_limit_s=self.limit_s)
            )
            if unless_interrupted(result).stop_reason != "proved":
                return None
            if not place % 2:
                (status, document), over_http = _timed(lambda: _post(connection, body))
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
        return LoopQuery(place, body, expected, in_process)


def rows_of_a_loop(queries: Sequence[LoopQuery]) -> list[LoopQuery]:
    """Return the first rows that fit into ROUND_S, or the fastest row if none does."""
    chosen: list[LoopQuery] = []
    left_s = ROUND_S
    for query in queries:
        if query.seconds <= left_s:
            chosen.append(query)
            left_s -= query.seconds
    return chosen or sorted(queries, key=lambda query: query.seconds)[:1]


def _timed(ask: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return ask(), time.perf_counter() - began


def _equal(document: Any, expected: dict[str, Any]) -> bool:
    return {name: document["answer"][name] for name in SAME} == expected


def _cpu(pid: int) -> Cpu:
    """Return the processor time of this process, a service and its workers."""
    return Cpu(time.process_time(), cpu_of(pid), sum(map(cpu_of, children_of(pid))))


def _post(connection: HTTPConnection, body: bytes) -> tuple[int, Any]:
    connection.request("POST", PATH, body, {"content-type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def _memory(pid: int) -> int:
    """Return the resident memory in bytes of a process and its descendants."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * PAGESIZE + sum(map(_memory, children_of(pid)))


def _print(console: Console, run: ServiceRun) -> None:
    if run.pairs:
        console.print(
            f"{run.dataset} {run.kind}: HTTP adds {np.median(run.added_ms):.2f} ms in the median "
            f"and {np.quantile(run.added_ms, 0.99):.2f} ms at the 99th percentile of "
            f"{len(run.pairs)} requests, which take {run.alone_ms:.2f} ms in process"
        )
    if run.left_out:
        console.print(f"{run.left_out} rows are excluded: not proved within {LIMIT_S:g} s")
    if run.loads:
        console.print(
            f"closed loops on {run.in_loops} rows, compared with explain_batch on as many workers; "
            f"clients and service share the other of {usable_cores()} cores"
        )
        console.print(_table(run))
    for done, size in run.memory:
        console.print(f"{done} requests: {size // 1_000_000} MB")


def _table(run: ServiceRun) -> Table:
    table = Table("clients", "workers", "answers", "others", "wrong", "a second", "batch", "share",
                  "ms of CPU: clients", "service", "workers", "a batch", "its workers")  # fmt: skip
    for load in run.loads:
        each_ms = 1000.0 / load.seen if load.seen else float("nan")
        good = load.codes.get(200, 0)
        counts = (load.clients, load.workers, good, sum(load.codes.values()) - good, load.wrong)
        table.add_row(
            *map(str, counts),
            f"{load.rate:.1f}",
            "-".join(f"{each.rows:.0f}" for each in load.batch),
            f"{load.share:.2f}",
            *(f"{each_ms * seconds:.2f}" for seconds in astuple(load.cpu)),
            *("-".join(f"{1000 * part(each.cpu):.2f}" for each in load.batch) for part in BATCH),
        )
    return table


def _print_shares(console: Console, runs: list[ServiceRun]) -> None:
    """Print rates as shares of explain_batch, one line per model, as a Markdown table."""
    loops = list(dict.fromkeys((load.clients, load.workers) for run in runs for load in run.loads))
    heads = [f"{clients}, {workers}" for clients, workers in loops]
    lines = []
    for run in (run for run in runs if run.pairs):
        each = [run.alone_ms, np.median(run.added_ms), np.quantile(run.added_ms, 0.99)]
        shares = {(load.clients, load.workers): load.share for load in reversed(run.loads)}
        cells = [f"{shares[loop]:.2f}" if loop in shares else "" for loop in loops]
        lines.append([run.dataset, run.kind, *(f"{ms:.1f}" for ms in each), *cells])
    console.print("Shares of explain_batch, by clients and workers:")
    head = ["set", "kind", "ms in process", "HTTP adds", "99th percentile", *heads]
    console.print(markdown_table(head, lines), soft_wrap=True, markup=False)
