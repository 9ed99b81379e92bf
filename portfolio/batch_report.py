"""Run a batch with a progress bar, and say what came of it."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from portfolio.batch_log import LINES, TABLE

PROOFS = ("optimal", "infeasible")


class _Rate(ProgressColumn):
    """Rows per second, of late."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.1f} rows/s")


def batch_and_report(run: Callable[..., pd.DataFrame], out: Path, console: Console) -> bool:
    """Whether every row was answered; ``run`` takes ``on_answer``."""
    columns = (
        TextColumn("explaining"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("explaining", total=None)

        def on_answer(answered: int, rows: int) -> None:
            bar.update(task, completed=answered, total=rows)

        frame = run(on_answer=on_answer)
    return _report(frame, out, console)


def _report(frame: pd.DataFrame, out: Path, console: Console) -> bool:
    counts = frame["status"].value_counts()
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    console.print(f"{len(frame)} rows: {told}.", highlight=False)
    open_rows = frame[frame["stop_reason"].isin(["deadline", "interrupted", "error"])]
    for reason, group in open_rows.groupby("stop_reason"):
        console.print(
            f"{len(group)} stopped by {reason}: {group['message'].iloc[0] or 'cut short'}",
            highlight=False,
            markup=False,
        )
    seconds = frame.loc[frame["status"].isin(PROOFS), "seconds"]
    if len(seconds):
        console.print(
            f"seconds per proof: median {seconds.median():.4f}, p90 {seconds.quantile(0.9):.4f}",
            highlight=False,
        )
    console.print(f"answers: {out / TABLE} (as they came: {LINES})", soft_wrap=True)
    return open_rows.empty
