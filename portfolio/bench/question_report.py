"""Run a benchmark of questions with a progress bar, print its table, and write its runs."""

import statistics
from pathlib import Path

from rich.table import Table

from portfolio.bench.benchmark import Benchmark
from portfolio.bench.collected import collected
from portfolio.bench.question_benchmark import (
    QuestionSummary,
    chosen_questions,
    run_questions,
    summarise_questions,
)
from portfolio.cli.output import Console


def run_and_report_questions(
    benchmark: Benchmark, questions: tuple[str, ...], json_file: Path | None, console: Console
) -> int:
    """Run a benchmark of questions, print and optionally write it, and return 0.

    Ctrl-C ends the run; finished runs are reported.
    """
    each = len(chosen_questions(questions))
    runs = collected(
        benchmark,
        each,
        "runs",
        lambda on_run: run_questions(benchmark, questions, on_run),
        json_file,
        console,
    )
    if runs:
        _print(console, summarise_questions(runs))
    return 0


def _print(console: Console, lines: list[QuestionSummary]) -> None:
    table = Table(
        "set", "kind", "question", "n", "median s", "p90 s", "CPU s", "proved", "this / explain"
    )
    for line in lines:
        table.add_row(
            line.dataset,
            line.kind,
            line.question,
            str(line.queries),
            f"{line.median:.4f}",
            f"{line.p90:.4f}",
            f"{line.cpu:.4f}",
            f"{line.proved:.0%}",
            f"{line.ratio:.1f}",
        )
    console.print(table)
    for question in dict.fromkeys(line.question for line in lines):
        ratios = [line.ratio for line in lines if line.question == question]
        console.print(
            f"{question}: {statistics.median(ratios):.1f} times the time of explain "
            "(median over data sets and kinds)"
        )
