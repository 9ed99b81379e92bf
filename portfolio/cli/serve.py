"""The command line: ``counterfolio serve``."""

from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from typing import Annotated

import typer

from encoders.core.errors import InputError
from portfolio.cli import options
from portfolio.cli.output import needing, print_warning, wide_console
from portfolio.cli.serve_options import (
    AccessOptions,
    JobOptions,
    LimitOptions,
    LogOptions,
    RayOptions,
    ServedModels,
)
from portfolio.cli.setting_origins import (
    place_of,
    read_settings,
    settings_table,
    unknown_variables,
)


@options.spread
def serve(
    ctx: typer.Context,
    served: ServedModels,
    on_ray: RayOptions,
    job_options: JobOptions,
    access: AccessOptions,
    limits: LimitOptions,
    logging: LogOptions,
    settings: Annotated[
        Path | None,
        typer.Option(
            is_eager=True,
            callback=read_settings,
            help="TOML file of these options. Precedence: flag, environment, file, default.",
        ),
    ] = None,
    show_settings: Annotated[
        bool, typer.Option("--show-settings", help="Print all settings with their origin and exit.")
    ] = False,
) -> None:
    """Serve explanations over HTTP until SIGTERM or Ctrl-C (docs/how-to/operate-a-service.md)."""
    ignored = list(unknown_variables(ctx))
    if show_settings:
        from portfolio.service.settings import KEYS

        wide_console().print(settings_table(ctx, (KEYS,)), highlight=False)
        for words in ignored:
            print_warning(words)
        return
    on_ray.check(access, limits, logging)
    with needing("service,ray" if on_ray.ray else "service"):
        if on_ray.ray:
            _log_warnings(ignored, logging.log_format)
            on_ray.run(served, access.port, host=access.host, keys=access.keys,
                       workers=limits.workers or 1, threads=limits.threads,
                       longest=limits.longest, queue=limits.queue, log_format=logging.log_format,
                       show_rows=access.show_rows, **vars(job_options))  # fmt: skip
            return
        from portfolio.service import server
        from portfolio.service.settings import SettingError, Settings
    try:
        groups = (job_options, access, limits, logging)
        arguments = [group.settings() for group in groups]
        merged = {name: value for each in arguments for name, value in each.items()}
        checked = Settings(served.sources(), **merged)
    except SettingError as error:
        raise InputError(f"{place_of(ctx, error.option)}: {error}") from error
    _log_warnings(ignored, checked.log_format)
    server.run(checked, access.host, access.port)


def _log_warnings(sentences: Sequence[str], form: str) -> None:
    """Write warnings to the log of the service, which has not started yet."""
    from portfolio.service.log_lines import FORMATTERS, log_as_lines

    log_as_lines("counterfolio.service", form=form if form in FORMATTERS else "json")
    for words in sentences:
        getLogger("counterfolio.service").warning("%s", words)
