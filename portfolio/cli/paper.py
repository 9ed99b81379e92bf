"""Command ``counterfolio paper``."""

from pathlib import Path
from typing import Annotated

import typer

from portfolio.cli.output import Console


def paper(
    source: Annotated[Path, typer.Argument(help="Folder or file of logs.")],
    out: Annotated[
        Path, typer.Option(help="Markdown file to write; its pictures go to a folder beside it.")
    ] = Path("paper.md"),
) -> None:
    """Write a page that compares the paper's tables, figures and claims with logs."""
    from portfolio.cli.selector_report import check_writable
    from portfolio.study.paper.page import write_page
    from selector.logs.files import read

    check_writable(out)
    write_page(read(source), out)
    Console().print(f"page: {out}", soft_wrap=True)
