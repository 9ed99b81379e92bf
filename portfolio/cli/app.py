"""The command-line application."""

import sys
import warnings
from importlib.metadata import version
from typing import Annotated

import typer

from encoders.core.errors import CounterfolioError
from portfolio.cli.backend_table import backends
from portfolio.cli.batch import batch
from portfolio.cli.bench import add_benchmarks
from portfolio.cli.explain import demo, explain
from portfolio.cli.groups import audit, group
from portfolio.cli.init import init
from portfolio.cli.kserve import kserve
from portfolio.cli.logs import app as logs_app
from portfolio.cli.model_table import models
from portfolio.cli.output import BAD_INPUT, INTERRUPTED, Console, print_error
from portfolio.cli.questions import question_commands
from portfolio.cli.records import report
from portfolio.cli.save import save
from portfolio.cli.selector import app as selector_app
from portfolio.cli.serve import serve
from portfolio.cli.setting_origins import PREFIX, SettingsCommand
from portfolio.workers.interrupt import hear_interrupts

app = typer.Typer(no_args_is_help=True)
for command in (demo, init, explain):
    app.command()(command)
for name, command in question_commands():
    app.command(name)(command)
for command in (group, audit, batch):
    app.command()(command)
app.command(cls=SettingsCommand, context_settings={"auto_envvar_prefix": PREFIX})(serve)
for command in (kserve, save, report, models, backends):
    app.command()(command)
add_benchmarks(app)
app.add_typer(logs_app, name="logs")
app.add_typer(selector_app, name="selector")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"counterfolio {version('counterfolio')}")
        raise typer.Exit


@app.callback()
def about(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Compute exact counterfactual explanations of tree ensembles, with proofs.

    Run counterfolio demo for an example, and COMMAND --help for the options of a command.
    """


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one sentence, without the source line that raised it."""
    Console(stderr=True).print(f"Warning: {message}", soft_wrap=True, markup=False)


def main() -> None:
    """Run the command line; print errors of counterfolio as one sentence and exit with code 2."""
    hear_interrupts()
    warnings.showwarning = _print_warning
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as signal:
        # Typer turns Ctrl-C into a silent exit, except when it arrives late.
        if isinstance(signal, SystemExit) and signal.code != INTERRUPTED:
            raise
        Console(stderr=True).print("Interrupted: no result.")
        sys.exit(INTERRUPTED)
    except CounterfolioError as error:
        print_error(str(error))
        sys.exit(BAD_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print_error(f"{where}{error.strerror or error}.")
        sys.exit(BAD_INPUT)
