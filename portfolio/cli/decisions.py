"""The command line's questions about a decision: why it is so, and how firm."""

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
    """Which decision about a row."""

    target: Annotated[
        str | None, typer.Option(help="Class that the question is about; default see the docs.")
    ] = None
    probability: Annotated[
        str | None, typer.Option(help="Limits of the target's probability: 0.8: or low:high.")
    ] = None
    score: Annotated[
        str | None, typer.Option(help="Limits of the score or prediction: low:high.")
    ] = None
    features: Annotated[Path | None, typer.Option(help="JSON that overrides features.")] = None

    def question(self, **more: Any) -> options.QuestionOptions:
        """The same as options of a question."""
        return options.QuestionOptions(
            target=self.target,
            probability=self.probability,
            score=self.score,
            features=self.features,
            **more,
        )


@dataclass(frozen=True)
class ConstraintOptions:
    """What may change."""

    fix: Annotated[str, typer.Option(help="Features that must stay: a,b.")] = ""
    increase: Annotated[str, typer.Option(help="Features that may only grow: a,b.")] = ""
    decrease: Annotated[str, typer.Option(help="Features that may only shrink: a,b.")] = ""
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="Limits of a feature: name=low:high.")
    ] = None
    max_changes: Annotated[int | None, typer.Option(help="At most so many features change.")] = None
    constraints_file: Annotated[
        Path | None,
        typer.Option("--constraints", help="JSON list of constraints, relations among them."),
    ] = None


def _asked(
    model: options.ModelOptions, question: options.QuestionOptions, one: RowOptions
) -> tuple[Asked, dict[str, Any]]:
    """The row, and the arguments that every question has."""
    asked = one.asked(model, question)
    target = question.words(asked.explainer)["target"]
    return asked, {"target": target, **one.limits(model.seed)}


@options.spread
def reasons(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    smallest: Annotated[bool, typer.Option("--smallest", help="The fewest that suffice.")] = False,
) -> None:
    """Features that alone decide a row: exit code 0 all proved, 3 not all, 2 bad input."""
    asked, words = _asked(model, about.question(), one)
    answer = asked.explainer.reasons(asked.row, smallest=smallest, **words)
    asked.print(answer, one.as_json)


@options.spread
def robustness(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    radius: Annotated[
        float | None, typer.Option(help="Only tell whether all within it is decided alike.")
    ] = None,
    norm: options.Norm = "inf",
    scale: Annotated[str, typer.Option(help="range, std, mad or none.")] = "none",
    unbounded: Annotated[
        bool, typer.Option("--unbounded", help="Numbers beyond the features' bounds, too.")
    ] = False,
) -> None:
    """The smallest perturbation: codes of explain; with --radius 0 robust, 1 not, 5 unknown."""
    asked, words = _asked(model, about.question(), one)
    more: dict[str, Any] = {
        "norm": norm,
        "scale": scale,
        "bounds": None if unbounded else "features",
    }
    if radius is None:
        answer = asked.explainer.robustness(asked.row, **words, **more)
        code = EXIT_CODES[answer.status]
    else:
        answer = asked.explainer.verify(asked.row, radius, **words, **more)
        code = {True: 0, False: NOT_ROBUST, None: EXIT_CODES["unknown"]}[answer.robust]
    asked.print(answer, one.as_json, code)


@options.spread
def necessary(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    allowed: ConstraintOptions,
) -> None:
    """Features without which there is no recourse: exit codes of explain."""
    question = about.question(**vars(allowed))
    asked, words = _asked(model, question, one)
    answer = asked.explainer.necessary(asked.row, constraints=question.constraints(), **words)
    asked.print(answer, one.as_json)


@options.spread
def reason_codes(
    model: options.ModelOptions,
    one: RowOptions,
    about: DecisionOptions,
    allowed: ConstraintOptions,
    n: Annotated[int, typer.Option(min=1, help="At most so many.")] = 4,
    norm: options.Norm = "1",
    scale: Annotated[str, typer.Option(help="range, std, mad or none.")] = "range",
) -> None:
    """The principal reasons of an adverse decision: exit codes of explain."""
    question = about.question(**vars(allowed))
    asked, words = _asked(model, question, one)
    answer = asked.explainer.reason_codes(
        asked.row, n, norm=norm, scale=scale, constraints=question.constraints(), **words
    )
    asked.print(answer, one.as_json)


@options.spread
def contrast(
    model: options.ModelOptions,
    one: RowOptions,
    other: Annotated[int, typer.Option(help="Row that is decided otherwise, from 0.")],
    features: Annotated[Path | None, typer.Option(help="JSON that overrides features.")] = None,
) -> None:
    """The fewest differences that explain why two rows are decided apart: codes of explain."""
    asked = one.asked(model, options.QuestionOptions(features=features))
    y = options.pick(asked.data.X, other, model.data or model.dataset)
    answer = asked.explainer.contrast(asked.row, y, **one.limits(model.seed))
    asked.print(answer, one.as_json)
