"""Benchmark of the service: run, printed report and JSON file."""

import json
import os
import statistics
import time
from dataclasses import asdict, astuple, dataclass, field
from operator import attrgetter
from pathlib import Path

import numpy as np
from rich.table import Table

from encoders.core.cores import usable_cores
from encoders.core.whole_files import replace_whole
from portfolio.bench.benchmark import Benchmark
from portfolio.bench.service_benchmark import LIMIT_S, ServiceRun, run_service
from portfolio.cli.output import Console

BATCH = attrgetter("clients"), attrgetter("workers")  # a batch has no service process


class _TimeIsUp(Exception):  # noqa: N818
    """Signal that the deadline is over."""


@dataclass(frozen=True)
class _Report:
    """Report that prints each model when it is done and stores all runs."""

    console: Console
    ends: float
    runs: list[ServiceRun] = field(default_factory=list)

    def begin(self, run: ServiceRun) -> None:
        """Print the previous model and begin another one."""
        self.end()
        self.runs.append(run)
        self.step(f"{run.dataset} {run.kind}")

    def step(self, words: str) -> None:
        """Print the next step; raise _TimeIsUp if the time is over."""
        if time.monotonic() > self.ends:
            raise _TimeIsUp
        load = os.getloadavg()[0]
        self.console.print(f"{words}; load {load:.2f} on {usable_cores()} cores")

    def end(self) -> None:
        """Print the last model."""
        if self.runs:
            _print(self.console, self.runs[-1])


def run_and_report_service(
    benchmark: Benchmark,
    requests: int,
    deadline: float | None,
    json_file: Path | None,
    console: Console,
) -> int:
    """Run the benchmark; return 1 if an answer differs from the one in process, else 0.

    Ctrl-C, SIGTERM and the deadline end the run; the measurements so far are reported.
    """
    ends = float("inf") if deadline is None else time.monotonic() + deadline
    report, workers = _Report(console, ends), usable_cores()
    try:
        run_service(benchmark, workers, requests, report.begin, report.step)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting the results so far.")
    except _TimeIsUp:
        console.print("Time is up: reporting the results so far.")
    finally:
        if json_file is not None:
            text = json.dumps({"runs": [asdict(run) for run in report.runs]}, indent=1)
            replace_whole(json_file, lambda partial: partial.write_text(text, encoding="utf-8"))
        report.end()
    if len(report.runs) > 1:
        _print_shares(console, report.runs)
    loads = [load for run in report.runs for load in run.loads]
    return int(any(load.wrong or load.codes.keys() - {200} for load in loads))


def _print(console: Console, run: ServiceRun) -> None:
    if run.pairs:
        more = _added_ms(run)
        console.print(
            f"{run.dataset} {run.kind}: HTTP adds {np.median(more):.2f} ms in the median and "
            f"{np.quantile(more, 0.99):.2f} ms at the 99th percentile of {len(more)} requests, "
            f"which take {_alone_ms(run):.2f} ms in process"
        )
    if run.left_out:
        console.print(f"{run.left_out} rows are excluded: not proved within {LIMIT_S:g} s")
    if run.loads:
        console.print(
            f"closed loops on {run.in_loops} rows, compared with explain_batch on as many workers; "
            f"clients and service share the other of {usable_cores()} cores"
        )
        console.print(_table(run))
    for done, size in run.memory:
        console.print(f"{done} requests: {size // 1_000_000} MB")


def _added_ms(run: ServiceRun) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return 1000.0 * np.array([pair.over_http - pair.in_process for pair in run.pairs])


def _alone_ms(run: ServiceRun) -> float:
    return 1000.0 * statistics.median(pair.in_process for pair in run.pairs)


def _table(run: ServiceRun) -> Table:
    table = Table("clients", "workers", "answers", "others", "wrong", "a second", "batch", "share",
                  "ms of CPU: clients", "service", "workers", "a batch", "its workers")  # fmt: skip
    for load in run.loads:
        each_ms = 1000.0 / load.seen if load.seen else float("nan")
        good = load.codes.get(200, 0)
        table.add_row(
            str(load.clients),
            str(load.workers),
            str(good),
            str(sum(load.codes.values()) - good),
            str(load.wrong),
            f"{load.rate:.1f}",
            "-".join(f"{each.rows:.0f}" for each in load.batch),
            f"{load.share:.2f}",
            *(f"{each_ms * seconds:.2f}" for seconds in astuple(load.cpu)),
            *("-".join(f"{1000 * part(each.cpu):.2f}" for each in load.batch) for part in BATCH),
        )
    return table


def _print_shares(console: Console, runs: list[ServiceRun]) -> None:
    """Print rates as shares of explain_batch, one line per model, as a Markdown table."""
    loops = list(dict.fromkeys((load.clients, load.workers) for run in runs for load in run.loads))
    heads = [f"{clients}, {workers}" for clients, workers in loops]
    lines = [["set", "kind", "ms in process", "HTTP adds", "99th percentile", *heads]]
    lines.append(["---"] * len(lines[0]))
    for run in runs:
        if run.pairs:
            more = _added_ms(run)
            each = [_alone_ms(run), np.median(more), np.quantile(more, 0.99)]
            shares = {(load.clients, load.workers): load.share for load in reversed(run.loads)}
            cells = [f"{shares[loop]:.2f}" if loop in shares else "" for loop in loops]
            lines.append([run.dataset, run.kind, *(f"{ms:.1f}" for ms in each), *cells])
    console.print("Shares of explain_batch, by clients and workers:")
    for line in lines:
        console.print("| " + " | ".join(line) + " |", soft_wrap=True, markup=False)
