"""How far we are: what is to be reached in speed and memory, each line measured by itself.

A line runs in a process of its own, which prints its figures as JSON:
``python -m portfolio.study.frontier LINE FOLDER``.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from encoders.errors import CounterfolioError, InputError
from portfolio.study import frontier_questions as ask
from portfolio.study import frontier_starts as start

Figures = dict[str, float]


@dataclass(frozen=True)
class Line:
    """Something that has to be fast.

    Attributes
    ----------
    name : by which it is asked for
    words : what is measured
    goals : what each figure is to be, at most; shares and rates at least
    measure : given the folder of data sets, what was measured
    dataset : that it needs of the folder, "" for none
    """

    name: str
    words: str
    goals: Mapping[str, float]
    measure: Callable[[Path], Figures]
    dataset: str = ""


AT_LEAST = frozenset(("proved", "rows/s", "speed-up"))  # figures of which more is better


def reached(figure: str, value: float, goal: float) -> bool:
    """Whether a figure is as good as it is to be."""
    return value >= goal if figure in AT_LEAST else value <= goal


def lines() -> list[Line]:
    """All that is measured, what takes least first."""
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
    """The lines of these names, all without any."""
    known = {line.name: line for line in lines()}
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(f"there is no line {missing[0]!r}; there are {', '.join(known)}.")
    return [known[name] for name in names or known]


def run_line(line: Line, folder: Path, limit_s: float) -> Figures:
    """Measure one line in a process of its own."""
    command = [sys.executable, "-m", "portfolio.study.frontier", line.name, str(folder)]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{line.name} was not over after {limit_s:g} s.") from error
    if told.returncode != 0:
        last = (told.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{line.name} failed: {last}")
    figures: Figures = json.loads(told.stdout.splitlines()[-1])
    return figures


def _main(name: str, folder: str) -> None:
    try:
        print(json.dumps(chosen((name,))[0].measure(Path(folder))))  # noqa: T201
    except CounterfolioError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
