"""Run a benchmark with a progress bar, print its table, and write its runs."""

import json
import os
import platform
import statistics
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

from encoders.core.cores import usable_cores
from encoders.core.whole_files import replace_whole
from portfolio.bench.benchmark import (
    BackendSummary,
    Benchmark,
    BenchmarkRun,
    as_record,
    disagreements,
    run_benchmark,
    size,
    summarise,
)
from portfolio.cli.output import Console, progress_bar
from portfolio.data.collection import names

PACKAGES = ("counterfolio", "ortools", "scikit-learn", "xgboost", "numpy", "numba")


def run_and_report(
    benchmark: Benchmark, against: str, json_file: Path | None, console: Console
) -> int:
    """Run a benchmark, print and optionally write it; return 1 if two proofs disagree, else 0.

    Ctrl-C ends the run; finished runs are reported.
    """
    runs: list[BenchmarkRun] = []
    sets = names(benchmark.folder, benchmark.only)
    console.print(
        f"{size(benchmark)} runs: {len(sets)} data sets, kinds {', '.join(benchmark.kinds)}, "
        f"{benchmark.trees} trees of depth {benchmark.depth or 'any'}, norm {benchmark.norm}, "
        f"limit {benchmark.time_limit_s:g} s; load {os.getloadavg()[0]:.2f} on "
        f"{usable_cores()} cores."
    )
    try:
        _run_with_bar(benchmark, runs, console)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting finished runs.")
    finally:
        if json_file is not None:
            _write(json_file, benchmark, runs)
    if not runs:
        return 0
    lines = summarise(runs, against)
    _print(console, lines, against)
    disagreeing = disagreements(runs)
    for text in disagreeing:
        console.print(f"[red]Proofs disagree[/red] on {text}", markup=True)
    if not disagreeing:
        console.print(f"All proofs agree ({len(runs)} runs).")
    return 1 if disagreeing else 0


def _run_with_bar(benchmark: Benchmark, runs: list[BenchmarkRun], console: Console) -> None:
    total = size(benchmark)
    with progress_bar(console, "running", total) as update:

        def on_run(run: BenchmarkRun) -> None:
            runs.append(run)
            update(len(runs), total, f"{run.dataset} {run.kind} {run.backend}")

        run_benchmark(benchmark, on_run)


def _print(console: Console, lines: list[BackendSummary], against: str) -> None:
    table = Table(
        "set", "kind", "backend", "n", "median s", "p90 s", "proved", f"{against} / this",
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


def _write(path: Path, benchmark: Benchmark, runs: list[BenchmarkRun]) -> None:
    """Write plan, machine, versions and runs as one JSON object."""
    content = {
        "plan": {k: str(v) if isinstance(v, Path) else v for k, v in vars(benchmark).items()},
        "machine": {"cores": usable_cores(), "python": platform.python_version()},
        "versions": {name: version(name) for name in PACKAGES},
        "runs": [as_record(run) for run in runs],
    }
    text = json.dumps(content, indent=1)
    replace_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))
