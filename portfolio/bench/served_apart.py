"""A service in a separate process, for benchmarks."""

import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.service.server import run
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand

CALLED = "benchmark"  # name of the model
BEGIN_S = 300.0  # maximum seconds until all workers are warm
LOOK_S = 0.1  # seconds between checks
WARM = "\ncounterfolio_workers_warm "


@contextmanager
def served_apart(explainer: Explainer, workers: int) -> Iterator[tuple[int, int]]:
    """Serve an explainer with warm workers; yield (port, process id)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_serve, args=(explainer, port, workers), daemon=False)
    process.start()
    try:
        await_workers(port, workers, process.is_alive)
        assert process.pid is not None
        yield port, process.pid
    finally:
        process.terminate()
        process.join()


def await_workers(port: int, workers: int, alive: Callable[[], bool]) -> None:
    """Wait until all workers are warm, as starting workers would slow down the others."""
    late_at = time.monotonic() + BEGIN_S
    while time.monotonic() < late_at and alive():
        with suppress(OSError), connected(port) as connection:
            connection.request("GET", "/metrics")
            warm = connection.getresponse().read().decode().partition(WARM)[2]
            # The metric is missing while models are being loaded.
            if warm and float(warm.partition("\n")[0]) >= workers:
                return
        time.sleep(LOOK_S)
    if alive():
        raise InputError(
            f"the service was not ready within {BEGIN_S:g} seconds. Use fewer workers."
        )
    raise InputError("the service ended before it was ready. Free memory or use fewer workers.")


@contextmanager
def connected(port: int) -> Iterator[HTTPConnection]:
    """Connect to a service on this machine; yield the connection."""
    connection = HTTPConnection("127.0.0.1", port, timeout=BEGIN_S)
    try:
        yield connection
    finally:
        connection.close()


def _serve(explainer: Explainer, port: int, workers: int) -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # discard the log, which would go to stderr
    source = AtHand(CALLED, explainer, {})
    run(Settings(lambda: [source], workers=workers, reload_s=0), "127.0.0.1", port)
