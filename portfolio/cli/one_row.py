"""Options of commands about one row: which row, for how long; and how answers are printed."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.checks import check_options
from portfolio.cli.output import EXIT_CODES, Console, escape, told
from portfolio.cli.read_cache import Reader

if TYPE_CHECKING:
    from portfolio.data.datasets import Dataset
    from portfolio.data.plain_tables import PlainTable
    from portfolio.explainer import Explainer


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
class Asked:
    """A row, and who is asked about it.

    Attributes
    ----------
    explainer : of the model
    row : a frame of one row
    data : the data set
    """

    explainer: "Explainer"
    row: Any
    data: "Dataset | PlainTable"

    def print(self, answer: Told, as_json: bool, code: int | None = None) -> NoReturn:
        """Sentences, or one JSON object with the row; then the end, with an exit code."""
        if as_json:
            self.print_json(answer)
        else:
            Console().print(escape(str(answer)), highlight=False)
        raise typer.Exit(EXIT_CODES[answer.status] if code is None else code)

    def print_json(self, answer: Told) -> None:
        """One JSON object with the row."""
        own = {str(name): told(value) for name, value in self.row.iloc[0].items()}
        sys.stdout.write(json.dumps(answer.to_dict() | {"query": own}, allow_nan=False) + "\n")


@dataclass(frozen=True)
class RowOptions:
    """Which row, for how long, and in which form."""

    row: Annotated[int | None, typer.Option(help="Row of the data set, from 0.")] = None
    query: Annotated[Path | None, typer.Option(help="CSV with one row.")] = None
    time_limit: options.TimeLimit = 60.0
    threads: Annotated[int | None, typer.Option(help="Solver threads.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False

    def asked(self, model: options.ModelOptions, question: options.QuestionOptions) -> Asked:
        """The row, and who is asked about it."""
        options.one_of("--row", self.row, "--query", self.query)
        check_options(model, question, self.limits(model.seed))
        reader = Reader(model, question)
        data = reader.table
        place = model.data or model.dataset
        row = data.one(self.query) if self.query else options.pick(data.X, self.row, place)
        return Asked(reader.explainer, row, data)

    def limits(self, seed: int) -> dict[str, Any]:
        """Arguments that every question has."""
        return {"time_limit_s": self.time_limit, "threads": self.threads, "seed": seed}


def without_log(question: options.QuestionOptions) -> options.QuestionOptions:
    """The same options; InputError where a log is asked for."""
    if question.log is not None or question.explore:
        raise InputError("--log is for explain and batch, and so is --explore.")
    return question
