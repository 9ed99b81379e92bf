"""Registration of the commands that measure, which checkouts have and wheels lack."""

import typer

from encoders.core.errors import InputError


def add_benchmarks(app: typer.Typer) -> None:
    """Add ``bench``, ``figures`` and ``paper``, or commands that state how to get these."""
    try:
        from portfolio.bench.commands import bench, figures, paper
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("portfolio.bench"):
            raise
        anything = {"ignore_unknown_options": True, "allow_extra_args": True}
        for name in ("bench", "figures", "paper"):
            app.command(name, context_settings=anything)(_unavailable)
        return
    for command in (bench, figures, paper):
        app.command()(command)


def _unavailable(context: typer.Context) -> None:
    """Needs an installation from a checkout of the project."""
    raise InputError(
        f"counterfolio {context.info_name} is not part of wheels; install the project from a "
        "checkout of its repository: pip install -e FOLDER."
    )
