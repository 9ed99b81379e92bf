"""Commands ``bench``, ``figures`` and ``paper`` of ``counterfolio``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from encoders.core.text_files import names_in
from portfolio.cli import options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import Console, needing, wide_console

if TYPE_CHECKING:
    from portfolio.bench.cases import Cases
    from portfolio.bench.runner import BenchmarkPlan

LINE_S = 3600.0  # time limit of one line of --protocol frontier, in seconds


@dataclass(frozen=True)
class BenchmarkOptions:
    """Settings of one benchmark; a protocol has its own settings instead."""

    only: Annotated[str, typer.Option(help="Data sets to use: CP,AD. Default: all.")] = ""
    kind: Annotated[str, typer.Option(help="Kinds of models: soft, hard, xgb.")] = "soft"
    trees: Annotated[int, typer.Option(min=1, help="Trees per model.")] = 100
    depth: Annotated[int, typer.Option(min=0, help="Largest depth of trees; 0 for no limit.")] = 5
    queries: Annotated[int, typer.Option(min=1, help="Queries per model.")] = 20
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0
    norm: options.Norm = "1"
    backends: Annotated[
        str,
        typer.Option(
            help="Backends to compare; also auto, plain-cp, milp:ocean, plain-cp:published."
        ),
    ] = "auto,search,cp"
    against: Annotated[str, typer.Option(help="Backend that is the baseline of the ratios.")] = (
        "plain-cp"
    )
    time_limit: options.TimeLimitPerRow = 60.0
    threads: Annotated[int | None, typer.Option(help="Number of solver threads.")] = None
    questions: Annotated[
        str, typer.Option(help="Time questions instead of backends: all, or reasons,several,...")
    ] = ""
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Record every answer and check its proof.")
    ] = False
    work: Annotated[
        float | None, typer.Option(min=0, help="Work limit for the proof checker of --proofs.")
    ] = None
    service: Annotated[
        bool, typer.Option("--service", help="Compare the service with explain and explain_batch.")
    ] = False
    requests: Annotated[
        int, typer.Option(min=0, help="Number of requests to --service before memory is measured.")
    ] = 0
    json_file: Annotated[Path | None, typer.Option("--json", help="JSON file for all runs.")] = None

    def cases(self, folder: Path | None) -> "Cases":
        """Return the models and the queries."""
        from portfolio.bench.cases import Cases

        return Cases(
            folder=folder,
            only=names_in(self.only),
            kinds=names_in(self.kind),
            trees=self.trees,
            depth=self.depth,
            queries=self.queries,
            seed=self.seed,
        )

    def plan(self, folder: Path | None) -> "BenchmarkPlan":
        """Return what the options ask for."""
        from portfolio.bench.cases import RunLimits

        cases = self.cases(folder)
        limits = RunLimits(time_limit_s=self.time_limit, threads=self.threads)
        if self.service:
            with needing("service"):
                from portfolio.bench.service import ServicePlan

            return ServicePlan(cases, limits, self.requests)
        if self.proofs:
            from portfolio.bench.proofs import ProofPlan

            return ProofPlan(cases, limits, self.work)
        if questions := names_in(self.questions):
            from portfolio.bench.questions import QuestionPlan

            return QuestionPlan(cases, questions, limits)
        from portfolio.bench.backends import BackendPlan

        backends = dict.fromkeys([*names_in(self.backends), *names_in(self.against)])
        return BackendPlan(cases, tuple(backends), self.against, self.norm, limits)


@options.spread
def bench(
    benchmark: BenchmarkOptions,
    datasets: Annotated[
        Path | None, typer.Option(help="Folder of CSV data sets. Default: two bundled ones.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="quick, paper or a .toml file (write logs and figures), frontier (measure goals; "
            "--only names its lines) or contention (measure the cost of races)."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the logs of --protocol.")] = Path("bench"),
    deadline: Annotated[
        float | None, typer.Option(help="Time limit for --protocol or --service in seconds.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Concurrent runs of --protocol. Default: one per core."),
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
) -> None:
    """Time backends, questions, proofs or the service on the same queries.

    Exit code: 1 if two proofs disagree or the checker rejects a proof.

    With --protocol, the protocol replaces the options listed above --datasets. Exceptions: frontier
    and contention use --only, and frontier uses --json. For frontier, --deadline applies to each
    line. Runs that are already logged in --out are not repeated.
    """
    from portfolio.bench.runner import run_plan

    plan: BenchmarkPlan
    only, json_file, limit_s = names_in(benchmark.only), benchmark.json_file, deadline
    if protocol is None:
        plan = benchmark.plan(datasets)
    elif protocol == "frontier":
        from portfolio.bench.goals import GoalPlan

        plan, limit_s = GoalPlan(datasets, only, LINE_S if deadline is None else deadline), None
    elif protocol == "contention":
        from portfolio.bench.races import LARGE, RacePlan

        plan = RacePlan(replace(LARGE, folder=datasets, only=only), out)
    else:
        from portfolio.bench.campaign_plan import CampaignPlan
        from portfolio.bench.protocol import load_protocol

        settings = load_protocol(protocol)
        where = executor_of(executor, workers, settings.threads, address)
        plan = CampaignPlan(settings, datasets, out, where, deadline)
        json_file, limit_s = None, None
    raise typer.Exit(run_plan(plan, wide_console(), json_file, limit_s))


def figures(
    source: Annotated[Path, typer.Argument(help="Folder or file of logs.")],
    out: Annotated[
        Path, typer.Option(help="Folder for PNG and SVG files and the HTML page.")
    ] = Path("figures"),
) -> None:
    """Draw figures of logs: proofs over time, scaling, and the share of each phase."""
    from portfolio.bench.figures import draw_all
    from selector.logs.files import read

    page = draw_all(read(source), out)
    Console().print(f"figures: {page}", soft_wrap=True)


def paper(
    source: Annotated[Path, typer.Argument(help="Folder or file of logs.")],
    out: Annotated[
        Path, typer.Option(help="Markdown file to write; its pictures go to a folder beside it.")
    ] = Path("paper.md"),
) -> None:
    """Write a page that compares the paper's tables, figures and claims with logs."""
    from portfolio.bench.paper.page import write_page
    from portfolio.cli.selector_report import check_writable
    from selector.logs.files import read

    check_writable(out)
    write_page(read(source), out)
    Console().print(f"page: {out}", soft_wrap=True)
