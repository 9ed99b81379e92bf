"""The command line: ``counterfolio several`` and ``counterfolio front``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.output import EXIT_CODES, escape, told

RowOption = Annotated[int | None, typer.Option(help="Row of the data set, from 0.")]
QueryOption = Annotated[Path | None, typer.Option(help="CSV with one row to explain.")]
TimeLimit = Annotated[float, typer.Option(help="Seconds for all answers together.")]
Threads = Annotated[int | None, typer.Option(help="Solver threads.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@options.spread
def several(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    k: Annotated[int, typer.Option("--count", help="How many answers at most.")] = 5,
    row: RowOption = None,
    query: QueryOption = None,
    time_limit: TimeLimit = 60.0,
    threads: Threads = None,
    as_json: AsJson = False,
    tie_break: options.TieBreak = False,
    different: Annotated[str, typer.Option(help="In what: features or region.")] = "features",
) -> None:
    """The cheapest answers that differ; exit codes as of explain."""
    constraints, explainer, asked = _asked(model, question, row, query)
    found = explainer.several(
        asked,
        k,
        constraints=constraints,
        time_limit_s=time_limit,
        threads=threads,
        seed=model.seed,
        tie_break=tie_break,
        different=different,
        **question.words(explainer),
    )
    _print(found, asked, as_json)


@options.spread
def front(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    by: Annotated[str, typer.Option(help="changes or probability.")] = "changes",
    levels: Annotated[
        str, typer.Option(help="Most changes, or least probabilities: 0.6,0.7,0.8.")
    ] = "",
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.")] = None,
    row: RowOption = None,
    query: QueryOption = None,
    time_limit: TimeLimit = 60.0,
    threads: Threads = None,
    as_json: AsJson = False,
    tie_break: options.TieBreak = False,
) -> None:
    """What fewer changes cost, or a higher probability; exit codes as of explain."""
    chosen = _levels(levels)
    constraints, explainer, asked = _asked(model, question, row, query)
    found = explainer.front(
        asked,
        by,
        chosen,
        constraints=constraints,
        time_limit_s=time_limit,
        threads=threads,
        seed=model.seed,
        tie_break=tie_break,
        **question.words(explainer),
    )
    if plot is not None:
        _draw(found, plot)
    _print(found, asked, as_json)


def _asked(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    row: int | None,
    query: Path | None,
) -> tuple[Any, Any, Any]:
    """Constraints, explainer and the one row."""
    model.check()
    options.one_of("--row", row, "--query", query)
    if question.log is not None:
        raise InputError("--log is for explain and batch, which ask one question.")
    constraints = question.constraints()
    data = model.table()
    asked = data.one(query) if query else options.pick(data.X, row, model.data or model.dataset)
    return constraints, model.explainer(data, question), asked


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


def _print(found: Any, asked: Any, as_json: bool) -> None:
    if as_json:
        own = {str(name): told(value) for name, value in asked.iloc[0].items()}
        sys.stdout.write(json.dumps(found.to_dict() | {"query": own}, allow_nan=False) + "\n")
    else:
        Console().print(escape(str(found)), highlight=False)
    raise typer.Exit(EXIT_CODES[found.status])
