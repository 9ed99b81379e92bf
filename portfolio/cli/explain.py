"""The command line: ``counterfolio explain`` and ``counterfolio demo``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace
from portfolio.cli import options
from portfolio.cli.one_row import RowOptions
from portfolio.cli.output import EXIT_CODES, Console, escape, print_result
from portfolio.results.result import PROOF_MB, Result
from portfolio.workers.interrupt import ended_gently

MOST_NAMED = 5  # features in a hint


def nothing_fixed(result: Result, constraints: Sequence[object], space: FeatureSpace) -> str:
    """Return a hint on how to fix features, or "" if features are limited or none changes."""
    limited = constraints or any(feature.action != "free" for feature in space.features)
    names = [change.feature for change in result.changed]
    if limited or not names:
        return ""
    some_names = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    first = names[0]
    return (
        f"Hint: no feature is fixed, and the answer changes {some_names}. Fix features that people "
        f"cannot change: --fix '{first}', or --features with "
        f'{{"{first}": {{"action": "fixed"}}}} for every query.'
    )


def demo(
    rows: Annotated[int, typer.Option(min=1, max=100, help="Number of rows to explain.")] = 3,
    norm: options.Norm = "1",
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=options.LARGEST_SEED, help="Random seed of the forest and the rows."
        ),
    ] = 0,
    time_limit: options.TimeLimitPerRow = 60.0,
) -> None:
    """Train a forest on bundled real data and explain some rows."""
    from portfolio.api.explainer import Explainer
    from portfolio.data.demo import make_demo

    console = Console()
    example = make_demo(rows, seed)
    explainer = Explainer(example.model, example.X)
    console.print(
        f"A random forest of {len(example.model.estimators_)} trees, trained on {len(example.X)} "
        f"tumours described by {example.X.shape[1]} measurements."
    )
    worst = 0
    for _, row in example.rows.iterrows():
        result = explainer.explain(
            row, target=example.target, norm=norm, seed=seed, time_limit_s=time_limit
        )
        console.print(f"\n[bold]Row {row.name}[/bold], predicted malignant. ", end="")
        print_result(console, result)
        worst = max(worst, EXIT_CODES[result.status])
        if result.stop_reason == "interrupted":
            break
    raise typer.Exit(worst)


@options.spread
def explain(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    tie_break: options.TieBreak = False,
    second: Annotated[
        str | None, typer.Option(help="Second backend that repeats the proof without presolve.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="File for a record of the answer with its proof: .json or .json.gz."),
    ] = None,
    proof_mb: options.ProofMb = PROOF_MB,
    portfolio: options.PortfolioNames = None,
) -> None:
    """Find the cheapest counterfactual of one row.

    Exit code: 0 optimal, 3 feasible, 4 infeasible, 5 unknown, 2 bad input.
    """
    if record is not None and not record.absolute().parent.is_dir():
        raise InputError(f"--record {record}: folder {record.parent} does not exist. Create it.")
    constraints = question.constraints()
    query = one.read_query(model, question)
    result = query.explainer.explain(
        query.row,
        constraints=constraints,
        tie_break=tie_break,
        second=second,
        portfolio=portfolio,
        **question.logged(query.data),
        **one.limits(model.seed),
        **question.words(query.explainer),
    )
    if one.as_json:
        query.print_json(result)
    else:
        print_result(Console(), result)
        hint = nothing_fixed(result, constraints, query.explainer.features)
        Console().print(escape(hint), style="dim", highlight=False, end="\n" if hint else "")
    if record is not None:
        over = result.stop_reason == "interrupted"
        with ended_gently():
            written = result.record(0 if over else one.time_limit, proof_mb=proof_mb)
        written.write(record)
        Console(stderr=True).print(escape(f"{record}: {written}"), highlight=False)
    raise typer.Exit(EXIT_CODES[result.status])
