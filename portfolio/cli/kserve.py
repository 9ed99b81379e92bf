"""Command ``counterfolio kserve``: the service as a container of an InferenceService of KServe."""

from pathlib import Path
from typing import Annotated

import typer

from encoders.core.cores import usable_cores
from portfolio.cli import options
from portfolio.cli.output import needing

MOUNT = Path("/mnt/models")  # where KServe mounts the model of a storage URI


def kserve(
    model: Annotated[
        Path,
        typer.Option(
            callback=options.model_path,
            help="Folder of a saved explainer, or a model file with --data.",
        ),
    ] = MOUNT,
    data: Annotated[
        Path | None, typer.Option(help="CSV or Parquet table that the model was trained on.")
    ] = None,
    label: Annotated[str | None, typer.Option(help=options.LABEL)] = None,
    model_name: Annotated[
        str | None,
        typer.Option("--model_name", "--model-name", help="Name in URLs. Default: file name."),
    ] = None,
    predictor_host: Annotated[
        str | None,
        typer.Option(
            "--predictor_host",
            "--predictor-host",
            help="Ignored: predictions are those of --model. KServe passes it.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    http_port: Annotated[
        int, typer.Option("--http_port", "--http-port", min=0, max=65535, help="TCP port.")
    ] = 8080,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of worker processes. Default: one per core.")
    ] = None,
    longest: Annotated[float, typer.Option(help="Largest time limit of a row in seconds.")] = 60.0,
    keys: Annotated[
        Path | None,
        typer.Option(
            help="File with API keys. Without keys, all requests are accepted: the gateway of the "
            "cluster has to authenticate them."
        ),
    ] = None,
) -> None:
    """Serve the protocols of KServe until SIGTERM (docs/how-to/kserve.md)."""
    del predictor_host
    with needing("service"):
        from portfolio.service import server
        from portfolio.service.settings import Settings, read_keys
        from portfolio.service.sources import chosen
    accepted = read_keys(keys)
    settings = Settings(
        chosen(model=model, data=data, label=label, name=model_name),
        workers=workers or usable_cores(),
        longest_s=longest,
        keys=accepted,
        behind_gateway=not accepted,
        reload_s=0,  # a mounted model does not change
    )
    server.run(settings, host, http_port)
