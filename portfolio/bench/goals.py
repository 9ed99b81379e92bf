"""Benchmarks with goals for speed and memory, each measured in a separate process.

The process prints its figures as JSON: ``python -m portfolio.bench.goals LINE FOLDER``.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from encoders.core.close_names import close_names
from encoders.core.errors import CounterfolioError, InputError
from portfolio.bench import goal_measures as measures
from portfolio.bench import hard_forests as hard
from portfolio.bench import start_measures as start
from portfolio.bench.goal_measures import Figures
from portfolio.bench.runner import BenchmarkPlan, machine_load
from portfolio.cli.output import Console
from portfolio.data.collection import names


@dataclass(frozen=True)
class Line:
    """Benchmark with goals."""

    name: str  # name of the benchmark
    words: str  # description of what is measured
    goals: Mapping[str, float]  # upper limit of each figure; lower limit of shares and rates
    measure: Callable[[Path], Figures]  # function from the folder of data sets to the figures
    dataset: str = ""  # name of the data set that is needed, "" for none

    def __str__(self) -> str:
        return self.name


AT_LEAST = frozenset(("proved", "rows/s", "speed-up"))  # figures for which higher is better


def reached(figure: str, value: float, goal: float) -> bool:
    """Return whether a figure reaches its goal."""
    return value >= goal if figure in AT_LEAST else value <= goal


def lines() -> list[Line]:
    """Return all benchmarks, the fastest first."""
    deep = {"read, CPU s": 3.0, "proved": 1.0, "peak, GB": 1.0}
    return [
        Line("import", "importing Explainer", {"CPU s": 0.3}, start.imported),
        Line("help", "counterfolio --help", {"CPU s": 0.4}, start.helped),
        Line("compile", "compiling for the plain question", {"CPU s": 6.0}, start.compiled),
        Line("demo", "counterfolio demo, nothing compiled", {"s": 8.0}, start.shown),
        Line("wheel", "both from a wheel with machine code", {"CPU s": 6.0, "demo, s": 8.0},
             start.shipped),
        _queries("BC", "BC", "xgb", 100, 5, {"median, s": 0.008}),
        _queries("ST-boosted", "ST", "xgb", 100, 5, {"max, s": 0.3}),
        _queries("ST", "ST", "soft", 100, 5, {"max, s": 0.3}),
        *_hard_forests(),
        *(
            _queries(f"isolation-{name}", name, "soft", 500, 5,
                     {"proved": 1.0, "median, s": 2.0}, rows=10, isolation=500)
            for name in ("BC", "SE")
        ),
        _queries("deep-AD", "AD", "soft", 100, 0, {**deep, "max, s": 0.5}),
        _queries("deep-ON", "ON", "soft", 100, 0,
                 {**deep, "first, s": 1.0, "median, s": 10}, rows=8),
        Line("large", "forest of 100, no depth limit, 500,000 rows of 50 features, 7 classes",
             {"first, s": 5.0, "peak, x the model's": 4.0}, measures.large_forest),
        *(
            Line(f"map-{name}", "XGBoost 100 x 5: a row of a batch by a map", {"a row, ms": 1.0},
                 partial(measures.map_batch, name), name)
            for name in ("CP", "BC", "SE")
        ),
        Line("largest", "XGBoost 1000 x 4, digits 2 and 6, norm inf",
             {"first, s": 0.05, "median, s": 0.1, "max, s": 1.0, "proved": 1.0}, measures.digits),
        Line("dense", "XGBoost 300 x 8, ten classes, 28 dense features, norm inf",
             {"max, s": 60.0, "proved": 1.0}, measures.dense),
        Line("threads", "SE, 500 x 5 and isolation forests of 500: two threads, rows over 0.5 s",
             {"speed-up": 1.7}, measures.two_threads, "SE"),
        Line("batch", "AD, forest 100 x 5, a batch of 1,500", {"rows/s": 400.0},
             measures.batch, "AD"),
        Line("train", "selector train on the shipped logs", {"s": 20.0}, start.trained),
        Line("evaluate", "selector evaluate on the shipped logs", {"s": 12.0}, start.evaluated),
    ]  # fmt: skip


def _hard_forests() -> Iterator[Line]:
    """Yield benchmarks of forests that are slow to search or to read."""
    proved, even = {"proved": 1.0, "max, s": 20.0}, {"proved": 1.0, "max, medians": 10.0}
    twenty = partial(hard.random_rows, count=20, seed=0)
    yield Line("SP", "forest 100 x 5", even,
               partial(hard.spambase, hard.Forest(100, depth=5), rows=twenty), "SP")  # fmt: skip
    yield Line("SP-2660", "forest 500 x 5, row 2660", proved,
               partial(hard.spambase, hard.Forest(500, depth=5),
                       rows=lambda table: table.iloc[[0, 2660]]), "SP")  # fmt: skip
    yield Line("SP-forest", "forest of 500, no depth limit", proved,
               partial(hard.spambase, hard.Forest(500)), "SP")  # fmt: skip
    yield Line("SP-extra", "extra trees, 100, no depth limit", proved,
               partial(hard.spambase, hard.Forest(100, extra=True)), "SP")  # fmt: skip
    for trees, median_s in ((100, 1.0), (500, 4.0)):
        measure = partial(hard.digits, hard.Forest(trees))
        goals = {"proved": 1.0, "median, s": median_s}
        yield Line(f"digits-{trees}", f"digits, forest of {trees}", goals, measure)
    yield Line("digits-extra", "digits, extra trees, 100", {"proved": 1.0, "max, s": 30.0},
               partial(hard.digits, hard.Forest(100, extra=True)))  # fmt: skip
    yield Line("cancer", "breast cancer, forest of 500", {"proved": 1.0, "max, s": 1.0},
               partial(hard.cancer, hard.Forest(500)))  # fmt: skip
    yield Line("AD-pipeline", "forest of 500 behind one-hot columns",
               {"read, CPU s": 3.0, "max, s": 0.2}, hard.adult_pipeline, "AD")  # fmt: skip
    yield Line("churn-pipeline", "forest of 500 behind one-hot columns, churn-like table",
               {"read, CPU s": 8.0, "max, s": 2.0}, hard.churn_pipeline)  # fmt: skip


def _queries(
    name: str,
    dataset: str,
    kind: str,
    trees: int,
    depth: int,
    goals: Mapping[str, float],
    rows: int = 20,
    isolation: int = 0,
) -> Line:
    """Return the benchmark of queries to a model, and to isolation forests unless it is 0."""
    size = f"{trees} x {depth}" if depth else f"of {trees}, no depth limit"
    words = f"{'XGBoost' if kind == 'xgb' else 'forest'} {size}"
    if isolation:
        words += f" and isolation forests of {isolation}"
    measure = partial(measures.queries, dataset, kind, trees, depth, rows=rows, isolation=isolation)
    return Line(name, words, goals, measure, dataset)


def chosen(names: tuple[str, ...]) -> list[Line]:
    """Return the benchmarks with these names, or all without names."""
    by_name = {line.name: line for line in lines()}
    missing = [name for name in names if name not in by_name]
    if missing:
        hint = close_names(missing[0], by_name)
        raise InputError(f"unknown line {missing[0]!r}.{hint} Use one of {', '.join(by_name)}.")
    return [by_name[name] for name in names or by_name]


def run_line(line: Line, folder: Path, limit_s: float) -> Figures:
    """Measure one benchmark in a separate process."""
    command = [sys.executable, "-m", "portfolio.bench.goals", line.name, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"{line.name} did not finish within {limit_s:g} s. Raise the time limit."
        ) from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{line.name} failed: {last}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


@dataclass
class GoalRun:
    """Measurement of one benchmark."""

    line: Line
    figures: Figures = field(default_factory=dict)  # empty until they are measured
    error: str = ""  # reason why they could not be measured

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield a row of the table for each goal."""
        for name, goal in self.line.goals.items() if self.figures else ():
            value, sign = self.figures[name], "at least" if name in AT_LEAST else "at most"
            good = "yes" if reached(name, value, goal) else "no"
            yield self.line.name, self.line.words, name, f"{sign} {goal:g}", f"{value:.3g}", good


@dataclass(frozen=True)
class GoalPlan(BenchmarkPlan):
    """Measure lines in a separate process each.

    Attributes
    ----------
    folder : folder of data sets, None if there is none.
    only : names of the lines, empty for all.
    limit_s : time limit of each line in seconds.
    """

    unit = "lines"
    interrupted = "Interrupted: reporting finished lines."

    folder: Path | None
    only: tuple[str, ...]
    limit_s: float

    @property
    def total(self) -> int:
        """Number of lines."""
        return len(chosen(self.only))

    def runs(self) -> Generator[GoalRun | str]:
        """Yield each line before its measurement, which fills it."""
        present = [] if self.folder is None else names(self.folder)
        for line in chosen(self.only):
            if line.dataset and line.dataset not in present:
                yield f"{line.name} needs data set {line.dataset}. Give its folder with --datasets."
                continue
            run = GoalRun(line)
            yield run
            try:
                run.figures = run_line(line, self.folder or Path(), self.limit_s)
            except InputError as error:
                run.error = str(error)
                yield run.error

    def content(self, runs: list[GoalRun]) -> dict[str, Any]:
        """Return the measured figures by line."""
        return {run.line.name: run.figures for run in runs if run.figures}

    def report(self, runs: list[GoalRun], console: Console) -> int:
        """Print a table; return 1 if a line could not be measured, else 0.

        Goals that are missed do not change the exit code.
        """
        heads = ("line", "what", "figure", "goal", "measured", "reached")
        table = Table(*heads, title=machine_load())
        for run in runs:
            for row in run.rows():
                table.add_row(*row)
        console.print(table)
        return int(any(run.error for run in runs))


def _main(name: str, folder: str) -> None:
    try:
        print(json.dumps(chosen((name,))[0].measure(Path(folder))))  # noqa: T201
    except CounterfolioError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
