"""The command line: ``counterfolio bench`` and ``counterfolio figures``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from portfolio.cli import options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import Console, needing, wide_console

LINE_S = 3600.0  # seconds for a line of the frontier


@dataclass(frozen=True)
class BenchmarkOptions:
    """What one benchmark runs; a protocol has settings of its own instead."""

    only: Annotated[str, typer.Option(help="Data sets to take: CP,AD.")] = ""
    kind: Annotated[str, typer.Option(help="Of soft, hard, xgb.")] = "soft"
    trees: Annotated[int, typer.Option(min=1)] = 100
    depth: Annotated[int, typer.Option(min=0, help="0 for no limit.")] = 5
    queries: Annotated[int, typer.Option(min=1, help="Queries per model.")] = 20
    seed: Annotated[int, typer.Option(min=0)] = 0
    norm: options.Norm = "1"
    backends: Annotated[
        str,
        typer.Option(help="Backends; auto picks; also plain-cp, milp:ocean, plain-cp:published."),
    ] = "auto,search,cp"
    against: Annotated[str, typer.Option(help="Baseline of the ratios.")] = "plain-cp"
    time_limit: options.TimeLimitPerRow = 60.0
    threads: Annotated[int | None, typer.Option(help="Solver threads.")] = None
    questions: Annotated[
        str, typer.Option(help="Time questions, not backends: all, or reasons,several,...")
    ] = ""
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Record every answer and check its proof.")
    ] = False
    work: Annotated[float | None, typer.Option(min=0, help="Most for the checker of --proofs.")] = (
        None
    )
    service: Annotated[
        bool, typer.Option("--service", help="Time the service beside explain and explain_batch.")
    ] = False
    requests: Annotated[
        int, typer.Option(min=0, help="Questions to --service by whose end memory is looked at.")
    ] = 0
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all runs here.")] = None

    def run(self, folder: Path | None, deadline: float | None = None) -> int:
        """Print the table; the exit code."""
        from portfolio.cli.bench_report import run_and_report
        from portfolio.cli.question_report import run_and_report_questions
        from portfolio.study.benchmark import Benchmark

        chosen = dict.fromkeys([*options.names(self.backends), *options.names(self.against)])
        benchmark = Benchmark(
            folder=folder,
            only=options.names(self.only),
            kinds=options.names(self.kind),
            backends=tuple(chosen),
            trees=self.trees,
            depth=self.depth,
            queries=self.queries,
            seed=self.seed,
            norm=self.norm,
            time_limit_s=self.time_limit,
            threads=self.threads,
        )
        if self.service:
            with needing("service"):
                from portfolio.cli.service_report import run_and_report_service

            return run_and_report_service(
                benchmark, self.requests, deadline, self.json_file, wide_console()
            )
        if self.proofs:
            from portfolio.cli.proof_report import run_and_report_proofs

            return run_and_report_proofs(benchmark, self.work, self.json_file, wide_console())
        if asked := options.names(self.questions):
            return run_and_report_questions(benchmark, asked, self.json_file, wide_console())
        return run_and_report(benchmark, self.against, self.json_file, wide_console())


@options.spread
def bench(
    own: BenchmarkOptions,
    datasets: Annotated[
        Path | None, typer.Option(help="Folder of CSV data sets; default two bundled ones.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="quick, paper or a .toml file, which leave logs and figures; or frontier: how far "
            "we are, line by line (--only names lines); or contention: what races cost."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of a protocol's logs.")] = Path("bench"),
    deadline: Annotated[
        float | None, typer.Option(help="Seconds for a protocol, or for --service.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs of a protocol at once; default one per core.")
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
) -> None:
    """Time backends on the same queries, questions or proofs.

    Exit code 1 if two proofs disagree, or the checker does not accept one.

    With --protocol the options above --datasets are the protocol's, but for --only of frontier and
    contention and --json of frontier, whose --deadline is for each line. A run that is logged in
    --out is not made again.
    """
    if protocol is None:
        raise typer.Exit(own.run(datasets, deadline))
    if protocol == "frontier":
        from portfolio.cli.frontier_report import run_and_report_frontier

        lines, limit_s = options.names(own.only), LINE_S if deadline is None else deadline
        told = run_and_report_frontier(datasets, lines, limit_s, own.json_file, wide_console())
        raise typer.Exit(told)
    if protocol == "contention":
        from encoders.cores import usable_cores
        from portfolio.cli.contention_report import run_and_report_contention
        from portfolio.study.races import RaceStudy

        study = RaceStudy(datasets, options.names(own.only), threads=usable_cores())
        raise typer.Exit(run_and_report_contention(study, out, deadline, wide_console()))
    from portfolio.cli.campaign_report import run_protocol
    from portfolio.study.protocol import load_protocol

    settings = load_protocol(protocol)
    where = executor_of(executor, workers, settings.threads, address)
    raise typer.Exit(run_protocol(settings, datasets, out, where, deadline, wide_console()))


def figures(
    source: Annotated[Path, typer.Argument(help="Folder or file of logs.")],
    out: Annotated[Path, typer.Option(help="Folder for PNG, SVG and the HTML page.")] = Path(
        "figures"
    ),
) -> None:
    """Draw logs: who proves how much in which time, scaling, and where the time goes."""
    from portfolio.study.figures import draw_all
    from selector.logs.files import read

    page = draw_all(read(source), out)
    Console().print(f"figures: {page}", soft_wrap=True)
