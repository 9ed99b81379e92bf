"""Command ``counterfolio batch``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from encoders.core.errors import InputError
from portfolio.cli import options
from portfolio.cli.batch_question import EXPLAIN, question_of
from portfolio.cli.checks import check_options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import EXIT_CODES, Console
from portfolio.cli.read_cache import Reader
from portfolio.cli.row_places import Rows, row_places
from portfolio.results.result import PROOF_MB
from portfolio.workers.interrupt import ended_gently

Asking = Annotated[
    str,
    typer.Option("--question", help="Question to answer: explain, reasons, several, why-not, ..."),
]
Settings = Annotated[
    str, typer.Option(help='Further arguments of the question as JSON: {"smallest": true}.')
]
RowsFile = Annotated[
    Path | None,
    typer.Option("--input", help="CSV or Parquet file of rows. Default: the rows of the data set."),
]


@options.spread
def batch(
    model: options.ModelOptions,
    out: Annotated[
        Path, typer.Option(help="Folder for the answers. It is created if it does not exist.")
    ],
    question: options.QuestionOptions,
    maps: options.MapOptions,
    asking: Asking = EXPLAIN,
    settings: Settings = "{}",
    rows: RowsFile = None,
    places: Rows = "",
    time_limit: options.TimeLimitPerRow = 60.0,
    deadline: options.Deadline = None,
    threads: options.ThreadsPerWorker = 1,
    workers: options.WorkerCount = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    resume: options.Resume = False,
    tie_break: options.TieBreak = False,
    records: Annotated[
        bool, typer.Option("--records", help="Store a record with a proof for each answer.")
    ] = False,
    proof_mb: options.ProofMb = PROOF_MB,
    portfolio: options.PortfolioNames = None,
) -> None:
    """Explain every row of a file, or answer another question about each row.

    Exit code: 0 if all rows are answered, 3 if not.
    """
    from portfolio.batch.answer_log import refuse_used
    from portfolio.cli.batch_report import batch_and_report

    if portfolio is not None and asking != EXPLAIN:
        raise InputError(f"{asking} does not support --portfolio. Omit it.")
    check_options(model, question, {"time_limit_s": time_limit}, portfolio)
    part = row_places(places)
    with ended_gently():
        refuse_used(out, resume)
        reader = Reader(model, question)
        data = reader.table
        X = part.of(data.X if rows is None else data.rows(rows))
        ask, words = question_of(reader.explainer, question, asking, settings, data.X)
        log = question.logged(data) if asking == EXPLAIN else {}
        first = {"tie_break": True} if tie_break else {}
        limited = {} if portfolio is None else {"portfolio": portfolio}
        recorded = {"records": True, "proof_mb": proof_mb} if records else {}
        run = partial(
            ask,
            X,
            time_limit_s=time_limit,
            deadline_s=deadline,
            threads=threads,
            seed=model.seed,
            executor=executor_of(executor, workers, threads, address),
            out=out,
            resume=resume,
            **log,
            **words,
            **(first | recorded | limited | maps.arguments),
        )
        complete = batch_and_report(run, len(X), out, Console())
    raise typer.Exit(0 if complete else EXIT_CODES["feasible"])
