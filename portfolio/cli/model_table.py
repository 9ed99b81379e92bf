"""Command ``counterfolio models``: the models that can be read."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from rich.padding import Padding

from portfolio.cli.output import escape, wide_console

if TYPE_CHECKING:
    from encoders.readers.readable import Library, Readable


def models() -> None:
    """List the models that can be read, with tested versions, and what is exact or refused."""
    from encoders.readers.readable import READABLE

    console = wide_console()
    for each in READABLE:
        console.print(f"[bold]{escape(_heading(each))}[/]")
        for text in _lines(each):
            console.print(Padding(_plain(text), (0, 0, 0, 2), expand=False))


def _heading(entry: "Readable") -> str:
    """Return the library of an entry, with its tested versions and the installed one."""
    library = entry.library
    if not library.oldest:
        return entry.place
    tested = f"tested {library.oldest} to {library.newest}"
    return f"{entry.place} ({tested}, installed {installed_version(library)})"


def _lines(entry: "Readable") -> Iterator[str]:
    yield ", ".join(entry.kinds)
    yield f"read: {entry.words}"
    yield f"exact: {entry.exact}"
    yield f"refused: {entry.refused}"


def installed_version(library: "Library") -> str:
    """Return the installed version, or how to install the library."""
    try:
        return version(library.distribution)
    except PackageNotFoundError:
        return f"no: pip install 'counterfolio[{library.extra}]'"


def _plain(text: str) -> str:
    """Return Markdown without marks of code."""
    return escape(text.replace("`", ""))
