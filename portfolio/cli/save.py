"""Command ``counterfolio save``."""

from pathlib import Path
from typing import Annotated

import typer

from portfolio.cli import options
from portfolio.cli.checks import check_options
from portfolio.cli.output import Console, escape


@options.spread
def save(
    model: options.ModelOptions,
    folder: Annotated[Path, typer.Argument(help="New folder for the explainer.")],
    features: Annotated[
        Path | None, typer.Option(help="JSON file that overrides features.")
    ] = None,
    diagram: Annotated[
        Path | None, typer.Option(help="Decision diagram for auto. Default: the default one.")
    ] = None,
    rows: Annotated[
        bool,
        typer.Option(
            "--rows/--no-rows", help="Whether the folder contains about 200 training rows."
        ),
    ] = True,
) -> None:
    """Save an explainer to a folder that needs no training table and contains no pickles.

    Give the folder as --model to other commands and to serve.
    """
    question = options.QuestionOptions(features=features, diagram=diagram)
    check_options(model, question)
    explainer = model.explainer(model.table(), question)
    explainer.save(folder, rows)
    Console().print(f"Saved the explainer to {escape(str(folder))}.", highlight=False)
