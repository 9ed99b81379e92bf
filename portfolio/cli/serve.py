"""The command line: ``counterfolio serve``."""

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
    from portfolio.service.sources import Source


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

    def check(self, learns: bool) -> None:
        """Raise :class:`InputError` if these options do not fit the others."""
        if not self.ray and self != RayOptions():
            raise InputError(
                "--address, --replicas, --most-replicas and --race-on-cluster need --ray. Add "
                "--ray or omit them."
            )
        if self.ray and learns:
            raise InputError("--ray does not support --logs and --explore. Omit them.")

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
    longest_job: Annotated[
        float, typer.Option(help="Largest time limit of a group or an audit in seconds.")
    ] = 3600.0
    job_workers: Annotated[
        int, typer.Option(min=1, help="Number of processes of the current job.")
    ] = 1
    job_memory: Annotated[
        int, typer.Option(min=0, help="Memory limit of each job process in MB; 0 for no limit.")
    ] = 4096
    most_rows: Annotated[int, typer.Option(min=1, help="Largest number of rows of a job.")] = (
        200_000
    )
    keep_jobs: Annotated[
        float, typer.Option(min=0, help="Days until a finished job is removed; 0 for never.")
    ] = 30.0

    def settings(self) -> dict[str, Any]:
        """Return the arguments of :class:`portfolio.service.settings.Settings`."""
        return {
            "jobs": self.jobs,
            "longest_job_s": self.longest_job,
            "job_workers": self.job_workers,
            "job_memory_bytes": self.job_memory << 20,
            "most_rows": self.most_rows,
            "keep_jobs_days": self.keep_jobs,
        }


@options.spread
def serve(
    served: ServedModels,
    on_ray: RayOptions,
    job_options: JobOptions,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="TCP port; 0 for any free port.")
    ] = 8000,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of worker processes. Default: one per core; 1 with --ray."
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, help="Largest number of solver threads per request.")
    ] = 1,
    longest: Annotated[
        float, typer.Option(help="Largest time limit of a request in seconds.")
    ] = 60.0,
    queue: Annotated[int, typer.Option(min=0, help="Largest number of queued requests.")] = 100,
    connections: Annotated[int, typer.Option(min=1, help="Largest number of connections.")] = 1000,
    logs: Annotated[
        Path | None,
        typer.Option(help="Folder for training logs of explain requests, without rows."),
    ] = None,
    explore: Annotated[
        float, typer.Option(help="Share of logged requests to solve with every backend when idle.")
    ] = 0.0,
    keys: Annotated[
        Path | None,
        typer.Option(help="File with API keys, one per line. Also: COUNTERFOLIO_API_KEYS."),
    ] = None,
) -> None:
    """Serve explanations over HTTP until SIGTERM or Ctrl-C (docs/how-to/operate-a-service.md)."""
    on_ray.check(logs is not None or explore > 0)
    with needing("service,ray" if on_ray.ray else "service"):
        if on_ray.ray:
            on_ray.run(served, port, host=host, workers=workers or 1, threads=threads,
                       longest=longest, queue=queue, keys=keys, **vars(job_options))  # fmt: skip
            return
        from portfolio.service import server
        from portfolio.service.settings import Settings, check_address, read_keys
    accepted = read_keys(keys)
    check_address(host, accepted)
    settings = Settings(
        served.sources(),
        workers=workers or usable_cores(),
        threads=threads,
        longest_s=longest,
        most_waiting=queue,
        most_connections=connections,
        keys=accepted,
        logs=logs,
        explore=explore,
        **job_options.settings(),
    )
    server.run(settings, host, port)
