"""A service in a process of its own, to be measured."""

import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection

from encoders.errors import InputError
from portfolio.explainer import Explainer
from portfolio.service.server import run
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand

CALLED = "benchmark"  # the model's name
BEGIN_S = 300.0  # seconds that a service may take until its workers are warm
LOOK_S = 0.1  # seconds between looks whether they are
WARM = "\ncounterfolio_workers_warm "


@contextmanager
def served_apart(explainer: Explainer, workers: int) -> Iterator[tuple[int, int]]:
    """A service whose workers are all warm: its port, and the number of its process."""
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
    """Wait until so many are warm: one that begins takes the processor from those that answer."""
    late_at = time.monotonic() + BEGIN_S
    while time.monotonic() < late_at and alive():
        with suppress(OSError), connected(port) as connection:
            connection.request("GET", "/metrics")
            told = connection.getresponse().read().decode().partition(WARM)[2]
            if told and float(told.partition("\n")[0]) >= workers:  # empty while models are read
                return
        time.sleep(LOOK_S)
    if alive():
        raise InputError(f"the service was not ready within {BEGIN_S:g} seconds.")
    raise InputError("the service ended before it was ready.")


@contextmanager
def connected(port: int) -> Iterator[HTTPConnection]:
    """A connection to a service of this machine."""
    made = HTTPConnection("127.0.0.1", port, timeout=BEGIN_S)
    try:
        yield made
    finally:
        made.close()


def _serve(explainer: Explainer, port: int, workers: int) -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # the log, which is written all the same
    source = AtHand(CALLED, explainer, {})
    run(Settings(lambda: [source], workers=workers, reload_s=0), "127.0.0.1", port)
