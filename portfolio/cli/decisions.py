"""Commands that explain a prediction: reasons, robustness, necessary, reason-codes, contrast."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from portfolio.cli import options
from portfolio.cli.one_row import Asked, RowOptions
from portfolio.cli.output import EXIT_CODES

NOT_ROBUST = 1


@dataclass(frozen=True)
class DecisionOptions:
    """Options that name the prediction to explain."""

    target: Annotated[
        str | None,
        typer.Option(
            help="Class to explain. Default: the predicted class for reasons, else any other class."
        ),
    ] = None
    probability: Annotated[
        str | None, typer.Option(help="Limits of the target's probability: 0.8:, low:high or :0.2.")
    ] = None
    score: Annotated[
        str | None,
        typer.Option(help="Limits of the raw score or of a regressor's prediction: low:high."),
    ] = None
    features: Annotated[Path | None, typer.Option(help="JSON file that overrides features.")] = None

    def question(self, **more: Any) -> options.QuestionOptions:
        """Return these options as options of a query, together with further ones."""
        return options.QuestionOptions(
            target=self.target,
            probability=self.probability,
            score=self.score,
            features=self.features,
            **more,
        )


@dataclass(frozen=True)
class ConstraintOptions:
    """Options that limit what may change."""

    fix: Annotated[str, typer.Option(help="Features that must not change: a,b.")] = ""
    increase: Annotated[str, typer.Option(help="Features that may only increase: a,b.")] = ""
    decrease: Annotated[str, typer.Option(help="Features that may only decrease: a,b.")] = ""
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="Limits of a feature: name=low:high.")
    ] = None
    max_changes: Annotated[int | None, typer.Option(help="Largest number of changed features.")] = (
        None
    )
    constraints_file: Annotated[
        Path | None,
        typer.Option(
            "--constraints", help="JSON file with a list of constraints, including relations."
        ),
    ] = None


def _read_query(
    model: options.ModelOptions, question: options.QuestionOptions, one: RowOptions
) -> tuple[Asked, dict[str, Any]]:
    """Return the row to explain and the arguments that every question method takes."""
    query = one.read_query(model, question)
    target = question.words(query.explainer)["target"]
    return query, {"target": target, **one.limits(model.seed)}


@options.spread
def reasons(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    smallest: Annotated[
        bool, typer.Option("--smallest", help="Find a smallest set of features.")
    ] = False,
) -> None:
    """Find features that suffice for the prediction.

    Exit code: 0 if all is proved, 3 if not, 2 for bad input.
    """
    query, words = _read_query(model, about.question(), one)
    answer = query.explainer.reasons(query.row, smallest=smallest, **words)
    query.print(answer, one.as_json)


@options.spread
def robustness(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    radius: Annotated[
        float | None, typer.Option(help="Verify this radius instead of minimising.")
    ] = None,
    norm: options.Norm = "inf",
    scale: Annotated[str, typer.Option(help="Scaling of costs: range, std, mad or none.")] = "none",
    unbounded: Annotated[
        bool, typer.Option("--unbounded", help="Also search beyond the features' bounds.")
    ] = False,
) -> None:
    """Find the smallest perturbation that changes the prediction.

    Exit codes as for explain. With --radius: 0 robust, 1 not robust, 5 unknown.
    """
    query, words = _read_query(model, about.question(), one)
    more: dict[str, Any] = {
        "norm": norm,
        "scale": scale,
        "bounds": None if unbounded else "features",
    }
    if radius is None:
        answer = query.explainer.robustness(query.row, **words, **more)
        code = EXIT_CODES[answer.status]
    else:
        answer = query.explainer.verify(query.row, radius, **words, **more)
        code = {True: 0, False: NOT_ROBUST, None: EXIT_CODES["unknown"]}[answer.robust]
    query.print(answer, one.as_json, code)


@options.spread
def necessary(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    allowed: ConstraintOptions,
) -> None:
    """Find features that every counterfactual has to change.

    Exit codes as for explain.
    """
    question = about.question(**vars(allowed))
    query, words = _read_query(model, question, one)
    answer = query.explainer.necessary(query.row, constraints=question.constraints(), **words)
    query.print(answer, one.as_json)


@options.spread
def reason_codes(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    allowed: ConstraintOptions,
    n: Annotated[int, typer.Option(min=1, help="Largest number of reason codes.")] = 4,
    norm: options.Norm = "1",
    scale: Annotated[
        str, typer.Option(help="Scaling of costs: range, std, mad or none.")
    ] = "range",
) -> None:
    """List the principal reasons for an adverse prediction.

    Exit codes as for explain.
    """
    question = about.question(**vars(allowed))
    query, words = _read_query(model, question, one)
    answer = query.explainer.reason_codes(
        query.row, n=n, norm=norm, scale=scale, constraints=question.constraints(), **words
    )
    query.print(answer, one.as_json)


@options.spread
def contrast(
    model: options.ModelOptions,
    one: RowOptions,
    other: Annotated[int, typer.Option(help="Row with a different prediction, counted from 0.")],
    features: Annotated[
        Path | None, typer.Option(help="JSON file that overrides features.")
    ] = None,
) -> None:
    """Find the fewest differences that explain the predictions of two rows.

    Exit codes as for explain.
    """
    query = one.read_query(model, options.QuestionOptions(features=features))
    y = options.pick(query.data.X, other, model.data or model.dataset)
    answer = query.explainer.contrast(query.row, y, **one.limits(model.seed))
    query.print(answer, one.as_json)
