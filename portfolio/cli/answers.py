"""The command line's questions about answers: why there is none, how far one reaches."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.output import EXIT_CODES, escape

if TYPE_CHECKING:
    from portfolio.explainer import Explainer

THERE_IS_ONE = 1
WHY_NOT_CODES = {"minimal": 0, "feasible": THERE_IS_ONE, "conflict": 3, "unknown": 5}

RowPlace = Annotated[int | None, typer.Option(help="Row of the data set, from 0.")]
Query = Annotated[Path | None, typer.Option(help="CSV with one row.")]
Seconds = Annotated[float, typer.Option(help="Seconds.")]
Threads = Annotated[int | None, typer.Option(help="Solver threads.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _asked(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    row: int | None,
    query: Path | None,
) -> tuple["Explainer", Any, dict[str, Any]]:
    """The explainer, the row, and the arguments that make the question."""
    model.check()
    options.one_of("--row", row, "--query", query)
    data = model.table()
    x = data.one(query) if query else options.pick(data.X, row, model.data or model.dataset)
    explainer = model.explainer(data, question)
    words = question.words(explainer) | {"constraints": question.constraints()}
    return explainer, x, words | {"seed": model.seed}


def _print(answer: Any, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(answer.to_dict(), allow_nan=False) + "\n")
    else:
        Console().print(escape(str(answer)), highlight=False)


@options.spread
def why_not(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    row: RowPlace = None,
    query: Query = None,
    time_limit: Seconds = 60.0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Why there is no answer: exit code 0 all proved, 1 there is one, 3 not all, 5 unknown."""
    explainer, x, words = _asked(model, question, row, query)
    answer = explainer.why_not(x, time_limit_s=time_limit, threads=threads, **words)
    _print(answer, as_json)
    raise typer.Exit(WHY_NOT_CODES[answer.status])


@options.spread
def region(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    row: RowPlace = None,
    query: Query = None,
    itself: Annotated[
        bool, typer.Option("--itself", help="Around the row itself, and not around its answer.")
    ] = False,
    order: Annotated[str, typer.Option(help="Features to widen first: a,b.")] = "",
    time_limit: Seconds = 60.0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """A box around an answer in which every row is decided alike: exit codes of explain."""
    explainer, x, words = _asked(model, question, row, query)
    first = options.names(order) or None
    limits: dict[str, Any] = {"time_limit_s": time_limit, "threads": threads}
    if itself:
        found = explainer.region(x, words["target"], first, seed=model.seed, **limits)
    else:
        result = explainer.explain(x, **words, **limits)
        if result.row is None:
            _print(result, as_json)
            raise typer.Exit(EXIT_CODES[result.status])
        found = result.region(first, seed=model.seed, **limits)
    _print(found, as_json)
    raise typer.Exit(EXIT_CODES[found.status])


@options.spread
def robust(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    row: RowPlace = None,
    query: Query = None,
    confidence: Annotated[
        float | None, typer.Option(help="That a forest trained anew decides alike: 0.9.")
    ] = None,
    certainty: Annotated[
        float | None,
        typer.Option(help="That votes are not overestimated, with --confidence."),
    ] = None,
    around: Annotated[
        str, typer.Option(help="By how much numbers may miss the answer: income=50,age=1.")
    ] = "",
    time_limit: Seconds = 60.0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """The nearest answer that withstands retraining or a miss: exit codes of explain."""
    from portfolio.questions.nearby import Around
    from portfolio.questions.retraining import Retraining

    options.one_of("--confidence", confidence, "--around", around or None)
    against = Around(_radii(around)) if confidence is None else Retraining(confidence, certainty)
    explainer, x, words = _asked(model, question, row, query)
    answer = explainer.explain_robust(x, against, time_limit_s=time_limit, threads=threads, **words)
    _print(answer, as_json)
    raise typer.Exit(EXIT_CODES[answer.status])


def _radii(text: str) -> dict[str, float]:
    found = {}
    for part in options.names(text):
        name, _, radius = part.partition("=")
        try:
            found[name.strip()] = float(radius)
        except ValueError as error:
            raise InputError(f"--around {part}: expected name=radius.") from error
    return found
