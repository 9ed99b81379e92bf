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
    k: Annotated[int, typer.Option("--count", help="How many answers at most.")] = 5,
    tie_break: options.TieBreak = False,
    different: Annotated[str, typer.Option(help="In what: features or region.")] = "features",
) -> None:
    """The cheapest answers that differ; exit codes as of explain."""
    constraints = without_log(question).constraints()
    asked = one.asked(model, question)
    explainer: Any = asked.explainer  # checks what text the user gave
    found = explainer.several(
        asked.row,
        k,
        constraints=constraints,
        tie_break=tie_break,
        different=different,
        **one.limits(model.seed),
        **question.words(asked.explainer),
    )
    asked.print(found, one.as_json)


@options.spread
def diverse(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    k: Annotated[int, typer.Option("--count", help="How many answers.")] = 3,
    within: Annotated[
        float, typer.Option(help="Share by which they may cost more than the cheapest.")
    ] = 0.1,
) -> None:
    """Answers that are far apart, and cost little more than the cheapest; codes as of explain."""
    constraints = without_log(question).constraints()
    asked = one.asked(model, question)
    explainer: Any = asked.explainer
    found = explainer.diverse(
        asked.row,
        k,
        within,
        constraints=constraints,
        **one.limits(model.seed),
        **question.words(asked.explainer),
    )
    asked.print(found, one.as_json)


@options.spread
def front(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    by: Annotated[str, typer.Option(help="changes or probability.")] = "changes",
    levels: Annotated[
        str, typer.Option(help="Most changes, or least probabilities: 0.6,0.7,0.8.")
    ] = "",
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.")] = None,
    tie_break: options.TieBreak = False,
) -> None:
    """What fewer changes cost, or a higher probability; exit codes as of explain."""
    chosen = _levels(levels)
    constraints = without_log(question).constraints()
    asked = one.asked(model, question)
    explainer: Any = asked.explainer
    found = explainer.front(
        asked.row,
        by,
        chosen,
        constraints=constraints,
        tie_break=tie_break,
        **one.limits(model.seed),
        **question.words(asked.explainer),
    )
    if plot is not None:
        _draw(found, plot)
    asked.print(found, one.as_json)


def _levels(text: str) -> list[float] | None:
    try:
        return [float(part) for part in options.names(text)] or None
    except ValueError as error:
        raise InputError(f"--levels {text}: expected numbers such as 0.6,0.7,0.8.") from error


def _draw(found: Any, path: Path) -> None:
    try:
        found.plot().savefig(path)
    except ValueError as error:
        raise InputError(f"--plot {path}: {error}.") from error
