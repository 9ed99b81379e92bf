"""The command line: ``counterfolio serve``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from encoders.cores import usable_cores
from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.output import needing

if TYPE_CHECKING:
    from portfolio.service.sources import Source


@dataclass(frozen=True)
class ServedModels:
    """Which models are served."""

    model: Annotated[
        Path | None, typer.Option(help="Model file: .json, .ubj, .txt, .cbm, .skops, or a pickle.")
    ] = None
    data: Annotated[
        Path | None, typer.Option(help="CSV or Parquet table that the model was trained on.")
    ] = None
    label: Annotated[str | None, typer.Option(help="Column of --data that the model predicts.")] = (
        None
    )
    name: Annotated[
        str | None, typer.Option(help="What --model is called in paths; default its file's name.")
    ] = None
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load pickles, which can run any code.")
    ] = False
    models: Annotated[
        Path | None, typer.Option(help="Folder with a .toml for each model, instead of --model.")
    ] = None
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the bundled demo, instead of --model.")
    ] = False

    def sources(self) -> "Callable[[], Sequence[Source]]":
        """What gives the models, each time it is asked."""
        from portfolio.service.sources import chosen

        return chosen(**vars(self))


@dataclass(frozen=True)
class RayOptions:
    """Whether Ray Serve serves them."""

    ray: Annotated[
        bool, typer.Option("--ray", help="Serve on a Ray cluster; workers are of each replica.")
    ] = False
    address: Annotated[
        str | None, typer.Option(help="Of the Ray cluster; default one started here.")
    ] = None
    replicas: Annotated[int, typer.Option(min=1, help="Replicas on the cluster.")] = 1
    most_replicas: Annotated[
        int, typer.Option(min=1, help="Replicas that there may be as questions queue up.")
    ] = 1
    race_on_cluster: Annotated[
        bool, typer.Option("--race-on-cluster", help="Races take cores of the cluster, if free.")
    ] = False

    def check(self, learns: bool) -> None:
        """Raise :class:`InputError` where other options do not go with these."""
        if not self.ray and self != RayOptions():
            raise InputError(
                "--address, --replicas, --most-replicas and --race-on-cluster are for --ray."
            )
        if self.ray and learns:
            raise InputError("--logs and --explore are for one server, not for --ray.")

    def run(self, served: ServedModels, port: int, **more: Any) -> None:
        """Serve until a signal."""
        from portfolio.service import on_ray

        # Nodes have folders of their own where they are at work.
        given = {
            name: own.absolute() if isinstance(own, Path) else own
            for name, own in (vars(served) | more).items()
        }
        given |= {"replicas": self.replicas, "most_replicas": self.most_replicas}
        given |= {"race_on_cluster": self.race_on_cluster}
        service = on_ray.RayService.model_validate(given)
        on_ray.run(service, port, self.address)


@dataclass(frozen=True)
class JobOptions:
    """Whether the service takes jobs, and what they may take."""

    jobs: Annotated[
        Path | None, typer.Option(help="Folder for batches, which go on there after a restart.")
    ] = None
    longest_job: Annotated[float, typer.Option(help="Seconds of a group or an audit, at most.")] = (
        3600.0
    )
    job_workers: Annotated[
        int, typer.Option(min=1, help="Processes of the batch that is worked on.")
    ] = 1
    job_memory: Annotated[
        int, typer.Option(min=0, help="MB of memory of each process of a job; 0 for no limit.")
    ] = 4096
    most_rows: Annotated[int, typer.Option(min=1, help="Rows that a job may have.")] = 200_000
    keep_jobs: Annotated[
        float, typer.Option(min=0, help="Days that a finished job is kept; 0 for ever.")
    ] = 30.0

    def settings(self) -> dict[str, Any]:
        """Return arguments of :class:`portfolio.service.settings.Settings`."""
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
    of_jobs: JobOptions,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that answer; default one per core.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Solver threads of a question, at most.")] = 1,
    longest: Annotated[float, typer.Option(help="Seconds of a question, at most.")] = 60.0,
    queue: Annotated[int, typer.Option(min=0, help="Questions that may wait, at most.")] = 100,
    connections: Annotated[int, typer.Option(min=1, help="Connections, at most.")] = 1000,
    logs: Annotated[
        Path | None, typer.Option(help="Folder where cheapest changes are logged, without rows.")
    ] = None,
    explore: Annotated[
        float, typer.Option(help="Share of them that all backends are asked in idle time.")
    ] = 0.0,
    keys: Annotated[
        Path | None, typer.Option(help="File of API keys, one a line; also COUNTERFOLIO_API_KEYS.")
    ] = None,
) -> None:
    """Answer questions over HTTP until SIGTERM or Ctrl-C; see docs/service.md."""
    on_ray.check(logs is not None or explore > 0)
    with needing("service,ray" if on_ray.ray else "service"):
        if on_ray.ray:
            on_ray.run(served, port, host=host, workers=workers or 1, threads=threads,
                       longest=longest, queue=queue, keys=keys, **vars(of_jobs))  # fmt: skip
            return
        from portfolio.service import server
        from portfolio.service.settings import Settings, check_address, read_keys
    known = read_keys(keys)
    check_address(host, known)
    settings = Settings(
        served.sources(),
        workers=workers or usable_cores(),
        threads=threads,
        longest_s=longest,
        most_waiting=queue,
        most_connections=connections,
        keys=known,
        logs=logs,
        explore=explore,
        **of_jobs.settings(),
    )
    server.run(settings, host, port)
