"""The command line's questions about answers: why there is none, how far one reaches."""

from typing import Annotated, Any

import typer

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.one_row import Asked, RowOptions, without_log

THERE_IS_ONE = 1
WHY_NOT_CODES = {"minimal": 0, "feasible": THERE_IS_ONE, "conflict": 3, "unknown": 5}


@options.spread
def why_not(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
) -> None:
    """Why there is no answer: exit code 0 all proved, 1 there is one, 3 not all, 5 unknown."""
    asked, words = _asked(model, question, one)
    answer = asked.explainer.why_not(asked.row, **words)
    asked.print(answer, one.as_json, WHY_NOT_CODES[answer.status])


@options.spread
def region(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    itself: Annotated[
        bool, typer.Option("--itself", help="Around the row itself, and not around its answer.")
    ] = False,
    order: Annotated[str, typer.Option(help="Features to widen first: a,b.")] = "",
) -> None:
    """A box around an answer in which every row is decided alike: exit codes of explain."""
    asked, words = _asked(model, question, one)
    first = options.names(order) or None
    limits = one.limits(model.seed)
    if itself:
        found = asked.explainer.region(asked.row, words["target"], first, **limits)
    else:
        result = asked.explainer.explain(asked.row, **words)
        if result.row is None:
            asked.print(result, one.as_json)
        found = result.region(first, **limits)
    asked.print(found, one.as_json)


@options.spread
def robust(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
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
) -> None:
    """The nearest answer that withstands retraining or a miss: exit codes of explain."""
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    options.one_of("--confidence", confidence, "--around", around or None)
    against = Around(_radii(around)) if confidence is None else Retraining(confidence, certainty)
    asked, words = _asked(model, question, one)
    answer = asked.explainer.explain_robust(asked.row, against, **words)
    asked.print(answer, one.as_json)


def _asked(
    model: options.ModelOptions, question: options.QuestionOptions, one: RowOptions
) -> tuple[Asked, dict[str, Any]]:
    """The row, and the arguments that make the question."""
    constraints = without_log(question).constraints()
    asked = one.asked(model, question)
    words = question.words(asked.explainer) | one.limits(model.seed)
    return asked, words | {"constraints": constraints}


def _radii(text: str) -> dict[str, float]:
    found = {}
    for part in options.names(text):
        name, _, radius = part.partition("=")
        try:
            found[name.strip()] = float(radius)
        except ValueError as error:
            raise InputError(f"--around {part}: expected name=radius.") from error
    return found
