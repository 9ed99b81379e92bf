"""The command line: ``counterfolio group`` and ``counterfolio audit``."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from portfolio.cli import options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import EXIT_CODES, Console, escape, wide_console
from portfolio.cli.read_cache import Reader
from portfolio.cli.row_places import Rows, row_places
from portfolio.workers.interrupt import ended_gently

if TYPE_CHECKING:
    from portfolio.questions.groups.audit import Audit
    from portfolio.questions.groups.audit_statistics import Estimate

RowsOption = Annotated[
    Path | None,
    typer.Option("--input", help="CSV or Parquet file of rows. Default: the rows of the data set."),
]
BandsOption = Annotated[
    int | None, typer.Option(help="Number of bands of an attribute with more numbers.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@options.spread
def group(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    actions: Annotated[int, typer.Option(min=1, help="Largest number of actions.")] = 1,
    budget: Annotated[
        float | None, typer.Option(help="Largest cost of an action per row. Default: no limit.")
    ] = None,
    rows: RowsOption = None,
    places: Rows = "",
    time_limit: options.TimeLimit = 60.0,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write, with the outcome of each row.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a few actions that give recourse to as many rows as possible.

    Exit codes as for explain.
    """
    part = row_places(places)
    explainer, X, constraints = _read_rows(model, question, rows)
    words = question.words(explainer)
    if words.pop("strategy") != "auto":
        raise InputError("group does not support --strategy. Omit it.")
    result = explainer.explain_group(
        part.of(X),
        actions=actions,
        budget=budget,
        constraints=constraints,
        time_limit_s=time_limit,
        seed=model.seed,
        **words,
    )
    if out is not None:
        result.table().to_csv(out, index=False)
    if as_json:
        sys.stdout.write(result.to_json() + "\n")
    else:
        Console().print(escape(str(result)), highlight=False)
    raise typer.Exit(EXIT_CODES[result.status])


@options.spread
def audit(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    by: Annotated[
        str,
        typer.Option(help="Attribute that defines the groups: a feature or a column of --by-file."),
    ],
    by_file: Annotated[
        Path | None, typer.Option(help="CSV or Parquet file with the attribute, one line per row.")
    ] = None,
    rows: RowsOption = None,
    places: Rows = "",
    reference: Annotated[
        str | None, typer.Option(help="Group to compare the others with. Default: the largest.")
    ] = None,
    bands: BandsOption = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of all intervals.")] = 0.95,
    time_limit: options.TimeLimitPerRow = 60.0,
    deadline: options.Deadline = None,
    threads: options.ThreadsPerWorker = 1,
    workers: options.WorkerCount = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the answers.")] = None,
    resume: options.Resume = False,
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the cost of recourse between groups.

    Exit code: 0 if all is proved, 3 if not, 5 if nothing is known.
    """
    part = row_places(places)
    with ended_gently():
        explainer, X, constraints = _read_rows(model, question, rows)
        attribute = by if by_file is None else part.of(_column(by_file, by))[by]
        X = part.of(X)
        run = partial(
            explainer.audit,
            X,
            attribute,
            reference=reference,
            bands=bands,
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
        result = run() if as_json else _with_progress(run, len(X))
    if plot is not None:
        _draw(result, plot)
    _print(result, as_json)
    raise typer.Exit(EXIT_CODES[result.status])


def _with_progress(run: "Callable[..., Audit]", count: int) -> "Audit":
    """Return the audit of so many rows, and print the progress."""
    from portfolio.cli.batch_report import progress_in_lines

    with progress_in_lines(count, Console(stderr=True)) as on_answer:
        return run(on_answer=on_answer)


def _read_rows(
    model: options.ModelOptions, question: options.QuestionOptions, rows: Path | None
) -> tuple[Any, Any, Any]:
    """Return the explainer, the rows and the constraints."""
    model.check()
    if question.log is not None:
        raise InputError("--log is supported by explain and batch only. Omit it.")
    constraints = question.constraints()
    reader = Reader(model, question)
    X = reader.table.X if rows is None else reader.table.rows(rows)
    return reader.explainer, X, constraints


def _column(path: Path, name: str) -> Any:
    from portfolio.data.datasets import open_table

    frame = open_table(path)
    if name not in frame.columns:
        hint = close_names(name, map(str, frame.columns))
        raise InputError(f"{path} has no column {name!r}.{hint}")
    return frame[[name]]


def _draw(result: "Audit", path: Path) -> None:
    try:
        result.plot().savefig(path)
    except ValueError as error:
        raise InputError(f"--plot {path}: {error}.") from error


def _print(result: "Audit", as_json: bool) -> None:
    if as_json:
        sys.stdout.write(result.to_json() + "\n")
        return
    console = wide_console()
    table = Table(
        escape(result.by),
        "rows",
        "adverse",
        "without recourse",
        "mean cost",
        "median",
        "not proved",
    )
    for group in result.groups:
        cells = (_cell(group.without), _cell(group.mean), _cell(group.median), str(group.unproved))
        table.add_row(escape(str(group.name)), str(group.rows), str(group.adverse), *cells)
    console.print(table)
    for line in map(str, result.differences):
        console.print(escape(line), highlight=False)


def _cell(estimate: "Estimate | None") -> str:
    return "" if estimate is None else str(estimate)
