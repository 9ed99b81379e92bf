"""Benchmarks with goals for speed and memory, each measured in a separate process.

The process prints its figures as JSON: ``python -m portfolio.bench.goals LINE FOLDER``.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from encoders.core.close_names import close_names
from encoders.core.errors import CounterfolioError, InputError
from encoders.core.whole_files import write_text
from portfolio.bench import goal_measures as ask
from portfolio.bench import start_measures as start
from portfolio.bench.runner import load
from portfolio.cli.output import Console
from portfolio.data.collection import names

Figures = dict[str, float]


@dataclass(frozen=True)
class Line:
    """Benchmark with goals."""

    name: str  # name of the benchmark
    words: str  # description of what is measured
    goals: Mapping[str, float]  # upper limit of each figure; lower limit of shares and rates
    measure: Callable[[Path], Figures]  # function from the folder of data sets to the figures
    dataset: str = ""  # name of the data set that is needed, "" for none


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
        Line(
            "BC", "XGBoost 100 x 5", {"median, s": 0.008}, ask.asked("BC", "xgboost", 100, 5), "BC"
        ),
        Line("ST-boosted", "XGBoost 100 x 5", {"max, s": 0.3},
             ask.asked("ST", "xgboost", 100, 5), "ST"),
        Line("ST", "forest 100 x 5", {"max, s": 0.3}, ask.asked("ST", "forest", 100, 5), "ST"),
        Line("SP", "forest 100 x 5", {"proved": 1.0, "max, s": 5.0},
             ask.asked("SP", "forest", 100, 5), "SP"),
        Line("SP-500", "forest 500 x 5", {"proved": 1.0, "max, s": 20.0},
             ask.asked("SP", "forest", 500, 5, rows=4), "SP"),
        Line("isolation-BC", "forest 500 x 5 and isolation forests of 500",
             {"proved": 1.0, "median, s": 2.0},
             ask.asked("BC", "forest", 500, 5, rows=10, isolation=500), "BC"),
        Line("isolation-SE", "forest 500 x 5 and isolation forests of 500",
             {"proved": 1.0, "median, s": 2.0},
             ask.asked("SE", "forest", 500, 5, rows=10, isolation=500), "SE"),
        Line("deep-AD", "forest of 100, no depth limit", {**deep, "max, s": 0.5},
             ask.asked("AD", "forest", 100, 0), "AD"),
        Line("deep-ON", "forest of 100, no depth limit", {**deep, "first, s": 1.0, "median, s": 10},
             ask.asked("ON", "forest", 100, 0, rows=8), "ON"),
        Line("large", "forest of 100, no depth limit, 500,000 rows of 50 features, 7 classes",
             {"first, s": 5.0, "peak, x the model's": 4.0}, ask.grown_large),
        *(
            Line(f"map-{name}", "XGBoost 100 x 5: a row of a batch by a map", {"a row, ms": 1.0},
                 ask.mapped(name), name)
            for name in ("CP", "BC", "SE")
        ),
        Line("largest", "XGBoost 1000 x 4, digits 2 and 6, norm inf",
             {"first, s": 0.05, "median, s": 0.1, "max, s": 1.0, "proved": 1.0}, ask.digits),
        Line("dense", "XGBoost 300 x 8, ten classes, 28 dense features, norm inf",
             {"max, s": 60.0, "proved": 1.0}, ask.dense),
        Line("threads", "SE, 500 x 5 and isolation forests of 500: two threads, rows over 0.5 s",
             {"speed-up": 1.7}, ask.two_threads, "SE"),
        Line("batch", "AD, forest 100 x 5, a batch of 300", {"rows/s": 250.0}, ask.batch, "AD"),
        Line("train", "selector train on the shipped logs", {"s": 20.0}, start.trained),
        Line("evaluate", "selector evaluate on the shipped logs", {"s": 12.0}, start.evaluated),
    ]  # fmt: skip


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


def run_goals(
    folder: Path | None,
    only: tuple[str, ...],
    limit_s: float,
    json_file: Path | None,
    console: Console,
) -> int:
    """Measure lines and print a table; return 1 if a line could not be measured, else 0.

    Goals that are missed do not change the exit code. Ctrl-C ends the run; the table and the file
    contain the lines measured so far.
    """
    present = [] if folder is None else names(folder)
    table = Table("line", "what", "figure", "goal", "measured", "reached", title=load())
    measured: dict[str, Figures] = {}
    failed = 0
    try:
        for line in chosen(only):
            if line.dataset and line.dataset not in present:
                console.print(
                    f"{line.name} needs data set {line.dataset}. Give its folder with --datasets."
                )
                continue
            with console.status(f"measuring {line.name}"):
                try:
                    figures = run_line(line, folder or Path(), limit_s)
                except InputError as error:
                    failed = 1
                    console.print(str(error), highlight=False, markup=False)
                    continue
            measured[line.name] = figures
            for figure, goal in line.goals.items():
                sign = "at least" if figure in AT_LEAST else "at most"
                good = "yes" if reached(figure, figures[figure], goal) else "no"
                value = f"{figures[figure]:.3g}"
                table.add_row(line.name, line.words, figure, f"{sign} {goal:g}", value, good)
            if json_file is not None:
                write_text(json_file, json.dumps(measured, indent=1))
    except KeyboardInterrupt:
        console.print("Interrupted: reporting finished lines.")
    console.print(table)
    return failed


def _main(name: str, folder: str) -> None:
    try:
        print(json.dumps(chosen((name,))[0].measure(Path(folder))))  # noqa: T201
    except CounterfolioError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
