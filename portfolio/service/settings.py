"""How a service runs: its models, its limits, and who may ask."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from encoders.cores import usable_cores
from encoders.errors import InputError
from portfolio.running.solver_workers import Workers
from portfolio.service.sources import Source

KEYS = "COUNTERFOLIO_API_KEYS"
SHORTEST_KEY = 16
LOCAL = ("localhost", "127.0.0.1", "[::1]", "::1")


@dataclass(frozen=True)
class Settings:
    """A service.

    Attributes
    ----------
    sources : gives the models that there are to be, each time it is asked
    workers : processes that answer, one question at a time each
    threads : solver threads of a question, at most
    longest_s : seconds of a question, at most
    default_s : seconds of a question that names none
    longest_job_s : seconds of a group or an audit, at most
    most_waiting : questions that may wait for a worker
    most_connections : int, connections that there may be
    largest_body : bytes of a request
    largest_upload : int, bytes that the rows of a job may have
    most_rows : int, rows that a job may have
    jobs : folder where batches are kept; None: there are none
    job_workers : processes of the batch that is worked on, besides ``workers``
    job_memory_bytes : int, address space of each process of a job, 0 for no limit
    keep_jobs_days : float, days that a job which has ended is kept, 0 for ever
    memory_bytes : address space of each worker, 0 for no limit
    keys : one of these has to come with each request; none: anybody on this machine may ask
    reload_s : seconds between looks at the models' files, 0 for never
    logs : folder where cheapest changes are logged; None: nowhere
    explore : share of the logged questions that all backends are asked in idle time, from 0 to 1
    solvers : run backends in each worker; None: workers of its own
    """

    sources: Callable[[], Sequence[Source]]
    workers: int = field(default_factory=usable_cores)
    threads: int = 1
    longest_s: float = 60.0
    default_s: float = 10.0
    longest_job_s: float = 3600.0
    most_waiting: int = 100
    most_connections: int = 1000
    largest_body: int = 1_000_000
    largest_upload: int = 50_000_000
    most_rows: int = 200_000
    jobs: Path | None = None
    job_workers: int = 1
    job_memory_bytes: int = 2**32
    keep_jobs_days: float = 30.0
    memory_bytes: int = 0
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    reload_s: float = 2.0
    logs: Path | None = None
    explore: float = 0.0
    solvers: Workers | None = None

    def __post_init__(self) -> None:
        counts = {
            "workers": self.workers,
            "threads": self.threads,
            "job workers": self.job_workers,
        }
        for name, count in counts.items():
            if count < 1:
                raise InputError(f"{name} must be at least 1, got {count}.")
        if self.most_waiting < 0:
            raise InputError(f"the queue's limit must be at least 0, got {self.most_waiting}.")
        for seconds in (self.longest_s, self.default_s, self.longest_job_s):
            if not 0 < seconds < float("inf"):
                raise InputError(f"a time limit must be above 0 seconds, got {seconds}.")
        if not 0 <= self.explore <= 1:
            raise InputError(f"explore must be a share from 0 to 1, got {self.explore}.")
        if self.explore and self.logs is None:
            raise InputError("what is explored is logged: give logs, a folder for it.")
        if any(len(key) < SHORTEST_KEY or not key.isascii() for key in self.keys):
            raise InputError(f"an API key is ASCII text of at least {SHORTEST_KEY} characters.")


def read_keys(path: Path | None) -> frozenset[str]:
    """The API keys of a file, one a line, and of the environment, with commas."""
    found = {key.strip() for key in os.environ.get(KEYS, "").split(",")}
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"the keys of {path} can't be read: {error}.") from error
        of_the_file = {line.strip() for line in lines if not line.startswith("#")} - {""}
        if not of_the_file:
            raise InputError(f"{path} has no API key; write one a line.")
        found |= of_the_file
    return frozenset(found - {""})


def is_local(host: str) -> bool:
    """Whether a host is this machine's name or an address that it has for itself.

    Such an address is safe from pages of strangers: they can have their own names lead there, but
    then it is these names that a browser asks for.
    """
    if host in LOCAL:
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, keys: frozenset[str]) -> None:
    """Raise :class:`InputError` where strangers could ask without a key."""
    if not keys and not is_local(host):
        raise InputError(
            f"others could ask at {host}, so API keys are needed: give --keys FILE, or {KEYS} in "
            "the environment."
        )
