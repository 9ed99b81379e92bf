"""The command line: ``counterfolio batch``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from portfolio.cli import options
from portfolio.cli.batch_question import EXPLAIN, question_of
from portfolio.cli.checks import check_options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import EXIT_CODES, Console
from portfolio.cli.read_cache import Reader
from portfolio.cli.row_places import Rows, row_places
from portfolio.proofs.size import PROOF_MB
from portfolio.running.interrupt import ended_gently


@options.spread
def batch(
    model: options.ModelOptions,
    out: Annotated[Path, typer.Option(help="Folder for the answers, made if need be.")],
    question: options.QuestionOptions,
    maps: options.MapOptions,
    asking: Annotated[
        str, typer.Option("--question", help="explain, reasons, several, why-not, ...")
    ] = EXPLAIN,
    settings: Annotated[
        str, typer.Option(help='More of another question than explain: {"smallest": true}.')
    ] = "{}",
    rows: Annotated[
        Path | None,
        typer.Option("--input", help="CSV or Parquet of rows; default the data set's own."),
    ] = None,
    places: Rows = "",
    time_limit: options.TimeLimitPerRow = 60.0,
    deadline: Annotated[float | None, typer.Option(help="Seconds for all rows.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Solver threads of each worker.")] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers; default one per core and threads.")
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where OUT was left.")] = False,
    tie_break: options.TieBreak = False,
    records: Annotated[
        bool, typer.Option("--records", help="A record with a proof beside each answer.")
    ] = False,
    proof_mb: options.ProofMb = PROOF_MB,
) -> None:
    """Explain every row of a file, or ask another question: exit code 0 all answered, 3 not all."""
    from portfolio.batch.answer_log import refuse_used
    from portfolio.cli.batch_report import batch_and_report

    check_options(model, question, {"time_limit_s": time_limit})
    part = row_places(places)
    with ended_gently():
        refuse_used(out, resume)
        reader = Reader(model, question)
        data = reader.table
        asked = part.of(data.X if rows is None else data.rows(rows))
        ask, words = question_of(reader.explainer, question, asking, settings, data.X)
        log = question.logged(data) if asking == EXPLAIN else {}
        first = {"tie_break": True} if tie_break else {}
        kept = {"records": True, "proof_mb": proof_mb} if records else {}
        run = partial(
            ask,
            asked,
            time_limit_s=time_limit,
            deadline_s=deadline,
            threads=threads,
            seed=model.seed,
            executor=executor_of(executor, workers, threads, address),
            out=out,
            resume=resume,
            **log,
            **words,
            **(first | kept | maps.given),
        )
        complete = batch_and_report(run, len(asked), out, Console())
    raise typer.Exit(0 if complete else EXIT_CODES["feasible"])
