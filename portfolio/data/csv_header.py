"""Checks of the first line of a CSV before pandas reads the file."""

import csv
import gzip
from collections import Counter
from pathlib import Path

from encoders.errors import InputError

MOST_COLUMNS, LONGEST_LINE = 10_000, 10_000_000


def check_header(path: Path) -> None:
    """Raise InputError if a table has too many columns, or two columns of the same name.

    Pandas takes minutes to read the former, and renames the latter.
    """
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        line = file.readline(LONGEST_LINE)
    if line.count(b",") >= MOST_COLUMNS or len(line) == LONGEST_LINE:
        raise InputError(
            f"{path} has more than {MOST_COLUMNS} columns in line 1. If the table is transposed, "
            "swap its rows and columns."
        )
    names = Counter(next(csv.reader([line.decode(errors="replace")]), []))
    if twice := [name for name, count in names.items() if name and count > 1]:
        raise InputError(f"{path} has two columns named {twice[0]!r}. Rename one.")
