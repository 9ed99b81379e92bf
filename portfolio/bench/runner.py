"""The runner of all benchmarks: runs with a progress bar, a JSON file, and a report."""

import json
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from encoders.core import system
from encoders.core.cores import usable_cores
from encoders.core.whole_files import write_text
from portfolio.cli.output import Console, progress_bar
from portfolio.workers.interrupt import noted_interrupts

PACKAGES = ("counterfolio", "ortools", "scikit-learn", "xgboost", "numpy", "numba")
WRITE_S = 10.0  # seconds after which the JSON file is written again
Answer = TypeVar("Answer")


class BenchmarkPlan(ABC):
    """A benchmark: its runs, and how they are reported and written.

    Attributes
    ----------
    unit : plural noun for the runs.
    interrupted : message after Ctrl-C.
    """

    unit: ClassVar[str] = "runs"
    interrupted: ClassVar[str] = "Interrupted: reporting finished runs."

    @property
    @abstractmethod
    def total(self) -> int:
        """Number of runs."""

    @property
    def heading(self) -> str:
        """Line that is printed first, "" for none."""
        return ""

    @abstractmethod
    def runs(self) -> Generator[Any]:
        """Yield the runs as records, and texts to print.

        A record may be filled until the next one is yielded.
        """

    @abstractmethod
    def report(self, runs: list[Any], console: Console) -> int:
        """Print the runs; return the exit code."""

    def content(self, runs: list[Any]) -> dict[str, Any]:
        """Return plan, machine, versions and runs as the content of a JSON file."""
        return {
            "plan": _plain(self),
            "machine": {"cores": usable_cores(), "python": platform.python_version()},
            "versions": {name: version(name) for name in PACKAGES},
            "runs": [asdict(run) for run in runs],
        }


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
    if plan.heading:
        console.print(plan.heading)
    try:
        _run(plan, console, runs, json_file, ends)
    except KeyboardInterrupt:
        console.print(plan.interrupted)
    finally:
        _write(json_file, plan, runs)
    return plan.report(runs, console)


def _run(
    plan: BenchmarkPlan, console: Console, runs: list[Any], json_file: Path | None, ends: float
) -> None:
    """Append all runs to a list until the time is over."""
    total, written = plan.total, time.monotonic()
    with (
        noted_interrupts(terminate=True) as stop,
        progress_bar(console, plan.unit, total) as update,
        closing(plan.runs()) as items,
    ):
        for item in items:
            now = time.monotonic()
            if isinstance(item, str):
                if now <= ends:
                    console.print(item, markup=False, highlight=False)
            else:
                runs.append(item)
                update(len(runs), total, " ".join(_labels(item)) or plan.unit)
            if stop.is_set():
                raise KeyboardInterrupt
            if now > ends:
                console.print("Time is up: reporting the results so far.")
                return
            if now > written + WRITE_S:
                _write(json_file, plan, runs)
                written = now


def _labels(run: Any) -> Iterator[str]:
    """Yield the texts that identify a run."""
    names = ("dataset", "kind", "backend", "question", "line")
    return (str(getattr(run, name)) for name in names if hasattr(run, name))


def machine_load() -> str:
    """Return the load of this machine in words."""
    return f"load {system.load():.2f} on {usable_cores()} cores"


def _write(path: Path | None, plan: BenchmarkPlan, runs: list[Any]) -> None:
    if path is not None:
        write_text(path, json.dumps(plan.content(runs), indent=1, default=_text))


def _text(value: object) -> str:
    """Return a value as text; of a path only the name, as results are published."""
    return value.name if isinstance(value, Path) else str(value)


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
