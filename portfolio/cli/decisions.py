"""The command line's questions about a decision: why it is so, and how firm."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from rich.console import Console

from portfolio.cli import options
from portfolio.cli.output import EXIT_CODES, escape

if TYPE_CHECKING:
    from portfolio.explainer import Explainer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
NOT_ROBUST = 1


class Told(Protocol):
    """An answer that can be printed."""

    @property
    def status(self) -> Any:
        """What is proved."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ...


@dataclass(frozen=True)
class RowOptions:
    """Which row, which decision about it, and for how long."""

    row: Annotated[int | None, typer.Option(help="Row of the data set, from 0.")] = None
    query: Annotated[Path | None, typer.Option(help="CSV with one row.")] = None
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
    time_limit: Annotated[float, typer.Option(help="Seconds.")] = 60.0

    def question(self, **more: Any) -> options.QuestionOptions:
        """The same as options of a question.

        Parameters
        ----------
        **more : further options of it
        """
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


def _asked(
    model: options.ModelOptions, about: RowOptions, question: options.QuestionOptions
) -> tuple["Explainer", Any, dict[str, Any]]:
    """The explainer, the row, and the arguments that every question has."""
    model.check()
    options.one_of("--row", about.row, "--query", about.query)
    data = model.table()
    place = model.data or model.dataset
    x = data.one(about.query) if about.query else options.pick(data.X, about.row, place)
    explainer = model.explainer(data, question)
    target = question.words(explainer)["target"]
    return explainer, x, {"target": target, "time_limit_s": about.time_limit, "seed": model.seed}


def _print(answer: Told, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(answer.to_dict(), allow_nan=False) + "\n")
    else:
        Console().print(escape(str(answer)), highlight=False)


@options.spread
def reasons(
    model: options.ModelOptions,
    about: RowOptions,
    smallest: Annotated[bool, typer.Option("--smallest", help="The fewest that suffice.")] = False,
    as_json: AsJson = False,
) -> None:
    """Features that alone decide a row: exit code 0 all proved, 3 not all, 2 bad input."""
    explainer, x, words = _asked(model, about, about.question())
    answer = explainer.reasons(x, smallest=smallest, **words)
    _print(answer, as_json)
    raise typer.Exit(EXIT_CODES[answer.status])


@options.spread
def robustness(
    model: options.ModelOptions,
    about: RowOptions,
    radius: Annotated[
        float | None, typer.Option(help="Only tell whether all within it is decided alike.")
    ] = None,
    norm: options.Norm = "inf",
    scale: Annotated[str, typer.Option(help="range, std, mad or none.")] = "none",
    unbounded: Annotated[
        bool, typer.Option("--unbounded", help="Numbers beyond the features' bounds, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The smallest perturbation: codes of explain; with --radius 0 robust, 1 not, 5 unknown."""
    explainer, x, words = _asked(model, about, about.question())
    more: dict[str, Any] = {
        "norm": norm,
        "scale": scale,
        "bounds": None if unbounded else "features",
    }
    if radius is None:
        answer = explainer.robustness(x, **words, **more)
        code = EXIT_CODES[answer.status]
    else:
        answer = explainer.verify(x, radius, **words, **more)
        code = {True: 0, False: NOT_ROBUST, None: EXIT_CODES["unknown"]}[answer.robust]
    _print(answer, as_json)
    raise typer.Exit(code)


@options.spread
def necessary(
    model: options.ModelOptions,
    about: RowOptions,
    allowed: ConstraintOptions,
    as_json: AsJson = False,
) -> None:
    """Features without which there is no recourse: exit codes of explain."""
    question = about.question(**vars(allowed))
    explainer, x, words = _asked(model, about, question)
    answer = explainer.necessary(x, constraints=question.constraints(), **words)
    _print(answer, as_json)
    raise typer.Exit(EXIT_CODES[answer.status])


@options.spread
def reason_codes(
    model: options.ModelOptions,
    about: RowOptions,
    allowed: ConstraintOptions,
    n: Annotated[int, typer.Option(min=1, help="At most so many.")] = 4,
    norm: options.Norm = "1",
    scale: Annotated[str, typer.Option(help="range, std, mad or none.")] = "range",
    as_json: AsJson = False,
) -> None:
    """The principal reasons of an adverse decision: exit codes of explain."""
    question = about.question(**vars(allowed))
    explainer, x, words = _asked(model, about, question)
    answer = explainer.reason_codes(
        x, n, norm=norm, scale=scale, constraints=question.constraints(), **words
    )
    _print(answer, as_json)
    raise typer.Exit(EXIT_CODES[answer.status])


@options.spread
def contrast(
    model: options.ModelOptions,
    row: Annotated[int, typer.Option(help="Row of the data set, from 0.")],
    other: Annotated[int, typer.Option(help="Row that is decided otherwise.")],
    features: Annotated[Path | None, typer.Option(help="JSON that overrides features.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds.")] = 60.0,
    as_json: AsJson = False,
) -> None:
    """The fewest differences that explain why two rows are decided apart: codes of explain."""
    model.check()
    data = model.table()
    place = model.data or model.dataset
    x, y = (options.pick(data.X, at, place) for at in (row, other))
    explainer = model.explainer(data, options.QuestionOptions(features=features))
    answer = explainer.contrast(x, y, time_limit_s=time_limit, seed=model.seed)
    _print(answer, as_json)
    raise typer.Exit(EXIT_CODES[answer.status])
