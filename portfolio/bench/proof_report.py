"""Run the benchmark of proofs with a progress bar, print its table, and write its runs."""

from pathlib import Path

from rich.table import Table

from portfolio.bench.benchmark import Benchmark
from portfolio.bench.collected import collected
from portfolio.bench.proof_benchmark import VERIFIED, ProofRun, run_proofs, summarise_proofs
from portfolio.cli.output import Console
from selector.logs.record import PROOFS


def run_and_report_proofs(
    benchmark: Benchmark, work: float | None, json_file: Path | None, console: Console
) -> int:
    """Run and print the benchmark; return 1 if a proved answer lacks a verified proof, else 0.

    Ctrl-C ends the run; finished rows are reported.
    """
    runs = collected(
        benchmark, 1, "rows", lambda on_run: run_proofs(benchmark, on_run, work), json_file, console
    )
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
    unverified = [run for run in runs if run.status in PROOFS and run.verdict != VERIFIED]
    for run in unverified:
        words = f"{run.dataset} {run.kind}, row {run.query} ({run.status}): {run.verdict}"
        console.print(words, soft_wrap=True, markup=False)
    return int(bool(unverified))
