"""Command ``counterfolio report``."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Annotated

import typer

from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole

LARGEST = 2**28  # size of a record in bytes


def report(
    record: Annotated[Path, typer.Argument(help="Record of an answer: .json or .json.gz.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
) -> None:
    """Write the record of an answer as a self-contained HTML page."""
    from portfolio.proofs.report import report as page_of

    open_file = gzip.open if record.suffix == ".gz" else open
    try:
        with open_file(record, "rb") as file:
            content = json.loads(file.read(LARGEST))
    except (ValueError, EOFError, RecursionError, zlib.error) as error:
        raise InputError(
            f"{record} is not a record: {error}. Write one with explain --record."
        ) from error
    page = page_of(content)
    replace_whole(out, lambda partial: partial.write_text(page, encoding="utf-8"))
