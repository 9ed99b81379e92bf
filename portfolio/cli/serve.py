"""The command line: ``counterfolio serve``."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from encoders.errors import InputError, UnavailableBackendError
from portfolio.cli import options

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
        """What gives the models, each time it is asked.

        Raises
        ------
        InputError
            The options name no model, or more than one way to them.
        """
        from portfolio.service.sources import DemoModel, ModelFiles, check_model_name, read_folder

        if (self.model is not None) + (self.models is not None) + self.demo != 1:
            raise InputError("give exactly one of --model, --models and --demo.")
        if self.models is not None:
            return partial(read_folder, self.models)
        if self.model is None:
            return lambda: [DemoModel()]
        if self.data is None:
            raise InputError("--model needs --data, the table that it was trained on.")
        name = check_model_name(self.name or self.model.stem)
        source = ModelFiles(name, self.model, self.data, self.label, trust_pickle=self.trust_pickle)
        return lambda: [source]


@options.spread
def serve(
    served: ServedModels,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that answer; default one per core.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Solver threads of a question, at most.")] = 1,
    longest: Annotated[float, typer.Option(help="Seconds of a question, at most.")] = 60.0,
    queue: Annotated[int, typer.Option(min=0, help="Questions that may wait, at most.")] = 100,
    jobs: Annotated[
        Path | None, typer.Option(help="Folder for batches, which go on there after a restart.")
    ] = None,
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
    try:
        from portfolio.service import server
        from portfolio.service.app import create_app
        from portfolio.service.settings import Settings, check_address, read_keys
    except ImportError as error:
        raise UnavailableBackendError(
            f"the service needs {error.name}, which is not installed: "
            "pip install 'counterfolio[service]'."
        ) from error
    known = read_keys(keys)
    check_address(host, known)
    settings = Settings(
        served.sources(),
        workers=workers or len(os.sched_getaffinity(0)),
        threads=threads,
        longest_s=longest,
        most_waiting=queue,
        keys=known,
        jobs=jobs,
        logs=logs,
        explore=explore,
    )
    server.run(create_app(settings), host, port)
