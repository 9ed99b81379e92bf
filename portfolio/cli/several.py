"""The command line: ``counterfolio several``, ``diverse`` and ``front``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.one_row import RowOptions, without_log


@options.spread
def several(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    k: Annotated[int, typer.Option("--count", help="Largest number of answers.")] = 5,
    tie_break: options.TieBreak = False,
    different: Annotated[
        str, typer.Option(help="How answers must differ: features or region.")
    ] = "features",
) -> None:
    """Find the cheapest counterfactuals that differ.

    Exit codes as for explain.
    """
    constraints = without_log(question).constraints()
    query = one.read_query(model, question)
    explainer: Any = query.explainer  # validates the text options itself
    result = explainer.several(
        query.row,
        k=k,
        constraints=constraints,
        tie_break=tie_break,
        different=different,
        **one.limits(model.seed),
        **question.words(query.explainer),
    )
    query.print(result, one.as_json)


@options.spread
def diverse(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    k: Annotated[int, typer.Option("--count", help="Number of answers.")] = 3,
    within: Annotated[
        float, typer.Option(help="Largest extra cost, as a share of the cheapest answer's cost.")
    ] = 0.1,
) -> None:
    """Find counterfactuals that are far apart and cost little more than the cheapest.

    Exit codes as for explain.
    """
    constraints = without_log(question).constraints()
    query = one.read_query(model, question)
    explainer: Any = query.explainer
    result = explainer.diverse(
        query.row,
        k=k,
        within=within,
        constraints=constraints,
        **one.limits(model.seed),
        **question.words(query.explainer),
    )
    query.print(result, one.as_json)


@options.spread
def front(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    by: Annotated[
        str,
        typer.Option(help="Objective to trade against cost: changes, probability or plausibility."),
    ] = "changes",
    levels: Annotated[
        str,
        typer.Option(help="Numbers of changes, or lower limits of the probability: 0.6,0.7,0.8."),
    ] = "",
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.")] = None,
    tie_break: options.TieBreak = False,
) -> None:
    """Compute the trade-off between cost and changes, probability or plausibility.

    Exit codes as for explain.
    """
    numbers = _levels(levels)
    constraints = without_log(question).constraints()
    query = one.read_query(model, question)
    explainer: Any = query.explainer
    result = explainer.front(
        query.row,
        by=by,
        levels=numbers,
        constraints=constraints,
        tie_break=tie_break,
        **one.limits(model.seed),
        **question.words(query.explainer),
    )
    if plot is not None:
        _draw(result, plot)
    query.print(result, one.as_json)


def _levels(text: str) -> list[float] | None:
    try:
        return [float(part) for part in options.names(text)] or None
    except ValueError as error:
        raise InputError(
            f"--levels {text} cannot be read. Write numbers such as 0.6,0.7,0.8."
        ) from error


def _draw(result: Any, path: Path) -> None:
    try:
        result.plot().savefig(path)
    except ValueError as error:
        raise InputError(f"--plot {path}: {error}.") from error
