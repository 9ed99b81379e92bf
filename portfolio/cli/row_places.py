"""Parser of ``--rows``: a count (``20``), a slice (``0:20``) or positions (``0-9,15``)."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from encoders.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Rows = Annotated[
    str,
    typer.Option(
        "--rows", help="Rows to use: 20 (the first 20), 0:20, or 0-9,15. Default: all rows."
    ),
]
SHAPE = re.compile(r"\d+(-\d+)?")


@dataclass(frozen=True)
class RowPlaces:
    """Positions of rows, counted from 0."""

    text: str  # as on the command line; "" for all rows
    part: slice | None  # for a count or from:to; None for listed positions
    ranges: tuple[tuple[int, int], ...] = ()  # positions of listed rows, both included

    def of(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Return these rows of a table."""
        last = len(frame) - 1
        beyond = [max(ends[0], last + 1) for ends in self.ranges if ends[1] > last]
        if beyond:
            raise InputError(
                f"--rows {self.text}: row {beyond[0]} does not exist. "
                f"Give positions from 0 to {last}."
            )
        places = dict.fromkeys(at for low, high in self.ranges for at in range(low, high + 1))
        selection = frame.iloc[list(places) if self.part is None else self.part]
        if self.text and not len(selection):
            raise InputError(
                f"--rows {self.text} selects no row. Give positions from 0 to {last}, such as 0:20."
            )
        return selection


def row_places(text: str) -> RowPlaces:
    """Parse the text of ``--rows``."""
    text = text.strip()
    first, colon, last = (part.strip() for part in text.partition(":"))
    parts = [part.replace(" ", "") for part in text.split(",") if part.strip()]
    if not text or (text.isdecimal() and int(text)):
        return RowPlaces(text, slice(0, int(text) if text else None))
    if colon and all(end.isdecimal() or not end for end in (first, last)):
        return RowPlaces(text, slice(int(first or 0), int(last) if last else None))
    listed = ("," in text or "-" in text) and all(map(SHAPE.fullmatch, parts))
    ranges = [tuple(map(int, part.split("-"))) for part in parts] if listed else []
    if not ranges or any(ends[-1] < ends[0] for ends in ranges):
        raise InputError(
            f"--rows {text} cannot be read. Give a count such as 20, from:to such as 0:20, "
            "or positions such as 0-9,15."
        )
    return RowPlaces(text, None, tuple((ends[0], ends[-1]) for ends in ranges))
