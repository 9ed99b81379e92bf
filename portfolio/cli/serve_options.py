"""Options of ``counterfolio serve`` in groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from encoders.core.cores import usable_cores
from encoders.core.errors import InputError
from portfolio.cli import options
from portfolio.cli.output import needing

if TYPE_CHECKING:
    from portfolio.service.settings import TokenIssuer
    from portfolio.service.sources import Source


# Options that a service on Ray does not have.
WITHOUT_RAY = (
    *("logs", "explore", "requests_per_minute", "queries_per_day", "tls_certificate", "tls_key"),
    *("traces", "oidc_issuer", "oidc_audience", "oidc_jwks_url", "oidc_jwks_file", "oidc_claim"),
    "connections",
)


@dataclass(frozen=True)
class ServedModels:
    """Options that name the models to serve."""

    model: Annotated[
        Path | None,
        typer.Option(
            callback=options.model_path,
            help="Model file: .json, .ubj, .txt, .cbm, .skops, or a pickle; or the folder of a "
            "saved explainer, which needs no --data.",
        ),
    ] = None
    data: Annotated[
        Path | None, typer.Option(help="CSV or Parquet table that the model was trained on.")
    ] = None
    label: Annotated[str | None, typer.Option(help=options.LABEL)] = None
    outputs: Annotated[str | None, typer.Option(help=options.OUTPUTS)] = None
    name: Annotated[
        str | None, typer.Option(help="Name of --model in URLs. Default: its file name.")
    ] = None
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load pickles, which can run arbitrary code.")
    ] = False
    models: Annotated[
        Path | None, typer.Option(help="Folder with a .toml file per model, instead of --model.")
    ] = None
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the bundled demo instead of --model.")
    ] = False

    def sources(self) -> "Callable[[], Sequence[Source]]":
        """Return a function that lists the current models."""
        from portfolio.service.sources import chosen

        return chosen(**vars(self))


@dataclass(frozen=True)
class RayOptions:
    """Options of a service on a Ray cluster."""

    ray: Annotated[
        bool,
        typer.Option("--ray", help="Serve on a Ray cluster; each replica has its own workers."),
    ] = False
    address: Annotated[
        str | None, typer.Option(help="Ray cluster address. Default: start a local cluster.")
    ] = None
    replicas: Annotated[int, typer.Option(min=1, help="Smallest number of replicas.")] = 1
    most_replicas: Annotated[
        int, typer.Option(min=1, help="Largest number of replicas while requests queue up.")
    ] = 1
    race_on_cluster: Annotated[
        bool, typer.Option("--race-on-cluster", help="Let races use free cores of the cluster.")
    ] = False

    def check(self, *others: Any) -> None:
        """Raise :class:`InputError` if these options do not fit those of other groups."""
        if not self.ray and self != RayOptions():
            raise InputError(
                "--address, --replicas, --most-replicas and --race-on-cluster need --ray. Add "
                "--ray or omit them."
            )
        values = {name: value for group in others for name, value in vars(group).items()}
        usual = {name: value for group in others for name, value in vars(type(group)()).items()}
        differing = [name for name in WITHOUT_RAY if values[name] != usual[name]]
        flags = [f"--{name.replace('_', '-')}" for name in differing]
        if self.ray and flags:
            raise InputError(f"--ray does not support {' and '.join(flags)}. Omit them.")

    def run(self, served: ServedModels, port: int, **more: Any) -> None:
        """Serve until SIGTERM or Ctrl-C."""
        from portfolio.service import on_ray

        # Nodes of the cluster have other working folders, so paths have to be absolute.
        settings = {
            name: value.absolute() if isinstance(value, Path) else value
            for name, value in (vars(served) | more).items()
        }
        settings |= {"replicas": self.replicas, "most_replicas": self.most_replicas}
        settings |= {"race_on_cluster": self.race_on_cluster}
        service = on_ray.RayService.model_validate(settings)
        on_ray.run(service, port, self.address)


@dataclass(frozen=True)
class JobOptions:
    """Options of jobs: their folder and limits."""

    jobs: Annotated[
        Path | None,
        typer.Option(help="Folder for jobs, which continue after a restart. Default: no jobs."),
    ] = None
    jobs_database: Annotated[
        str | None,
        typer.Option(
            help="URL of a PostgreSQL database that several servers share, such as "
            "postgresql://USER@HOST/NAME. Default: an SQLite file in --jobs."
        ),
    ] = None
    job_answers: Annotated[
        str | None,
        typer.Option(
            help="URL of an object store for rows and answers of jobs, such as s3://BUCKET/PREFIX. "
            "Default: the folder of --jobs."
        ),
    ] = None
    longest_job: Annotated[
        float, typer.Option(help="Largest time limit of a group or an audit in seconds.")
    ] = 3600.0
    job_workers: Annotated[
        int,
        typer.Option(
            min=0, help="Number of processes of the current job; 0 to leave jobs to other servers."
        ),
    ] = 1
    job_memory: Annotated[
        int,
        typer.Option(
            min=0, help="Memory limit (Linux only) of each job process in MB; 0 for none."
        ),
    ] = 4096
    most_rows: Annotated[int, typer.Option(min=1, help="Largest number of rows of a job.")] = (
        200_000
    )
    keep_jobs: Annotated[
        float, typer.Option(min=0, help="Days until a finished job is removed; 0 for never.")
    ] = 30.0

    def settings(self) -> dict[str, Any]:
        """Return the arguments of :class:`portfolio.service.settings.Settings`."""
        if self.jobs is not None:
            with needing("service"):
                import portfolio.service.database  # noqa: F401
        return {
            "jobs": self.jobs,
            "jobs_database": self.jobs_database,
            "job_answers": self.job_answers,
            "longest_job_s": self.longest_job,
            "job_workers": self.job_workers,
            "job_memory_bytes": self.job_memory << 20,
            "most_rows": self.most_rows,
            "keep_jobs_days": self.keep_jobs,
        }


@dataclass(frozen=True)
class LimitOptions:
    """Options of workers and limits."""

    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of worker processes. Default: one per core; 1 with --ray."
        ),
    ] = None
    threads: Annotated[
        int, typer.Option(min=1, help="Largest number of solver threads per request.")
    ] = 1
    longest: Annotated[float, typer.Option(help="Largest time limit of a request in seconds.")] = (
        60.0
    )
    queue: Annotated[int, typer.Option(min=0, help="Largest number of queued requests.")] = 100
    connections: Annotated[int, typer.Option(min=1, help="Largest number of connections.")] = 1000
    requests_per_minute: Annotated[
        int,
        typer.Option(min=0, help="Most requests of an API key per minute; 0 for no limit."),
    ] = 0
    queries_per_day: Annotated[
        int, typer.Option(min=0, help="Most queries of an API key per day; 0 for no limit.")
    ] = 0

    def settings(self) -> dict[str, Any]:
        """Return the arguments of :class:`portfolio.service.settings.Settings`."""
        return {
            "workers": self.workers or usable_cores(),
            "threads": self.threads,
            "longest_s": self.longest,
            "most_waiting": self.queue,
            "most_connections": self.connections,
            "requests_per_minute": self.requests_per_minute,
            "queries_per_day": self.queries_per_day,
        }


@dataclass(frozen=True)
class AccessOptions:
    """Options of the address, and of the clients that may use it."""

    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 for any free port.")] = (
        8000
    )
    keys: Annotated[
        Path | None,
        typer.Option(help="File with API keys, one per line. Also: COUNTERFOLIO_API_KEYS."),
    ] = None
    tls_certificate: Annotated[
        Path | None,
        typer.Option(help="PEM file with a certificate and its chain, to serve HTTPS."),
    ] = None
    tls_key: Annotated[
        Path | None, typer.Option(help="PEM file with the private key of --tls-certificate.")
    ] = None

    oidc_issuer: Annotated[
        str | None, typer.Option(help="OpenID Connect issuer whose tokens are accepted as keys.")
    ] = None
    oidc_audience: Annotated[
        str | None, typer.Option(help="Audience that a token must name, with --oidc-issuer.")
    ] = None
    oidc_jwks_url: Annotated[
        str | None, typer.Option(help="HTTPS address of the issuer's public keys (JWK set).")
    ] = None
    oidc_jwks_file: Annotated[
        Path | None, typer.Option(help="File with these keys, instead of --oidc-jwks-url.")
    ] = None
    oidc_claim: Annotated[
        str, typer.Option(help="Claim of a token that identifies the client.")
    ] = "sub"
    show_rows: Annotated[
        bool | None,
        typer.Option(
            "--show-rows/--hide-rows",
            help="Whether clients may see training rows. Default: only without API keys.",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the arguments of :class:`portfolio.service.settings.Settings`."""
        from portfolio.service.settings import check_address, read_keys
        from portfolio.service.tls import check_tls

        keys, tokens = read_keys(self.keys), self._tokens()
        check_address(self.host, bool(keys or tokens))
        check_tls(self.tls_certificate, self.tls_key)
        return {
            "keys": keys,
            "tokens": tokens,
            "tls_certificate": self.tls_certificate,
            "tls_key": self.tls_key,
            "show_rows": self.show_rows,
        }

    def _tokens(self) -> "TokenIssuer | None":
        """Return the issuer of tokens; raise InputError if its options are incomplete."""
        from portfolio.service.settings import SettingError, TokenIssuer

        if self.oidc_issuer is None:
            if self.oidc_audience or self.oidc_jwks_url or self.oidc_jwks_file:
                raise InputError(
                    "--oidc-audience, --oidc-jwks-url and --oidc-jwks-file need --oidc-issuer. "
                    "Give the issuer, or omit them."
                )
            return None
        if self.oidc_audience is None:
            raise SettingError("oidc_issuer", "an issuer needs an audience. Give --oidc-audience.")
        with needing("service,oidc"):
            from portfolio.service.tokens import check_file
        tokens = TokenIssuer(
            self.oidc_issuer,
            self.oidc_audience,
            self.oidc_jwks_url,
            self.oidc_jwks_file,
            self.oidc_claim,
        )
        if tokens.jwks_file is not None:
            check_file(tokens.jwks_file)
        return tokens


@dataclass(frozen=True)
class LogOptions:
    """Options of logs."""

    log_format: Annotated[
        str, typer.Option(help="Format of the log on stderr: json (an object per line) or text.")
    ] = "json"
    traces: Annotated[
        bool,
        typer.Option("--traces", help="Send OpenTelemetry traces to OTEL_EXPORTER_OTLP_ENDPOINT."),
    ] = False
    logs: Annotated[
        Path | None,
        typer.Option(help="Folder for training logs of explain requests, without rows."),
    ] = None
    explore: Annotated[
        float, typer.Option(help="Share of logged requests to solve with every backend when idle.")
    ] = 0.0

    def settings(self) -> dict[str, Any]:
        """Return the arguments of :class:`portfolio.service.settings.Settings`."""
        if self.traces:
            with needing("service,otel"):
                import portfolio.service.tracing  # noqa: F401
        return vars(self)
