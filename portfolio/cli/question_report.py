"""Run a benchmark of questions with a progress bar, print its table, keep what is done."""

import json
import os
import statistics
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from encoders.cores import usable_cores
from encoders.whole_files import replace_whole
from portfolio.cli.output import progress_bar
from portfolio.data.collection import names
from portfolio.study.benchmark import Benchmark
from portfolio.study.question_benchmark import (
    QuestionRun,
    QuestionSummary,
    chosen_questions,
    run_questions,
    summarise_questions,
)


def run_and_report_questions(
    benchmark: Benchmark, questions: tuple[str, ...], json_file: Path | None, console: Console
) -> int:
    """Run, print, optionally write JSON; 0.

    Ctrl-C ends the run and reports what is done.

    Parameters
    ----------
    benchmark : to run
    questions : as for :func:`portfolio.study.question_benchmark.run_questions`
    json_file : written even if the run breaks off; None for no file
    console : to print on
    """
    runs: list[QuestionRun] = []
    sets = names(benchmark.folder, benchmark.only)
    asked = chosen_questions(questions)
    total = len(sets) * len(benchmark.kinds) * benchmark.queries * len(asked)
    console.print(
        f"{total} runs: {len(sets)} data sets, kinds {', '.join(benchmark.kinds)}, "
        f"{benchmark.trees} trees of depth {benchmark.depth or 'any'}, "
        f"limit {benchmark.time_limit_s:g} s; load {os.getloadavg()[0]:.2f} on "
        f"{usable_cores()} cores."
    )
    try:
        with progress_bar(console, "running", total) as tell:

            def on_run(run: QuestionRun) -> None:
                runs.append(run)
                tell(len(runs), total, f"{run.dataset} {run.kind} {run.question}")

            run_questions(benchmark, questions, on_run)
    except KeyboardInterrupt:
        console.print("Interrupted: reporting what is done.")
    finally:
        if json_file is not None:
            text = json.dumps({"runs": [asdict(run) for run in runs]}, indent=1)
            replace_whole(json_file, lambda partial: partial.write_text(text, encoding="utf-8"))
    if runs:
        _print(console, summarise_questions(runs))
    return 0


def _print(console: Console, lines: list[QuestionSummary]) -> None:
    table = Table(
        "set", "kind", "question", "n", "median s", "p90 s", "CPU s", "proved", "it / explain"
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
            f"{question}: {statistics.median(ratios):.1f} times one answer "
            "(median over data sets and kinds)"
        )
