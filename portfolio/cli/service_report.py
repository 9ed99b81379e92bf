"""Run a benchmark of the service, print what it found, keep it."""

import json
import os
import statistics
from dataclasses import asdict, astuple
from operator import attrgetter
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from encoders.cores import usable_cores
from encoders.whole_files import replace_whole
from portfolio.service.benchmark import ServiceRun, run_service
from portfolio.study.benchmark import Benchmark

BATCH = attrgetter("clients"), attrgetter("workers")  # a batch has no service


def run_and_report_service(
    benchmark: Benchmark, requests: int, json_file: Path | None, console: Console
) -> int:
    """Run, print, optionally write JSON; 1 if an answer was another than in process.

    Parameters
    ----------
    benchmark : to run
    requests : of the loop in which memory is looked at, 0 for none
    json_file : None for no file
    console : to print on
    """
    workers = usable_cores()
    runs = []
    for run in run_service(benchmark, workers, requests, lambda words: _tell(console, words)):
        runs.append(run)
        _print(console, run)
    if json_file is not None:
        text = json.dumps({"runs": [asdict(run) for run in runs]}, indent=1)
        replace_whole(json_file, lambda partial: partial.write_text(text, encoding="utf-8"))
    return int(any(load.wrong or load.codes.keys() != {200} for r in runs for load in r.loads))


def _tell(console: Console, words: str) -> None:
    console.print(f"{words}; load {os.getloadavg()[0]:.2f} on {usable_cores()} cores")


def _print(console: Console, run: ServiceRun) -> None:
    more = 1000.0 * np.array([pair.over_http - pair.in_process for pair in run.pairs])
    alone = 1000.0 * statistics.median(pair.in_process for pair in run.pairs)
    console.print(
        f"{run.dataset} {run.kind}: HTTP adds {np.median(more):.2f} ms in the median and "
        f"{np.quantile(more, 0.99):.2f} ms at the 99th percentile of {len(more)} questions, which "
        f"take {alone:.2f} ms in process"
    )
    console.print(
        "closed loops beside explain_batch with as many workers; clients and service have what "
        f"those leave of {usable_cores()} cores"
    )
    table = Table("clients", "workers", "answers", "others", "wrong", "a second", "batch", "share",
                  "ms of CPU: clients", "service", "workers", "a batch", "its workers")  # fmt: skip
    for load in run.loads:
        each_ms = 1000.0 / sum(load.codes.values())
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
            *("-".join(f"{1000 * own(each.cpu):.2f}" for each in load.batch) for own in BATCH),
        )
    console.print(table)
    for done, size in run.memory:
        console.print(f"{done} questions: {size // 1_000_000} MB")
