"""Run a benchmark plan with a progress bar, print its table, keep what is done."""

import json
import os
import platform
import statistics
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from portfolio.benchmark import (
    Line,
    Plan,
    Run,
    as_record,
    disagreements,
    names,
    run_plan,
    size,
    summarise,
)

PACKAGES = ("counterfolio", "ortools", "scikit-learn", "xgboost", "numpy", "numba")


def run_and_report(plan: Plan, against: str, json_file: Path | None, console: Console) -> int:
    """Run, print, optionally write JSON; 0, or 1 if two proofs disagree.

    Ctrl-C ends the run and reports what is done.
    """
    runs: list[Run] = []
    console.print(
        f"{size(plan)} runs: {len(names(plan))} data sets, kinds {', '.join(plan.kinds)}, "
        f"{plan.trees} trees of depth {plan.depth}, norm {plan.norm}, "
        f"limit {plan.time_limit_s:g} s; load {os.getloadavg()[0]:.2f} on "
        f"{len(os.sched_getaffinity(0))} cores."
    )
    try:
        _run_with_bar(plan, runs, console)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting what is done.")
    finally:
        if json_file is not None:
            _write(json_file, plan, runs)
    if not runs:
        return 0
    lines = summarise(runs, against)
    _print(console, lines, against)
    wrong = disagreements(runs)
    for text in wrong:
        console.print(f"[red]Proofs disagree[/red] on {text}", markup=True)
    if not wrong:
        console.print(f"All proofs agree ({len(runs)} runs).")
    return 1 if wrong else 0


def _run_with_bar(plan: Plan, runs: list[Run], console: Console) -> None:
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("running", total=size(plan))

        def on_run(run: Run) -> None:
            runs.append(run)
            bar.update(task, advance=1, description=f"{run.dataset} {run.kind} {run.backend}")

        run_plan(plan, on_run)


def _print(console: Console, lines: list[Line], against: str) -> None:
    table = Table(
        "set", "kind", "backend", "n", "median s", "p90 s", "proved", f"{against} / it",
        "by reduction", "options", "leaves",
    )  # fmt: skip
    for line in lines:
        table.add_row(
            line.dataset,
            line.kind,
            line.backend,
            str(line.queries),
            f"{line.median:.4f}",
            f"{line.p90:.4f}",
            f"{line.proved:.0%}",
            "" if line.ratio is None else f"{line.ratio:.1f}",
            f"{line.by_reduction:.0%}",
            f"{line.options:g}",
            f"{line.leaves:g}",
        )
    console.print(table)
    for backend in dict.fromkeys(line.backend for line in lines):
        ratios = [x.ratio for x in lines if x.backend == backend and x.ratio is not None]
        if ratios and backend != against:
            mean = statistics.geometric_mean(ratios)
            console.print(
                f"{backend}: {mean:.1f} times faster than {against} "
                "(geometric mean of the ratios of medians)"
            )


def _write(path: Path, plan: Plan, runs: list[Run]) -> None:
    """One JSON object, moved into place whole."""
    content = {
        "plan": {k: str(v) if isinstance(v, Path) else v for k, v in vars(plan).items()},
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "versions": {name: version(name) for name in PACKAGES},
        "runs": [as_record(run) for run in runs],
    }
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(content, indent=1), encoding="utf-8")
    partial.replace(path)
