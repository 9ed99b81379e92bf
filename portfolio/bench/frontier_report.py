"""Measure each line of the frontier and print it beside its goal."""

import json
import os
from functools import partial
from pathlib import Path

from rich.table import Table

from encoders.core.cores import usable_cores
from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole
from portfolio.bench.frontier import AT_LEAST, Figures, chosen, reached, run_line
from portfolio.cli.output import Console
from portfolio.data.collection import names


def run_and_report_frontier(
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
    lines = chosen(only)
    table = Table(title=f"load {os.getloadavg()[0]:.2f} on {usable_cores()} cores")
    for title in ("line", "what", "figure", "goal", "measured", "reached"):
        table.add_column(title)
    measured: dict[str, Figures] = {}
    failed = 0
    try:
        for line in lines:
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
                text = json.dumps(measured, indent=1)
                replace_whole(json_file, partial(_write, text))
    except KeyboardInterrupt:
        console.print("Interrupted: reporting finished lines.")
    console.print(table)
    return failed


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
