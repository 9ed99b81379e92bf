"""The command line: ``counterfolio group`` and ``counterfolio audit``."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from encoders.errors import InputError
from portfolio.cli import options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import EXIT_CODES, Console, escape, wide_console
from portfolio.cli.read_cache import Reader
from portfolio.cli.row_places import Rows, row_places
from portfolio.running.interrupt import ended_gently

if TYPE_CHECKING:
    from portfolio.questions.groups.audit import Audit
    from portfolio.questions.groups.audit_statistics import Estimate

RowsOption = Annotated[
    Path | None,
    typer.Option("--input", help="CSV or Parquet of rows; default the data set's own."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@options.spread
def group(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    actions: Annotated[int, typer.Option(min=1, help="How many actions at most.")] = 1,
    budget: Annotated[
        float | None, typer.Option(help="What an action may cost each row; default no limit.")
    ] = None,
    rows: RowsOption = None,
    places: Rows = "",
    time_limit: options.TimeLimit = 60.0,
    out: Annotated[Path | None, typer.Option(help="CSV to write: what became of each row.")] = None,
    as_json: AsJson = False,
) -> None:
    """A few actions that give recourse to as many rows as possible; exit codes as of explain."""
    part = row_places(places)
    explainer, asked, constraints = _asked(model, question, rows)
    words = question.words(explainer)
    if words.pop("strategy") != "auto":
        raise InputError("--strategy is not for group, whose problems all go to the same search.")
    found = explainer.explain_group(
        part.of(asked),
        actions,
        budget,
        constraints=constraints,
        time_limit_s=time_limit,
        seed=model.seed,
        **words,
    )
    if out is not None:
        found.table().to_csv(out, index=False)
    if as_json:
        sys.stdout.write(found.to_json() + "\n")
    else:
        Console().print(escape(str(found)), highlight=False)
    raise typer.Exit(EXIT_CODES[found.status])


@options.spread
def audit(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    by: Annotated[str, typer.Option(help="The attribute: a feature, or a column of --by-file.")],
    by_file: Annotated[
        Path | None, typer.Option(help="CSV or Parquet with the attribute, a line for each row.")
    ] = None,
    rows: RowsOption = None,
    places: Rows = "",
    reference: Annotated[
        str | None, typer.Option(help="Group to compare others with; default the largest.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of all intervals.")] = 0.95,
    time_limit: options.TimeLimitPerRow = 60.0,
    deadline: Annotated[float | None, typer.Option(help="Seconds for all rows.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Solver threads of each worker.")] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers; default one per core and threads.")
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the answers.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where OUT was left.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Cost of recourse by group: exit code 0 all proved, 3 not all, 5 nothing."""
    part = row_places(places)
    with ended_gently():
        explainer, asked, constraints = _asked(model, question, rows)
        attribute = by if by_file is None else part.of(_column(by_file, by))[by]
        asked = part.of(asked)
        run = partial(
            explainer.audit,
            asked,
            attribute,
            reference=reference,
            constraints=constraints,
            time_limit_s=time_limit,
            deadline_s=deadline,
            threads=threads,
            seed=model.seed,
            executor=executor_of(executor, workers, threads, address),
            out=out,
            resume=resume,
            confidence=confidence,
            **question.words(explainer),
        )
        if as_json:
            found = run()
        else:
            from portfolio.cli.batch_report import told_in_lines

            with told_in_lines(len(asked), Console(stderr=True)) as on_answer:
                found = run(on_answer=on_answer)
    if plot is not None:
        _draw(found, plot)
    _print(found, as_json)
    raise typer.Exit(EXIT_CODES[found.status])


def _asked(
    model: options.ModelOptions, question: options.QuestionOptions, rows: Path | None
) -> tuple[Any, Any, Any]:
    """Explainer, rows and constraints."""
    model.check()
    if question.log is not None:
        raise InputError("--log is for explain and batch.")
    constraints = question.constraints()
    reader = Reader(model, question)
    asked = reader.table.X if rows is None else reader.table.rows(rows)
    return reader.explainer, asked, constraints


def _column(path: Path, name: str) -> Any:
    from portfolio.data.datasets import open_table

    found = open_table(path)
    if name not in found.columns:
        raise InputError(f"{path} has no column {name!r}.")
    return found[[name]]


def _draw(found: "Audit", path: Path) -> None:
    try:
        found.plot().savefig(path)
    except ValueError as error:
        raise InputError(f"--plot {path}: {error}.") from error


def _print(found: "Audit", as_json: bool) -> None:
    if as_json:
        sys.stdout.write(found.to_json() + "\n")
        return
    console = wide_console()
    table = Table(
        escape(found.by), "rows", "adverse", "without recourse", "mean cost", "median", "not proved"
    )
    for own in found.groups:
        cells = (_told(own.without), _told(own.mean), _told(own.median), str(own.unproved))
        table.add_row(escape(str(own.name)), str(own.rows), str(own.adverse), *cells)
    console.print(table)
    for line in map(str, found.differences):
        console.print(escape(line), highlight=False)


def _told(estimate: "Estimate | None") -> str:
    return "" if estimate is None else str(estimate)
