"""The command line: ``counterfolio report``."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Annotated

import typer

from encoders.errors import InputError
from encoders.whole_files import replace_whole

LARGEST = 2**28  # bytes of a record


def report(
    record: Annotated[Path, typer.Argument(help="Record of an answer, .json or .json.gz.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
) -> None:
    """A record as a page that people read and print; it opens without a network."""
    from portfolio.proofs.report import report as page_of

    opened = gzip.open if record.suffix == ".gz" else open
    try:
        with opened(record, "rb") as file:
            content = json.loads(file.read(LARGEST))
    except (ValueError, EOFError, RecursionError, zlib.error) as error:
        raise InputError(f"{record} is no record: {error}.") from error
    page = page_of(content)
    replace_whole(out, lambda partial: partial.write_text(page, encoding="utf-8"))
