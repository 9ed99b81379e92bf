"""Commands about counterfactuals: why-not, region and robust."""

from typing import Annotated, Any

import typer

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.one_row import Asked, RowOptions, without_log

EXISTS = 1
WHY_NOT_CODES = {"minimal": 0, "feasible": EXISTS, "conflict": 3, "unknown": 5}


@options.spread
def why_not(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
) -> None:
    """Explain why no counterfactual exists.

    Exit code: 0 if all is proved, 1 if a counterfactual exists, 3 if not all is proved, 5 unknown.
    """
    query, words = _read_query(model, question, one)
    answer = query.explainer.why_not(query.row, **words)
    query.print(answer, one.as_json, WHY_NOT_CODES[answer.status])


@options.spread
def region(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    itself: Annotated[
        bool, typer.Option("--itself", help="Enclose the row itself instead of its counterfactual.")
    ] = False,
    order: Annotated[str, typer.Option(help="Features to widen first: a,b.")] = "",
) -> None:
    """Find a box around a counterfactual in which the prediction stays the same.

    Exit codes as for explain.
    """
    query, words = _read_query(model, question, one)
    first = options.names(order) or None
    limits = one.limits(model.seed)
    if itself:
        box = query.explainer.region(query.row, words["target"], order=first, **limits)
    else:
        result = query.explainer.explain(query.row, **words)
        if result.row is None:
            query.print(result, one.as_json)
        box = result.region(first, **limits)
    query.print(box, one.as_json)


@options.spread
def robust(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    confidence: Annotated[
        float | None,
        typer.Option(help="Probability that a retrained forest predicts the same: 0.9."),
    ] = None,
    certainty: Annotated[
        float | None,
        typer.Option(
            help="Probability that the share of votes is not overestimated. Needs --confidence."
        ),
    ] = None,
    around: Annotated[
        str, typer.Option(help="Largest deviation from the answer per feature: income=50,age=1.")
    ] = "",
) -> None:
    """Find the nearest counterfactual that is robust to retraining or to deviations.

    Exit codes as for explain.
    """
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    options.one_of("--confidence", confidence, "--around", around or None)
    against = Around(_radii(around)) if confidence is None else Retraining(confidence, certainty)
    query, words = _read_query(model, question, one)
    answer = query.explainer.explain_robust(query.row, against, **words)
    query.print(answer, one.as_json)


def _read_query(
    model: options.ModelOptions, question: options.QuestionOptions, one: RowOptions
) -> tuple[Asked, dict[str, Any]]:
    """Return the row to explain and the arguments of the question method."""
    constraints = without_log(question).constraints()
    query = one.read_query(model, question)
    words = question.words(query.explainer) | one.limits(model.seed)
    return query, words | {"constraints": constraints}


def _radii(text: str) -> dict[str, float]:
    radii = {}
    for part in options.names(text):
        name, _, radius = part.partition("=")
        try:
            radii[name.strip()] = float(radius)
        except ValueError as error:
            raise InputError(f"--around {part} cannot be read. Write name=radius.") from error
    return radii
