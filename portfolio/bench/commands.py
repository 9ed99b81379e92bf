"""Commands ``bench``, ``figures`` and ``paper`` of ``counterfolio``."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from encoders.core.errors import InputError
from encoders.core.text_files import names_in
from portfolio.cli import options
from portfolio.cli.executors import executor_of
from portfolio.cli.output import Console, needing, wide_console

if TYPE_CHECKING:
    from portfolio.bench.cases import Cases
    from portfolio.bench.from_logs import ReplayPlan
    from portfolio.bench.runner import BenchmarkPlan

LINE_S = 3600.0  # time limit of one line of --protocol frontier, in seconds
FROM_LOGS = "from-logs"
# Options whose name is not that of their field.
NAMES_OF_FIELDS = {
    "ranges": "range",
    "constraints_file": "constraints",
    "rows": "input",
    "json_file": "json",
}


@dataclass(frozen=True)
class BenchmarkOptions:
    """Settings of one benchmark; a protocol has its own settings instead."""

    only: Annotated[str, typer.Option(help="Data sets to use: CP,AD. Default: all.")] = ""
    kind: Annotated[str, typer.Option(help="Kinds of models: soft, hard, extra, xgb.")] = "soft"
    queries: Annotated[int, typer.Option(min=1, help="Queries per model.")] = 20
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

    def cases(self, folder: Path | None, model: options.ModelOptions) -> "Cases":
        """Return the models and the queries."""
        from portfolio.bench.cases import Cases

        return Cases(
            folder=folder,
            only=names_in(self.only),
            kinds=names_in(self.kind),
            trees=model.trees,
            depth=model.depth,
            queries=self.queries,
            seed=model.seed,
        )

    def plan(self, folder: Path | None, model: options.ModelOptions) -> "BenchmarkPlan":
        """Return what the options ask for."""
        from portfolio.bench.cases import RunLimits

        cases = self.cases(folder, model)
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


@dataclass(frozen=True)
class ProtocolOptions:
    """Data sets and protocol, its folder, its limit and its workers."""

    datasets: Annotated[
        Path | None, typer.Option(help="Folder of CSV data sets. Default: two bundled ones.")
    ] = None
    protocol: Annotated[
        str | None,
        typer.Option(
            help="quick, paper or a .toml file (write logs and figures), frontier (measure goals; "
            "--only names its lines) or contention (measure the cost of races). Or from-logs: "
            "solve the slowest queries of --logs with the other backends."
        ),
    ] = None
    out: Annotated[Path, typer.Option(help="Folder for the logs of --protocol.")] = Path("bench")
    deadline: Annotated[
        float | None,
        typer.Option(
            help="Time limit for --protocol or --service in seconds. Default for from-logs: 300."
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Concurrent runs of --protocol. Default: one per core."),
    ] = None
    executor: options.Executor = "local"
    address: options.Address = None

    def plan(self) -> "BenchmarkPlan":
        """Return the plan of a protocol that is shipped or in a file."""
        from portfolio.bench.campaign_plan import CampaignPlan
        from portfolio.bench.protocol import load_protocol

        settings = load_protocol(self.protocol or "")
        where = executor_of(self.executor, self.workers, settings.threads, self.address)
        return CampaignPlan(settings, self.datasets, self.out, where, self.deadline)


@dataclass(frozen=True)
class ReplayOptions:
    """Logs and rows of ``--protocol from-logs``."""

    logs: Annotated[
        list[Path] | None,
        typer.Option(help="Log files and folders of --protocol from-logs; may be repeated."),
    ] = None
    rows: Annotated[
        Path | None,
        typer.Option("--input", help="File of the logged rows. Default: the rows of the data set."),
    ] = None

    def plan(
        self,
        model: options.ModelOptions,
        goal: options.GoalOptions,
        protocol: ProtocolOptions,
    ) -> "ReplayPlan":
        """Return the plan that replays logged queries."""
        from portfolio.api.variants import asker_of
        from portfolio.bench.from_logs import BUDGET_S, ReplayPlan
        from portfolio.cli.checks import check_options
        from portfolio.cli.read_cache import Reader
        from portfolio.engine.question import Question, check_seconds
        from portfolio.model.batch_rows import rows_of

        if not self.logs:
            raise InputError("--protocol from-logs needs logs. Give log folders with --logs.")
        budget_s = BUDGET_S if protocol.deadline is None else protocol.deadline
        question = options.QuestionOptions(**vars(goal))
        check_seconds(budget_s, "--deadline")
        check_options(model, question)
        reader = Reader(model, question)
        data, explainer = reader.table, reader.explainer
        target = question.goal(explainer.classes, explainer.outputs)
        asker, settings = asker_of(explainer).about(
            Question(target, constraints=question.constraints(), margin=question.margin)
        )
        rows = rows_of(asker.model, data.X if self.rows is None else data.rows(self.rows))
        return ReplayPlan(tuple(self.logs), asker, settings, rows, protocol.out, budget_s)


def _refuse(groups: Sequence[object], protocol: str) -> None:
    """Raise InputError if an option was given; ``protocol`` says which protocol has it."""
    for group in groups:
        for field in fields(group):  # type: ignore[arg-type]
            if field.name in ("trees", "depth", "seed"):
                continue
            if getattr(group, field.name) != field.default:
                name = NAMES_OF_FIELDS.get(field.name, field.name.replace("_", "-"))
                raise InputError(f"--{name} {protocol}.")


@options.spread
def bench(
    benchmark: BenchmarkOptions,
    campaign: ProtocolOptions,
    replay: ReplayOptions,
    model: options.ModelOptions,
    goal: options.GoalOptions,
) -> None:
    """Time backends, questions, proofs or the service on the same queries.

    Exit code: 1 if two proofs disagree or the checker rejects a proof.

    A protocol replaces the options listed above --datasets, and --trees, --depth and --seed.
    Exceptions: frontier and contention use --only, and frontier uses --json. For frontier,
    --deadline applies to each line. Runs that are already logged in --out are not repeated.

    With --protocol from-logs, give the model, the data and the settings of the command that wrote
    the logs, with the options listed below --logs. Norm and scale are those of each logged query.
    Options listed above --datasets are errors there.
    """
    from portfolio.bench.runner import run_plan

    plan: BenchmarkPlan
    protocol, datasets, limit_s = campaign.protocol, campaign.datasets, campaign.deadline
    only, json_file = names_in(benchmark.only), benchmark.json_file
    if protocol != FROM_LOGS:
        only_there = "applies to --protocol from-logs only. Omit it, or use that protocol"
        _refuse((replay, model, goal), only_there)
    else:
        _refuse((benchmark,), "does not apply to --protocol from-logs. Omit it")
    if protocol is None:
        plan = benchmark.plan(datasets, model)
    elif protocol == "frontier":
        from portfolio.bench.goals import GoalPlan

        plan, limit_s = GoalPlan(datasets, only, LINE_S if limit_s is None else limit_s), None
    elif protocol == "contention":
        from portfolio.bench.races import LARGE, RacePlan

        plan = RacePlan(replace(LARGE, folder=datasets, only=only), campaign.out)
    elif protocol == FROM_LOGS:
        plan, json_file, limit_s = replay.plan(model, goal, campaign), None, None
    else:
        plan, json_file, limit_s = campaign.plan(), None, None
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
