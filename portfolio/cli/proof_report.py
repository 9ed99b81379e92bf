"""Run the benchmark of proofs with a progress bar, print its table, keep what is done."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from encoders.cores import usable_cores
from encoders.whole_files import replace_whole
from portfolio.cli.output import progress_bar
from portfolio.data.collection import names
from portfolio.study.benchmark import Benchmark
from portfolio.study.proof_benchmark import (
    VERIFIED,
    ProofRun,
    run_proofs,
    summarise_proofs,
)
from selector.logs.record import PROOFS


def run_and_report_proofs(
    benchmark: Benchmark, work: float | None, json_file: Path | None, console: Console
) -> int:
    """Run, print, optionally write JSON; 1 if an answer that is a proof has none that checks.

    Ctrl-C ends the run and reports what is done.

    Parameters
    ----------
    benchmark : to run
    work : most for the checker; None for its own default
    json_file : written even if the run breaks off; None for no file
    console : to print on
    """
    runs: list[ProofRun] = []
    sets = names(benchmark.folder, benchmark.only)
    total = len(sets) * len(benchmark.kinds) * benchmark.queries
    console.print(
        f"{total} rows: {len(sets)} data sets, kinds {', '.join(benchmark.kinds)}, "
        f"{benchmark.trees} trees of depth {benchmark.depth or 'any'}, "
        f"limit {benchmark.time_limit_s:g} s; load {os.getloadavg()[0]:.2f} on "
        f"{usable_cores()} cores."
    )
    try:
        with progress_bar(console, "running", total) as tell:

            def on_run(run: ProofRun) -> None:
                runs.append(run)
                tell(len(runs), total, f"{run.dataset} {run.kind}")

            run_proofs(benchmark, on_run, work)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting what is done.")
    finally:
        if json_file is not None:
            text = json.dumps({"runs": [asdict(run) for run in runs]}, indent=1)
            replace_whole(json_file, lambda partial: partial.write_text(text, encoding="utf-8"))
    return _print(console, runs)


def _print(console: Console, runs: list[ProofRun]) -> int:
    table = Table(
        "set", "kind", "n", "proved", "verified", "answer s", "record x", "check x", "p90 s", "kB"
    )
    for line in summarise_proofs(runs):
        table.add_row(
            line.dataset,
            line.kind,
            *(str(count) for count in (line.queries, line.proved, line.verified)),
            f"{line.answer:.4f}",
            f"{line.recording:.2f}",
            f"{line.checking:.2f}",
            f"{line.slowest:.2f}",
            f"{line.n_bytes / 1000:.1f}",
        )
    console.print(table)
    bare = [run for run in runs if run.status in PROOFS and run.verdict != VERIFIED]
    for run in bare:
        told = f"{run.dataset} {run.kind}, row {run.query} ({run.status}): {run.verdict}"
        console.print(told, soft_wrap=True, markup=False)
    return int(bool(bare))
