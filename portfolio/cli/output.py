"""Printed output of commands (answers, tables, progress) and their exit codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console as PlainConsole
from rich.console import ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table

from encoders.core.errors import UnavailableBackendError
from encoders.core.visible_text import visible
from portfolio.results.timings import duration

if TYPE_CHECKING:
    from portfolio.results.result import Result

EXIT_CODES = {"optimal": 0, "feasible": 3, "infeasible": 4, "unknown": 5}
BAD_INPUT = 2
INTERRUPTED = 130
WIDE = 200

# (done, total, description of the current step)
BarUpdate = Callable[[int, int | None, str], None]


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Raise UnavailableBackendError with the install command if a package is missing."""
    try:
        yield
    except ImportError as error:
        raise UnavailableBackendError(
            f"the service needs {error.name}, which is not installed. "
            f"Install it: pip install 'counterfolio[{extra}]'."
        ) from error


class Console(PlainConsole):
    """A console on which no printed text controls the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of the output, with control characters escaped."""
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or text.isprintable():
                yield segment
            else:
                yield Segment(visible(text), segment.style)


def wide_console() -> Console:
    """Return a console for tables, which does not truncate lines in files and pipes."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console


@contextmanager
def progress_bar(
    console: Console, words: str, total: int | None = None, *more: ProgressColumn
) -> Iterator[BarUpdate]:
    """Show a progress bar that disappears when the block ends."""
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*shown, *more, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda done, total, words: bar.update(
            task, completed=done, total=total, description=words
        )


def escape(text: str) -> str:
    """Return a text with markup and control characters escaped."""
    from rich.markup import escape as escaped

    return escaped(visible(text))


def print_error(words: str) -> None:
    """Print one sentence to standard error."""
    console = Console(stderr=True, emoji=False)
    console.print(f"[red]Error:[/red] {escape(words)}", soft_wrap=True)


def print_warning(words: str) -> None:
    """Print one sentence, which does not end the command, to standard error."""
    console = Console(stderr=True, emoji=False)
    console.print(f"[yellow]Warning:[/yellow] {escape(words)}", soft_wrap=True)


def print_result(console: Console, result: Result) -> None:
    """Print the headline, a table of the changes, the backend and the times."""
    from portfolio.results.change import in_short

    console.print(escape(result.headline), highlight=False)
    if not result.changed:
        return
    table = Table("feature", "from", "to", "cost")
    for change, short in zip(result.changed, result.told, strict=True):
        before, after = escape(in_short(change.before)), escape(short.reached)
        table.add_row(escape(change.feature), before, after, f"{change.cost:.4g}")
    console.print(table)
    if result.in_fewer_digits:
        console.print(escape(result.in_fewer_digits), highlight=False)
    total, solve = duration(result.timings.total), duration(result.timings.solve)
    console.print(
        f"verified by the model's predict; backend {result.backend}, {total} (solver {solve})",
        style="dim",
        highlight=False,
    )
