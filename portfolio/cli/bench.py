"""Registration of the commands that measure, which checkouts have and wheels lack."""

from importlib import import_module

import typer

from encoders.core.errors import InputError

NAMES = ("bench", "figures", "paper")


def add_benchmarks(app: typer.Typer) -> None:
    """Add ``bench``, ``figures`` and ``paper``, or commands that state how to get these."""
    try:
        commands = import_module("portfolio.bench.commands")  # by name, as wheels lack it
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("portfolio.bench"):
            raise
        anything = {"ignore_unknown_options": True, "allow_extra_args": True}
        for name in NAMES:
            app.command(name, context_settings=anything)(_unavailable)
        return
    for name in NAMES:
        app.command()(getattr(commands, name))


def _unavailable(context: typer.Context) -> None:
    """Needs an installation from a checkout of the project."""
    raise InputError(
        f"counterfolio {context.info_name} is not part of wheels; install the project from a "
        "checkout of its repository: pip install -e FOLDER."
    )
