"""Commands that ask one question about one row, derived from the records of questions.

Each record of :mod:`portfolio.questions.records` about a row is a command. Its fields are options;
:data:`SPELLINGS` has those that are spelled differently on the command line.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.one_row import Asked, RowOptions, without_log
from portfolio.cli.output import EXIT_CODES
from portfolio.questions.records import QUESTIONS, QuestionType, texts_of

RENAMED = {"explain_robust": "robust"}
WITHIN = ("verify",)  # questions that are options of another command
# Fields that the shared options set.
SHARED = frozenset(
    ("target", "constraints", "margin", "strategy", "weights", "time_limit_s", "threads", "seed")
)
EXITS = "Exit codes as for explain."
WHY_NOT_CODES = {"minimal": 0, "feasible": 1, "conflict": 3, "unknown": 5}


@dataclass(frozen=True)
class Spelling:
    """Options that stand for one field of a question.

    Attributes
    ----------
    parameters : annotation and default of each option, by name.
    read : function from the values of the options and the query to that of the field.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    read: Callable[[dict[str, Any], Asked], Any]


def _numbers(values: dict[str, Any], query: Asked) -> list[float] | None:
    text = values["levels"]
    try:
        return [float(part) for part in options.names(text)] or None
    except ValueError as error:
        raise InputError(
            f"--levels {text} cannot be read. Write numbers such as 0.6,0.7,0.8."
        ) from error


def _other_row(values: dict[str, Any], query: Asked) -> Any:
    return options.pick(query.data.X, values["other"], query.place)


def _variation(values: dict[str, Any], query: Asked) -> Any:
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    confidence, around = values["confidence"], values["around"]
    options.one_of("--confidence", confidence, "--around", around or None)
    if confidence is not None:
        return Retraining(confidence, values["certainty"])
    radii = {}
    for part in options.names(around):
        name, _, radius = part.partition("=")
        try:
            radii[name.strip()] = float(radius)
        except ValueError as error:
            raise InputError(f"--around {part} cannot be read. Write name=radius.") from error
    return Around(radii)


def _option(kind: Any, *names: str, **settings: Any) -> Any:
    return Annotated[kind, typer.Option(*names, **settings)]


SPELLINGS: Mapping[str, Spelling] = {
    "k": Spelling(
        {"k": (_option(int, "--count", help="Number of answers, or the largest number."), MISSING)},
        lambda values, query: values["k"],
    ),
    "levels": Spelling(
        {
            "levels": (
                _option(
                    str,
                    help="Numbers of changes, or lower limits of the probability: 0.6,0.7,0.8.",
                ),
                "",
            )
        },
        _numbers,
    ),
    "order": Spelling(
        {"order": (_option(str, help="Features that come first: a,b."), "")},
        lambda values, query: options.names(values["order"]) or None,
    ),
    "y": Spelling(
        {
            "other": (
                _option(int, help="Row with a different prediction, counted from 0."),
                inspect.Parameter.empty,
            )
        },
        _other_row,
    ),
    "bounds": Spelling(
        {
            "unbounded": (
                _option(bool, "--unbounded", help="Also search beyond the features' bounds."),
                False,
            )
        },
        lambda values, query: None if values["unbounded"] else "features",
    ),
    "against": Spelling(
        {
            "confidence": (
                _option(
                    float | None, help="Probability that a retrained forest predicts the same: 0.9."
                ),
                None,
            ),
            "certainty": (
                _option(
                    float | None,
                    help="Probability that the share of votes is not overestimated. Needs "
                    "--confidence.",
                ),
                None,
            ),
            "around": (
                _option(
                    str,
                    help="Largest deviation from the answer per feature: income=50,age=1.",
                ),
                "",
            ),
        },
        _variation,
    ),
    "norm": Spelling({"norm": (options.Norm, MISSING)}, lambda values, query: values["norm"]),
    "scale": Spelling(
        {"scale": (_option(str, help="Scaling of costs: range, std, mad or none."), MISSING)},
        lambda values, query: values["scale"],
    ),
}


@dataclass(frozen=True)
class GoalOptions:
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


@dataclass(frozen=True)
class FeatureOptions:
    """Options of a question that has no goal."""

    features: Annotated[Path | None, typer.Option(help="JSON file that overrides features.")] = None
