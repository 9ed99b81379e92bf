"""Run a batch with a progress bar and print a summary of its answers."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from rich.progress import ProgressColumn, Task
from rich.text import Text

from portfolio.batch.answer_log import LINES, TABLE
from portfolio.cli.output import Console, progress_bar
from portfolio.engine.progress import OnAnswer
from portfolio.results.timings import duration
from selector.logs.record import PROOFS

LINE_S = 30.0


class _Rate(ProgressColumn):
    """Column with the current rate in rows per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.1f} rows/s")


def batch_and_report(
    run: Callable[..., pd.DataFrame], rows: int, out: Path, console: Console
) -> bool:
    """Run a batch, print its summary, and return whether every row was answered."""
    progress = _bar if console.is_terminal else progress_in_lines
    with progress(rows, console) as on_answer:
        frame = run(on_answer=on_answer)
    return _report(frame, out, console)


@contextmanager
def _bar(rows: int, console: Console) -> Iterator[OnAnswer]:
    with progress_bar(console, "explaining", rows, _Rate()) as update:
        yield lambda answered, rows: update(answered, rows, "explaining")


@contextmanager
def progress_in_lines(rows: int, console: Console, every_s: float = LINE_S) -> Iterator[OnAnswer]:
    """Print a progress line at regular intervals, for log files."""
    began, answered, finished = time.monotonic(), [0], threading.Event()

    def print_lines() -> None:
        console.print(f"explaining {rows} rows", highlight=False)
        while not finished.wait(every_s):
            seconds = time.monotonic() - began
            speed = answered[0] / seconds
            rest = f", about {(rows - answered[0]) / speed:.0f} s left" if speed else ""
            console.print(
                f"{answered[0]} of {rows} rows after {seconds:.0f} s, {speed:.1f} rows/s{rest}",
                highlight=False,
                soft_wrap=True,
            )

    def on_answer(now: int, rows: int) -> None:
        answered[0] = now

    printer = threading.Thread(target=print_lines, name="counterfolio-lines", daemon=True)
    printer.start()
    try:
        yield on_answer
    finally:
        finished.set()
        printer.join()


def _report_proofs(why_not: pd.Series, console: Console) -> None:
    """Print how many records have a proof, and why the others do not."""
    none = why_not[why_not != ""]
    console.print(f"{len(why_not) - len(none)} of {len(why_not)} records have a proof.")
    for why, count in none.value_counts().items():
        console.print(f"{count} without a proof: {why}", highlight=False, markup=False)


def _report(frame: pd.DataFrame, out: Path, console: Console) -> bool:
    counts = frame["status"].value_counts()
    words = ", ".join(f"{count} {status}" for status, count in counts.items())
    console.print(f"{len(frame)} rows: {words}.", highlight=False)
    open_rows = frame[frame["stop_reason"].isin(["deadline", "interrupted", "error"])]
    for reason, group in open_rows.groupby("stop_reason"):
        console.print(
            f"{len(group)} stopped by {reason}: {group['message'].iloc[0] or 'not finished'}",
            highlight=False,
            markup=False,
        )
    seconds = frame.loc[frame["status"].isin(PROOFS), "seconds"]
    if len(seconds):
        console.print(
            f"time per proof: median {duration(float(seconds.median()))}, "
            f"90th percentile {duration(float(seconds.quantile(0.9)))}",
            highlight=False,
        )
    if "why_no_proof" in frame:
        _report_proofs(frame["why_no_proof"], console)
    console.print(f"answers: {out / TABLE} (in order of completion: {LINES})", soft_wrap=True)
    return open_rows.empty
