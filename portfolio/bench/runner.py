"""The runner of all benchmarks: cases, runs with a progress bar, a JSON file, and a report."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd
from rich.table import Table

from encoders.core.cores import usable_cores
from encoders.core.whole_files import write_text
from portfolio.bench.cases import Case, Cases
from portfolio.cli.output import Console, progress_bar
from portfolio.workers.interrupt import noted_interrupts

PACKAGES = ("counterfolio", "ortools", "scikit-learn", "xgboost", "numpy", "numba")
Answer = TypeVar("Answer")
# Title of each column of a table, and the format of its values.
Columns = Mapping[str, tuple[str, str | Callable[[Any], str]]]


@dataclass(frozen=True)
class PlanStep:
    """A step of a plan that prints its name instead of a progress bar."""

    words: str


class BenchmarkPlan(Protocol):
    """A benchmark: what is run for each case, and how the runs are reported."""

    @property
    def cases(self) -> Cases:
        """The models and their queries."""
        ...

    @property
    def size(self) -> str:
        """Number of runs and their unit in words, such as "12 runs"."""
        ...

    def runs(self, case: Case) -> Iterator[Any]:
        """Yield the runs of one case as records, and steps."""
        ...

    def report(self, runs: list[Any], console: Console) -> int:
        """Print the runs; return the exit code."""
        ...


def run_plan(
    plan: BenchmarkPlan,
    console: Console,
    json_file: Path | None = None,
    deadline_s: float | None = None,
) -> int:
    """Run a benchmark, write the runs to a file, print the report and return its exit code.

    Ctrl-C, SIGTERM and the deadline end it; the finished runs are reported and written.
    """
    ends, runs = inf if deadline_s is None else time.monotonic() + deadline_s, list[Any]()
    console.print(f"{plan.size}: {plan.cases}; {load()}.")
    try:
        _run(plan, console, runs, ends)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting finished runs.")
    finally:
        if json_file is not None:
            write_runs(json_file, plan, runs)
    return plan.report(runs, console)


def _run(plan: BenchmarkPlan, console: Console, runs: list[Any], ends: float) -> None:
    """Append all runs to a list until the time is over."""
    total = int(plan.size.split()[0])
    with (
        noted_interrupts(terminate=True) as stop,
        progress_bar(console, "running", total) as update,
    ):
        for item in (item for case in plan.cases.each() for item in plan.runs(case)):
            if isinstance(item, PlanStep) and time.monotonic() <= ends:
                console.print(f"{item.words}; {load()}")
            elif not isinstance(item, PlanStep):
                runs.append(item)
                update(len(runs), total, " ".join(_labels(item)))
            if stop.is_set():
                raise KeyboardInterrupt
            if time.monotonic() > ends:
                console.print("Time is up: reporting the results so far.")
                return


def _labels(run: Any) -> Iterator[str]:
    """Yield the texts that identify a run."""
    names = ("dataset", "kind", "backend", "question")
    return (str(getattr(run, name)) for name in names if hasattr(run, name))


def load() -> str:
    """Return the load of this machine in words."""
    return f"load {os.getloadavg()[0]:.2f} on {usable_cores()} cores"


def write_runs(path: Path, plan: BenchmarkPlan, runs: list[Any]) -> None:
    """Write plan, machine, versions and runs as one JSON object."""
    content = {
        "plan": _plain(plan),
        "machine": {"cores": usable_cores(), "python": platform.python_version()},
        "versions": {name: version(name) for name in PACKAGES},
        "runs": [asdict(run) for run in runs],
    }
    write_text(path, json.dumps(content, indent=1, default=str))


def _plain(plan: Any) -> dict[str, Any]:
    """Return the settings of a plan in one mapping."""
    flat: dict[str, Any] = {}
    for name, value in vars(plan).items():
        flat |= _plain(value) if is_dataclass(value) else {name: value}
    return flat


def unless_interrupted(answer: Answer) -> Answer:
    """Return an answer; raise KeyboardInterrupt if Ctrl-C ended it, as it ends the benchmark."""
    if getattr(answer, "stop_reason", "") == "interrupted":
        raise KeyboardInterrupt
    return answer


def as_frame(runs: list[Any]) -> pd.DataFrame:
    """Return runs as a table, a row each."""
    return pd.DataFrame([asdict(run) for run in runs])


def print_table(console: Console, frame: pd.DataFrame, columns: Columns) -> None:
    """Print columns of a frame."""
    table = Table(*(title for title, _ in columns.values()))
    forms = [how if callable(how) else partial(_formatted, how) for _, how in columns.values()]
    for row in frame[list(columns)].itertuples(index=False):
        table.add_row(*(form(value) for form, value in zip(forms, row, strict=True)))
    console.print(table)


def _formatted(form: str, value: Any) -> str:
    return "" if value is None else format(value, form)
