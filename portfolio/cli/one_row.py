"""Options and output of the commands that explain one row."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from encoders.core.errors import InputError
from portfolio.cli import options
from portfolio.cli.checks import check_options
from portfolio.cli.output import EXIT_CODES, Console, escape
from portfolio.cli.read_cache import Reader

if TYPE_CHECKING:
    from portfolio.api.explainer import Explainer
    from portfolio.data.datasets import Dataset
    from portfolio.data.plain_tables import PlainTable


class Printable(Protocol):
    """An answer that can be printed."""

    @property
    def status(self) -> Any:
        """Status of the answer, a key of ``EXIT_CODES``."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        ...


@dataclass(frozen=True)
class Asked:
    """A row and the explainer of its model."""

    explainer: "Explainer"
    row: Any  # DataFrame of one row
    data: "Dataset | PlainTable"  # table on which the model was trained
    place: Path | None  # file of that table, or saved explainer

    def print(self, answer: Printable, as_json: bool, code: int | None = None) -> NoReturn:
        """Print an answer as sentences or as one JSON object, then exit."""
        if as_json:
            self.print_json(answer)
        else:
            Console().print(escape(str(answer)), highlight=False)
        raise typer.Exit(EXIT_CODES[answer.status] if code is None else code)

    def print_json(self, answer: Printable) -> None:
        """Print one JSON object that includes the row."""
        from portfolio.results.codec import encode

        # Numbers of a row are floats here, whatever the type of their column.
        row = encode(dict(self.row.iloc[0]))
        query = {str(name): float(v) if type(v) is int else v for name, v in row.items()}
        sys.stdout.write(json.dumps(answer.to_dict() | {"query": query}, allow_nan=False) + "\n")


@dataclass(frozen=True)
class RowOptions:
    """Options that name a row, limits and the output format."""

    row: Annotated[int | None, typer.Option(help="Row of the data set, counted from 0.")] = None
    query: Annotated[Path | None, typer.Option(help="CSV file with one row, instead of --row.")] = (
        None
    )
    time_limit: options.TimeLimit = 60.0
    threads: Annotated[
        int | None, typer.Option(help="Number of solver threads. Default: all cores.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False

    def read_query(self, model: options.ModelOptions, question: options.QuestionOptions) -> Asked:
        """Return the row and the explainer of its model."""
        options.one_of("--row", self.row, "--query", self.query)
        check_options(model, question, self.limits(model.seed))
        reader = Reader(model, question)
        data = reader.table
        place = model.data or model.dataset or model.model
        row = data.one(self.query) if self.query else options.pick(data.X, self.row, place)
        return Asked(reader.explainer, row, data, place)

    def limits(self, seed: int) -> dict[str, Any]:
        """Return the arguments that every question method takes."""
        return {"time_limit_s": self.time_limit, "threads": self.threads, "seed": seed}


def without_log(question: options.QuestionOptions) -> options.QuestionOptions:
    """Return the same options; raise InputError if they include --log or --explore."""
    if question.log is not None or question.explore:
        raise InputError("--log and --explore are supported by explain and batch only. Omit them.")
    return question
