"""The command line."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from encoders.errors import CounterfolioError
from portfolio import cli_options as options
from portfolio.cli_logs import app as logs_app
from portfolio.cli_selector import app as selector_app
from portfolio.counterfactual import Result
from portfolio.interrupt import ended_gently, hear_interrupts

EXIT_CODES = {"optimal": 0, "feasible": 3, "infeasible": 4, "unknown": 5}
BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="The smallest change that makes a tree ensemble decide otherwise, with a proof.",
)


app.add_typer(logs_app, name="logs")
app.add_typer(selector_app, name="selector")


def main() -> None:
    """Run the command line; every error of ours is one sentence and exit code 2."""
    hear_interrupts()
    try:
        app()
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted before there was anything to tell.")
        sys.exit(INTERRUPTED)
    except CounterfolioError as error:
        Console(stderr=True, emoji=False).print(
            f"[red]Error:[/red] {_escape(str(error))}", soft_wrap=True
        )
        sys.exit(BAD_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        words = _escape(f"{where}{error.strerror or error}")
        Console(stderr=True, emoji=False).print(f"[red]Error:[/red] {words}.", soft_wrap=True)
        sys.exit(BAD_INPUT)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1, max=100, help="How many rows to explain.")] = 3,
    norm: Annotated[str, typer.Option(help="0, 1, 2, any p > 0, or inf.")] = "1",
    seed: Annotated[
        int, typer.Option(min=0, max=options.LARGEST_SEED, help="Seed of forest and rows.")
    ] = 0,
    time_limit: Annotated[float, typer.Option(help="Seconds per row.")] = 60.0,
) -> None:
    """Train a forest on bundled real data and explain some rows."""
    from portfolio.demo import make_demo
    from portfolio.explainer import Explainer

    console = Console()
    made = make_demo(rows, seed)
    explainer = Explainer(made.model, made.X)
    console.print(
        f"A random forest of {len(made.model.estimators_)} trees, trained on {len(made.X)} "
        f"tumours described by {made.X.shape[1]} measurements."
    )
    worst = 0
    for _, row in made.rows.iterrows():
        result = explainer.explain(
            row, target=made.target, norm=norm, seed=seed, time_limit_s=time_limit
        )
        console.print(f"\n[bold]Row {row.name}[/bold], predicted malignant. ", end="")
        _show(console, result)
        worst = max(worst, EXIT_CODES[result.status])
        if result.stop_reason == "interrupted":
            break
    raise typer.Exit(worst)


@app.command()
def explain(
    dataset: options.Dataset,
    train: options.Train = None,
    trees: options.Trees = 100,
    depth: options.Depth = 5,
    seed: options.Seed = 0,
    model: options.ModelFile = None,
    trust_pickle: options.TrustPickle = False,
    row: Annotated[int | None, typer.Option(help="Row of the data set, from 0.")] = None,
    query: Annotated[Path | None, typer.Option(help="CSV with one row to explain.")] = None,
    target: options.Target = None,
    norm: options.Norm = "1",
    scale: options.Scale = "range",
    features: options.Features = None,
    fix: options.Fix = "",
    increase: options.Grow = "",
    decrease: options.Shrink = "",
    ranges: options.Ranges = None,
    max_changes: options.AtMost = None,
    margin: options.Margin = None,
    backend: options.BackendName = "auto",
    diagram: options.DiagramFile = None,
    log: options.LogFolder = None,
    time_limit: Annotated[float, typer.Option(help="Seconds.")] = 60.0,
    threads: Annotated[int | None, typer.Option(help="Solver threads.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explain one row: exit code 0 optimal, 3 feasible, 4 infeasible, 5 unknown, 2 bad input."""
    from portfolio.datasets import read_dataset, read_query
    from portfolio.explainer import Explainer
    from portfolio.logbook import Logbook

    options.one_of("--train", train, "--model", model)
    options.one_of("--row", row, "--query", query)
    constraints = options.constraints(fix, increase, decrease, ranges or [], max_changes)
    data = read_dataset(dataset)
    asked = (
        read_query(query, data).iloc[0] if query is not None else options.pick(data.X, row, dataset)
    )
    explainer = Explainer(
        options.load_or_train(data, train, trees, depth, seed, model, trust_pickle),
        data.X,
        features=data.space if features is None else data.overridden(features),
        diagram=diagram,
    )
    result = explainer.explain(
        asked,
        target=options.parse_target(target, explainer.classes),
        norm=norm,
        scale=scale,
        constraints=constraints,
        margin=margin,
        backend=backend,
        time_limit_s=time_limit,
        threads=threads,
        seed=seed,
        log=None if log is None else Logbook(log, data.name),
    )
    if as_json:
        answer = result.to_dict() | {"query": {k: float(v) for k, v in asked.items()}}
        sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
    else:
        _show(Console(), result)
    raise typer.Exit(EXIT_CODES[result.status])


@app.command()
def batch(
    dataset: options.Dataset,
    out: Annotated[Path, typer.Option(help="Folder for the answers, made if need be.")],
    train: options.Train = None,
    trees: options.Trees = 100,
    depth: options.Depth = 5,
    seed: options.Seed = 0,
    model: options.ModelFile = None,
    trust_pickle: options.TrustPickle = False,
    rows: Annotated[
        Path | None,
        typer.Option("--input", help="CSV or Parquet of rows; default the data set's own."),
    ] = None,
    target: options.Target = None,
    norm: options.Norm = "1",
    scale: options.Scale = "range",
    features: options.Features = None,
    fix: options.Fix = "",
    increase: options.Grow = "",
    decrease: options.Shrink = "",
    ranges: options.Ranges = None,
    max_changes: options.AtMost = None,
    margin: options.Margin = None,
    backend: options.BackendName = "auto",
    diagram: options.DiagramFile = None,
    log: options.LogFolder = None,
    time_limit: Annotated[float, typer.Option(help="Seconds per row.")] = 60.0,
    deadline: Annotated[float | None, typer.Option(help="Seconds for all rows.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Solver threads of each worker.")] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers; default one per core and threads.")
    ] = None,
    executor: Annotated[str, typer.Option(help="local or ray.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="Ray cluster, auto for the one at hand; default its own.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where OUT was left.")] = False,
) -> None:
    """Explain every row of a file, with workers: exit code 0 all answered, 3 not all."""
    from portfolio.batch_log import refuse_used
    from portfolio.batch_report import batch_and_report
    from portfolio.datasets import read_dataset, read_rows
    from portfolio.explainer import Explainer
    from portfolio.logbook import Logbook

    options.one_of("--train", train, "--model", model)
    constraints = options.constraints(fix, increase, decrease, ranges or [], max_changes)
    with ended_gently():
        refuse_used(out, resume)
        data = read_dataset(dataset)
        asked = data.X if rows is None else read_rows(rows, data, lenient=True)
        explainer = Explainer(
            options.load_or_train(data, train, trees, depth, seed, model, trust_pickle),
            data.X,
            features=data.space if features is None else data.overridden(features),
            diagram=diagram,
        )
        complete = batch_and_report(
            partial(
                explainer.explain_batch,
                asked,
                target=options.parse_target(target, explainer.classes),
                norm=norm,
                scale=scale,
                constraints=constraints,
                margin=margin,
                backend=backend,
                per_query_limit_s=time_limit,
                deadline_s=deadline,
                threads=threads,
                seed=seed,
                executor=options.executor(executor, workers, threads, address),
                out=out,
                resume=resume,
                log=None if log is None else Logbook(log, data.name),
            ),
            len(asked),
            out,
            Console(),
        )
    raise typer.Exit(0 if complete else EXIT_CODES["feasible"])


@app.command()
def bench(
    datasets: Annotated[
        Path | None, typer.Option(help="Folder of CSV data sets; default two bundled ones.")
    ] = None,
    only: Annotated[str, typer.Option(help="Data sets to take: CP,AD.")] = "",
    kind: Annotated[str, typer.Option(help="Of soft, hard, xgb.")] = "soft",
    trees: Annotated[int, typer.Option(min=1)] = 100,
    depth: Annotated[int, typer.Option(min=1)] = 5,
    queries: Annotated[int, typer.Option(min=1, help="Queries per model.")] = 20,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    norm: Annotated[str, typer.Option(help="0, 1, 2, any p > 0, or inf.")] = "1",
    backends: Annotated[
        str,
        typer.Option(help="Backends; auto picks; also plain-cp, milp:ocean, plain-cp:published."),
    ] = "auto,search,cp",
    against: Annotated[str, typer.Option(help="Baseline of the ratios.")] = "plain-cp",
    time_limit: Annotated[float, typer.Option(help="Seconds per query.")] = 60.0,
    threads: Annotated[int | None, typer.Option(help="Solver threads.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all runs here.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="quick, paper or a .toml file; leaves logs and figures.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of a protocol's logs.")] = Path("bench"),
    deadline: Annotated[float | None, typer.Option(help="Seconds for a protocol.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs of a protocol at once; default one per core.")
    ] = None,
    executor: Annotated[str, typer.Option(help="local or ray, for a protocol.")] = "local",
    address: Annotated[str | None, typer.Option(help="Ray cluster, auto for the one here.")] = None,
) -> None:
    """Time backends on the same queries; exit code 1 if two proofs disagree.

    With --protocol the options above it, but --datasets, are the protocol's. A run that is logged
    in --out is not made again.
    """
    if protocol is not None:
        from portfolio.campaign_report import run_protocol
        from portfolio.protocol import load_protocol

        plan_of = load_protocol(protocol)
        where = options.executor(executor, workers, plan_of.threads, address)
        raise typer.Exit(
            run_protocol(plan_of, datasets, out, where, deadline, options.wide_console())
        )
    from portfolio.bench_report import run_and_report
    from portfolio.benchmark import Plan

    chosen = dict.fromkeys([*options.names(backends), *options.names(against)])
    plan = Plan(
        folder=datasets,
        only=options.names(only),
        kinds=options.names(kind),
        backends=tuple(chosen),
        trees=trees,
        depth=depth,
        queries=queries,
        seed=seed,
        norm=norm,
        time_limit_s=time_limit,
        threads=threads,
    )
    raise typer.Exit(run_and_report(plan, against, json_file, options.wide_console()))


@app.command()
def figures(
    source: Annotated[Path, typer.Argument(help="Folder or file of logs.")],
    out: Annotated[Path, typer.Option(help="Folder for PNG, SVG and the HTML page.")] = Path(
        "figures"
    ),
) -> None:
    """Draw logs: who proves how much in which time, scaling, and where the time goes."""
    from portfolio.figures import draw_all
    from selector.logs import read

    page = draw_all(read(source), out)
    Console().print(f"figures: {page}", soft_wrap=True)


@app.command()
def backends() -> None:
    """List the solvers: what they are, whether they can be used, what they can do."""
    from portfolio.listing import backend_table

    options.wide_console().print(backend_table())


def _show(console: Console, result: Result) -> None:
    console.print(_escape(str(result).splitlines()[0]), highlight=False)
    if not result.changed:
        return
    table = Table("feature", "from", "to", "cost")
    for change in result.changed:
        before, after = (_cell(v) for v in (change.before, change.after))
        table.add_row(_escape(change.feature), before, after, f"{change.cost:.6f}")
    console.print(table)
    seconds = result.timings
    console.print(
        f"verified by the model's own predict; backend {result.backend}, "
        f"{seconds.total:.3f} s (solve {seconds.solve:.3f} s)",
        style="dim",
        highlight=False,
    )


def _cell(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else _escape(str(value))
