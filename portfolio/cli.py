"""The command line: ``counterfolio demo``, ``explain``, ``bench`` and ``backends``."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from encoders.constraints import Constraint, Decrease, Fixed, Increase, MaxChanges, Range
from encoders.errors import CounterfolioError, InputError
from portfolio.counterfactual import Result

EXIT_CODES = {"optimal": 0, "feasible": 3, "infeasible": 4, "unknown": 5}
BAD_INPUT = 2
LARGEST_SEED = 2**31 - 1
WIDE = 200
TRAINABLE = ("forest", "hard-forest", "xgboost")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="The smallest change that makes a tree ensemble decide otherwise, with a proof.",
)


def main() -> None:
    """Run the command line; every error of ours is one sentence and exit code 2."""
    try:
        app()
    except CounterfolioError as error:
        Console(stderr=True, emoji=False).print(
            f"[red]Error:[/red] {_escape(str(error))}", soft_wrap=True
        )
        sys.exit(BAD_INPUT)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1, max=100, help="How many rows to explain.")] = 3,
    norm: Annotated[str, typer.Option(help="0, 1, 2, any p > 0, or inf.")] = "1",
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of forest and rows.")
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
    dataset: Annotated[
        Path, typer.Option(help="CSV with header lines names / types / actionability.")
    ],
    train: Annotated[
        str | None, typer.Option(help="Train forest, hard-forest or xgboost on the data set.")
    ] = None,
    trees: Annotated[int, typer.Option(min=1, help="Trees to train.")] = 100,
    depth: Annotated[int, typer.Option(min=1, help="Largest depth to train.")] = 5,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of training and solving.")
    ] = 0,
    model: Annotated[
        Path | None, typer.Option(help="Model file: .json, .ubj, .txt, .skops, or a pickle.")
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load pickles, which can run any code.")
    ] = False,
    row: Annotated[int | None, typer.Option(help="Row of the data set, from 0.")] = None,
    query: Annotated[Path | None, typer.Option(help="CSV with one row to explain.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Class to reach; default any other than the current.")
    ] = None,
    norm: Annotated[str, typer.Option(help="0, 1, 2, any p > 0, or inf.")] = "1",
    scale: Annotated[str, typer.Option(help="range, std, mad or none.")] = "range",
    features: Annotated[Path | None, typer.Option(help="JSON that overrides features.")] = None,
    fix: Annotated[str, typer.Option(help="Features that must stay: a,b.")] = "",
    increase: Annotated[str, typer.Option(help="Features that may only grow: a,b.")] = "",
    decrease: Annotated[str, typer.Option(help="Features that may only shrink: a,b.")] = "",
    range_: Annotated[
        list[str] | None, typer.Option("--range", help="Limits of a feature: name=low:high.")
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(help="At most so many features change.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="Lead over every other class.")] = None,
    backend: Annotated[str, typer.Option(help="auto or a backend's name.")] = "auto",
    time_limit: Annotated[float, typer.Option(help="Seconds.")] = 60.0,
    threads: Annotated[int | None, typer.Option(help="Solver threads.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explain one row: exit code 0 optimal, 3 feasible, 4 infeasible, 5 unknown, 2 bad input."""
    from portfolio.datasets import read_dataset, read_query
    from portfolio.explainer import Explainer

    _one_of("--train", train, "--model", model)
    _one_of("--row", row, "--query", query)
    constraints = _constraints(fix, increase, decrease, range_ or [], max_changes)
    data = read_dataset(dataset)
    asked = read_query(query, data).iloc[0] if query is not None else _pick(data.X, row, dataset)
    explainer = Explainer(
        _model(data, train, trees, depth, seed, model, trust_pickle),
        data.X,
        features=data.space if features is None else data.overridden(features),
    )
    result = explainer.explain(
        asked,
        target=_parse_target(target, explainer.classes),
        norm=norm,
        scale=scale,
        constraints=constraints,
        margin=margin,
        backend=backend,
        time_limit_s=time_limit,
        threads=threads,
        seed=seed,
    )
    if as_json:
        answer = result.to_dict() | {"query": {k: float(v) for k, v in asked.items()}}
        sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
    else:
        _show(Console(), result)
    raise typer.Exit(EXIT_CODES[result.status])


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
) -> None:
    """Time backends on the same queries; exit code 1 if two proofs disagree."""
    from portfolio.bench_report import run_and_report
    from portfolio.benchmark import Plan

    chosen = dict.fromkeys([*_names(backends), *_names(against)])
    plan = Plan(
        folder=datasets,
        only=_names(only),
        kinds=_names(kind),
        backends=tuple(chosen),
        trees=trees,
        depth=depth,
        queries=queries,
        seed=seed,
        norm=norm,
        time_limit_s=time_limit,
        threads=threads,
    )
    raise typer.Exit(run_and_report(plan, against, json_file, _wide_console()))


@app.command()
def backends() -> None:
    """List the solvers: what they are, whether they can be used, what they can do."""
    from portfolio.listing import backend_table

    _wide_console().print(backend_table())


def _wide_console() -> Console:
    """For tables: in a file or a pipe nothing is cut off."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _one_of(first: str, a: object, second: str, b: object) -> None:
    if (a is None) == (b is None):
        raise InputError(f"give exactly one of {first} and {second}.")


def _pick(frame: Any, row: int | None, path: Path) -> Any:
    if row is None or not 0 <= row < len(frame):
        raise InputError(f"{path} has the rows 0 to {len(frame) - 1}; there is no row {row}.")
    return frame.iloc[row]


def _model(
    data: Any,
    kind: str | None,
    trees: int,
    depth: int,
    seed: int,
    path: Path | None,
    trust_pickle: bool,
) -> Any:
    from portfolio.model_files import load_model
    from portfolio.training import train

    if path is not None:
        return load_model(path, trust_pickle)
    if kind not in TRAINABLE:
        raise InputError(f"--train {kind}: known are {', '.join(TRAINABLE)}.")
    return train(data, kind, trees, depth, seed)  # type: ignore[arg-type]


def _parse_target(text: str | None, classes: tuple[Any, ...]) -> Any:
    """The label that is written like this; unknown text is left to the explainer to refuse."""
    if text is None:
        return None
    return next((label for label in classes if str(label) == text), text)


def _constraints(
    fix: str, increase: str, decrease: str, ranges: list[str], max_changes: int | None
) -> list[Constraint]:
    found: list[Constraint] = [
        kind(name.strip())
        for kind, names in ((Fixed, fix), (Increase, increase), (Decrease, decrease))
        for name in names.split(",")
        if name.strip()
    ]
    for part in (part for text in ranges for part in text.split(",") if part.strip()):
        name, _, limits = part.partition("=")
        low, colon, high = limits.partition(":")
        try:
            if not colon:
                raise ValueError
            found.append(Range(name.strip(), float(low or "-inf"), float(high or "inf")))
        except ValueError as error:
            raise InputError(f"--range {part}: expected name=low:high.") from error
    if max_changes is not None:
        found.append(MaxChanges(max_changes))
    return found


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
