"""What HTTP adds to a question, and how much the service answers under load."""

import itertools
import json
import multiprocessing
import os
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.errors import InputError
from portfolio.as_json import as_plain
from portfolio.data.collection import datasets, draw_queries
from portfolio.data.trained_models import train
from portfolio.explainer import Explainer
from portfolio.service.batch_rate import Rate, batch_rate
from portfolio.service.closed_loop import Answered, closed_loop
from portfolio.service.cpu import Cpu, children_of, cpu_of
from portfolio.service.server import run
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from portfolio.study.benchmark import Benchmark
from portfolio.study.protocol import KIND_NAMES

CLIENTS = (1, 8, 64)
EACH, LEAST_S = 8, 3.0  # a loop has so many questions of each client, and takes about so long
CALLED = "benchmark"  # the model's name
PATH = f"/v1/models/{CALLED}/explain"
PARTS = 10  # of the loop in which memory is looked at
BEGIN_S = 300.0  # seconds that a service may take to be ready
SAME = ("status", "distance", "lower_bound", "counterfactual")


@dataclass(frozen=True)
class Asked:
    """A row, as the service is asked about it, and what is answered in process.

    Attributes
    ----------
    body : JSON
    expected : members of the answer that have to be the same
    """

    body: bytes
    expected: dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """The same question both ways.

    Attributes
    ----------
    in_process, over_http : seconds
    """

    in_process: float
    over_http: float


@dataclass(frozen=True)
class Load:
    """A closed loop: each client asks again once it is answered.

    Attributes
    ----------
    clients : how many
    workers : processes that answer them
    seconds : that it took
    codes : answers by status of HTTP
    wrong : answers that differ from those in process
    cpu : what all of it took
    batch : ``explain_batch`` with as many workers, before and after
    """

    clients: int
    workers: int
    seconds: float
    codes: dict[int, int]
    wrong: int
    cpu: Cpu
    batch: tuple[Rate, Rate]

    @property
    def rate(self) -> float:
        """Answers in a second."""
        return self.codes.get(200, 0) / self.seconds

    @property
    def share(self) -> float:
        """Of the batch's rate."""
        return self.rate / statistics.mean(each.rows for each in self.batch)


@dataclass
class ServiceRun:
    """All that was measured of one model.

    Attributes
    ----------
    pairs : questions both ways
    loads : closed loops
    memory : questions answered by then, and bytes of the service with its workers
    """

    dataset: str
    kind: str
    pairs: list[Pair] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)


def run_service(
    benchmark: Benchmark, workers: int, requests: int, on_step: Callable[[str], None]
) -> Iterator[ServiceRun]:
    """Train each model once, serve it from another process, and ask it.

    Parameters
    ----------
    benchmark : its backends are not looked at
    workers : of the service, and of the batch that it is held against
    requests : of the last loops, in which memory is looked at, 0 for none
    on_step : told what comes next

    Raises
    ------
    InputError
        An unknown data set or kind.
    """
    for dataset in datasets(benchmark.folder, benchmark.only):
        for kind in benchmark.kinds:
            if kind not in KIND_NAMES:
                raise InputError(f"unknown kind {kind!r}; known are {', '.join(KIND_NAMES)}.")
            model = train(
                dataset, KIND_NAMES[kind], benchmark.trees, benchmark.depth, benchmark.seed
            )
            explainer = Explainer(model, dataset.X, dataset.space)
            drawn = draw_queries(dataset, explainer, benchmark.queries, benchmark.seed)
            rows = pd.DataFrame([query.x for query in drawn]).drop_duplicates()
            yield _measured(ServiceRun(dataset.name, kind), explainer, rows, workers, requests,
                            on_step)  # fmt: skip


def _measured(
    run: ServiceRun,
    explainer: Explainer,
    rows: pd.DataFrame,
    workers: int,
    requests: int,
    on_step: Callable[[str], None],
) -> ServiceRun:
    explainer.explain(rows.iloc[0], threads=1)  # compiled code, caches, imports
    on_step("the same questions over HTTP and in process")
    with _served(explainer, 1) as (port, _):
        asked = [_pair(port, explainer, row, turn, run) for turn, (_, row) in _numbered(rows)]
    for count in sorted({1, workers}):
        run.loads += _loops(explainer, rows, asked, count, on_step)
    if requests:
        on_step(f"{requests} questions of {CLIENTS[1]} clients")
        with _served(explainer, workers) as (port, pid):
            part, batch = max(1, requests // PARTS), run.loads[-1].batch
            for number in range(1, PARTS + 1):
                loop = _loop(port, pid, asked, part, CLIENTS[1])
                run.loads.append(Load(CLIENTS[1], workers, *loop, batch))
                run.memory.append((number * part, _memory(pid)))
    return run


def _loops(
    explainer: Explainer,
    rows: pd.DataFrame,
    asked: list[Asked],
    workers: int,
    on_step: Callable[[str], None],
) -> Iterator[Load]:
    """Closed loops between two batches of the same rows: others may use the machine as well."""

    def batch() -> Rate:
        on_step(f"explain_batch with {workers} workers")
        return batch_rate(explainer, rows, workers)

    before, seen = batch(), []
    with _served(explainer, workers) as (port, pid):
        warming = [own.body for own in asked[: 8 * workers]]
        closed_loop(port, PATH, warming, workers)  # each worker is warm
        for clients in (own for own in CLIENTS if own >= workers):
            on_step(f"{clients} clients of {workers} workers")
            most = max(len(asked), EACH * clients, round(LEAST_S * before.rows))
            seen.append((clients, _loop(port, pid, asked, most, clients)))
    batches = before, batch()
    for clients, loop in seen:
        yield Load(clients, workers, *loop, batches)


def _numbered(rows: pd.DataFrame) -> Iterator[tuple[int, Any]]:
    return enumerate(rows.iterrows())


def _again(asked: Sequence[Asked], count: int) -> list[Asked]:
    return list(itertools.islice(itertools.cycle(asked), count))


def _pair(port: int, explainer: Explainer, row: Any, turn: int, run: ServiceRun) -> Asked:
    """Ask both ways, each first every other time."""
    body = json.dumps({"x": as_plain(dict(row))}).encode()
    with _connection(port) as connection:
        _post(connection, body[:0])  # the connection is made before the clock runs
        if turn % 2:
            status, document, over_http = _timed(lambda: _post(connection, body))
        _, found, in_process = _timed(lambda: (0, explainer.explain(row, threads=1)))
        if not turn % 2:
            status, document, over_http = _timed(lambda: _post(connection, body))
    told = found.to_dict()
    expected = json.loads(json.dumps({name: told[name] for name in SAME}))
    if status != 200 or not _equal(document, expected):
        raise InputError(f"the service answered another way than the explainer: {document}.")
    run.pairs.append(Pair(in_process, over_http))
    return Asked(body, expected)


def _timed(ask: Callable[[], tuple[int, Any]]) -> tuple[int, Any, float]:
    began = time.perf_counter()
    status, told = ask()
    return status, told, time.perf_counter() - began


def _equal(document: Any, expected: dict[str, Any]) -> bool:
    return {name: document["answer"][name] for name in SAME} == expected


def _loop(
    port: int, pid: int, asked: list[Asked], count: int, clients: int
) -> tuple[float, dict[int, int], int, Cpu]:
    """Seconds, answers by status, how many were wrong, and what they took."""
    asked = _again(asked, count)
    bodies = [own.body for own in asked]
    before, began = _cpu(pid), time.perf_counter()
    answers = closed_loop(port, PATH, bodies, clients)
    seconds, cpu = time.perf_counter() - began, before.until(_cpu(pid))
    codes, wrong = _told(asked, answers)  # afterwards: it takes what the service could use
    return seconds, dict(codes), wrong, cpu


def _cpu(pid: int) -> Cpu:
    """What this process, a service and its workers have taken."""
    return Cpu(time.process_time(), cpu_of(pid), sum(map(cpu_of, children_of(pid))))


def _told(asked: Sequence[Asked], answers: Sequence[Answered]) -> tuple[Counter[int], int]:
    """Answers by status, and how many differ."""
    differ = [
        status == 200 and not _equal(json.loads(body), asked[place].expected)
        for place, status, body in answers
    ]
    return Counter(status for _, status, _ in answers), sum(differ)


@contextmanager
def _connection(port: int) -> Iterator[HTTPConnection]:
    made = HTTPConnection("127.0.0.1", port, timeout=BEGIN_S)
    try:
        yield made
    finally:
        made.close()


def _post(connection: HTTPConnection, body: bytes) -> tuple[int, Any]:
    connection.request("POST", PATH, body, {"content-type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


@contextmanager
def _served(explainer: Explainer, workers: int) -> Iterator[tuple[int, int]]:
    """A service in a process of its own: its port and number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_serve, args=(explainer, port, workers), daemon=False)
    process.start()
    try:
        _await_ready(port)
        assert process.pid is not None
        yield port, process.pid
    finally:
        process.terminate()
        process.join()


def _serve(explainer: Explainer, port: int, workers: int) -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # the log, which is written all the same
    source = AtHand(CALLED, explainer, {})
    run(Settings(lambda: [source], workers=workers, reload_s=0), "127.0.0.1", port)


def _await_ready(port: int) -> None:
    late_at = time.monotonic() + BEGIN_S
    while time.monotonic() < late_at:
        with suppress(OSError), _connection(port) as connection:
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise InputError(f"the service was not ready within {BEGIN_S:g} seconds.")


def _memory(pid: int) -> int:
    """Bytes of a process and of those that it began."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") + sum(map(_memory, children_of(pid)))
