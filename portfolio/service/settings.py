"""Settings of a service: its models, limits and API keys."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from encoders.core.cores import usable_cores
from encoders.core.errors import InputError
from portfolio.service.log_lines import FORMATTERS
from portfolio.service.sources import Source
from portfolio.workers.solver_workers import Workers

KEYS = "COUNTERFOLIO_API_KEYS"
SHORTEST_KEY = 16
LOCAL = ("localhost", "127.0.0.1", "[::1]", "::1")


class SettingError(InputError):
    """An invalid setting.

    Attributes
    ----------
    option : str, option of ``counterfolio serve`` that has the value, such as "longest_job"
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


@dataclass(frozen=True)
class TokenIssuer:
    """An OpenID Connect issuer whose tokens are accepted in place of API keys.

    Attributes
    ----------
    issuer, audience : str, required claims ``iss`` and ``aud`` of a token.
    jwks_url : str or None, HTTPS address of the issuer's public keys, a JWK set.
    jwks_file : Path or None, file with these keys; exactly one of both is given.
    claim : str, name of the claim that identifies the client.
    """

    issuer: str
    audience: str
    jwks_url: str | None = None
    jwks_file: Path | None = None
    claim: str = "sub"

    def __post_init__(self) -> None:
        if (self.jwks_url is None) == (self.jwks_file is None):
            raise SettingError(
                "oidc_issuer",
                "the keys of the issuer must be given once. Give --oidc-jwks-url or "
                "--oidc-jwks-file.",
            )
        if self.jwks_url is not None:
            url = urlsplit(self.jwks_url)
            if url.scheme != "https" and not (
                url.scheme == "http" and is_local(url.hostname or "")
            ):
                raise SettingError(
                    "oidc_jwks_url",
                    f"{self.jwks_url[:200]!r} is not an HTTPS address. Give one, which "
                    "protects the keys.",
                )


@dataclass(frozen=True)
class Settings:
    """Settings of a service.

    Attributes
    ----------
    sources : callable, function that returns the current sources of models.
    workers : int, number of worker processes; each answers one question at a time.
    threads : int, maximum number of solver threads per question.
    longest_s : float, maximum time limit of a question in seconds.
    default_s : float, default time limit of a question in seconds.
    longest_job_s : float, maximum time limit of a group or an audit in seconds.
    most_waiting : int, maximum number of queued questions.
    most_connections : int, maximum number of connections.
    largest_body : int, maximum bytes of a request body.
    largest_upload : int, maximum bytes of the rows of a job.
    most_rows : int, maximum number of rows of a job.
    jobs : Path or None, folder of the jobs; None to disable jobs.
    jobs_database : str or None, URL of the database of the jobs; None for a file in their folder.
    job_answers : str or None, URL of an object store for rows and answers of jobs; None for their
        folder.
    job_workers : int, processes of the current job, in addition to ``workers``; 0 if other servers
        with the same database run the jobs.
    job_memory_bytes : int, maximum address space of each process of a job (Linux only), 0 for no
        limit.
    keep_jobs_days : float, days until a job that has ended is removed, 0 for never.
    memory_bytes : int, maximum address space of each worker (Linux only), 0 for no limit.
    keys : frozenset of str, accepted API keys.
    tokens : TokenIssuer or None, issuer of accepted tokens. Without keys and an issuer, only
        local requests are accepted.
    tls_certificate, tls_key : Path or None, PEM files for HTTPS; None for HTTP.
    requests_per_minute : int, maximum number of requests of a key per minute, 0 for no limit.
    queries_per_day : int, maximum number of questions and jobs of a key per day, 0 for no limit.
    reload_s : float, seconds between checks of the model files, 0 for never.
    logs : Path or None, folder of the training logs; None to disable them.
    log_format : str, "json" for a JSON object per line of the log, or "text".
    traces : bool, send OpenTelemetry traces.
    explore : float, share of logged questions that all backends solve again in idle time, 0 to 1.
    behind_gateway : bool, True to accept requests for any host, which a gateway authenticates.
    show_rows : bool or None, whether clients may see training rows; None for only without keys.
    solvers : Workers or None, workers that run backends; None for those of each worker process.
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
    jobs_database: str | None = field(default=None, repr=False)
    job_answers: str | None = None
    job_workers: int = 1
    job_memory_bytes: int = 2**32
    keep_jobs_days: float = 30.0
    memory_bytes: int = 0
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    tokens: TokenIssuer | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    requests_per_minute: int = 0
    queries_per_day: int = 0
    reload_s: float = 2.0
    logs: Path | None = None
    log_format: str = "json"
    traces: bool = False
    explore: float = 0.0
    behind_gateway: bool = False
    show_rows: bool | None = None
    solvers: Workers | None = None

    def __post_init__(self) -> None:
        counts = {
            "workers": self.workers,
            "threads": self.threads,
        }
        for name, count in counts.items():
            if count < 1:
                words = name.replace("_", " ")
                raise SettingError(name, f"{words} must be at least 1, got {count}.")
        sizes = {
            "queue": self.most_waiting,
            "job_workers": self.job_workers,
            "requests_per_minute": self.requests_per_minute,
            "queries_per_day": self.queries_per_day,
        }
        for name, size in sizes.items():
            if size < 0:
                words = name.replace("_", " ")
                raise SettingError(name, f"the limit {words!r} must be at least 0, got {size}.")
        self._check_jobs()
        limits = {
            "longest": self.longest_s,
            "longest_job": self.longest_job_s,
            "default": self.default_s,
        }
        for name, seconds in limits.items():
            if not 0 < seconds < float("inf"):
                raise SettingError(
                    name, f"a time limit must be finite and above 0 seconds, got {seconds:g}."
                )
        if self.log_format not in FORMATTERS:
            raise SettingError(
                "log_format",
                f"unknown log format {self.log_format[:80]!r}. Use {' or '.join(FORMATTERS)}.",
            )
        if not 0 <= self.explore <= 1:
            raise SettingError(
                "explore", f"explore must be a share from 0 to 1, got {self.explore}."
            )
        if self.explore and self.logs is None:
            raise SettingError(
                "explore",
                f"explore={self.explore:g} needs training logs. Set logs to a folder for them.",
            )
        if any(len(key) < SHORTEST_KEY or not key.isascii() for key in self.keys):
            raise InputError(
                f"an API key is too short or not ASCII. Use ASCII keys of at least {SHORTEST_KEY} "
                "characters."
            )

    def _check_jobs(self) -> None:
        """Raise SettingError if jobs lack a folder, or the URL of their answers is invalid."""
        if self.jobs_database is not None and self.jobs is None:
            raise SettingError(
                "jobs_database", "a jobs database needs a folder for rows and answers. Give --jobs."
            )
        if self.job_answers is None:
            return
        if self.jobs is None:
            raise SettingError(
                "job_answers", "a store of answers needs a folder for copies. Give --jobs."
            )
        from portfolio.service.answer_store import check_url

        try:
            check_url(self.job_answers)
        except InputError as error:
            raise SettingError("job_answers", str(error)) from error

    @property
    def guarded(self) -> bool:
        """True if requests need an API key or a token."""
        return bool(self.keys) or self.tokens is not None

    @property
    def usual_s(self) -> float:
        """Time limit in seconds of a question that sets none."""
        return min(self.default_s, self.longest_s)

    @property
    def shows_rows(self) -> bool:
        """True if clients may see training rows: by default those on this machine."""
        if self.show_rows is None:
            return not (self.guarded or self.behind_gateway)
        return self.show_rows


def read_keys(path: Path | None) -> frozenset[str]:
    """Return the API keys of a file, one per line, and of the environment, comma-separated."""
    keys = {key.strip() for key in os.environ.get(KEYS, "").split(",")}
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise SettingError(
                "keys", f"cannot read the keys in {path}: {error}. Check the file."
            ) from error
        of_the_file = {line.strip() for line in lines if not line.startswith("#")} - {""}
        if not of_the_file:
            raise SettingError("keys", f"{path} has no API key. Write one key per line.")
        keys |= of_the_file
    return frozenset(keys - {""})


def is_local(host: str) -> bool:
    """Return True if a host is "localhost" or a loopback address.

    This protects against DNS rebinding: a foreign web page can point its own name to a loopback
    address, but then browsers send that name as the host.
    """
    if host in LOCAL:
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, guarded: bool) -> None:
    """Raise :class:`SettingError` if other machines could send requests without an API key."""
    if not guarded and not is_local(host):
        raise SettingError(
            "host",
            f"other machines can reach {host}, so API keys are needed. Give --keys FILE or set the "
            f"environment variable {KEYS}.",
        )
