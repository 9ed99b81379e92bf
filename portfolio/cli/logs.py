"""Command group ``counterfolio logs``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from encoders.core.errors import InputError
from portfolio.cli.output import Console

app = typer.Typer(no_args_is_help=True, help="Manage training logs.")

Source = Annotated[Path, typer.Argument(help="Folder or file of logs.")]


@app.command()
def compact(
    source: Source, out: Annotated[Path | None, typer.Option(help="Parquet file to write.")] = None
) -> None:
    """Write the records of a folder as one Parquet file without duplicate runs."""
    from selector.logs.files import compact as write

    Console().print(f"records: {write(source, out)}", soft_wrap=True, markup=False)


@app.command()
def merge(
    sources: Annotated[list[Path], typer.Argument(help="Folders and files of logs.")],
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
) -> None:
    """Write the records of several sources as one Parquet file without duplicate runs."""
    from selector.logs.files import merge as write

    Console().print(f"{write(sources, out)} records: {out}", soft_wrap=True, markup=False)


@app.command()
def show(source: Source) -> None:
    """Print a summary of the records: data sets, backends and shares proved."""
    from selector.logs.files import read
    from selector.logs.summary import per_backend

    frame = read(source)
    console = Console()
    console.print(
        f"{len(frame)} records of {frame['query'].nunique()} queries on "
        f"{frame['forest'].nunique()} models and {frame['dataset'].nunique()} data sets.",
        highlight=False,
    )
    table = Table("mode", "backend", "records", "proved", "median s", "PAR10 s", "best")
    for line in per_backend(frame):
        table.add_row(
            line.mode,
            line.backend,
            str(line.records),
            f"{line.proved:.0%}",
            f"{line.median_s:.3f}",
            f"{line.par10_s:.2f}",
            f"{line.best:.0%}",
        )
    console.print(table)


@app.command()
def check(source: Source) -> None:
    """Check records for faults and print what can be learned from them.

    Exit code: 1 if there are faults.
    """
    from selector.learning.examples import covered
    from selector.logs.files import check as look
    from selector.logs.files import read

    frame = read(source)
    faults = look(frame)
    for words in faults:
        Console().print(words, soft_wrap=True, highlight=False, markup=False)
    if faults:
        raise typer.Exit(1)
    Console().print(f"{len(frame)} records without faults, all proofs agree.", highlight=False)
    try:
        words = str(covered(frame)[1])
    except InputError as error:
        words = f"Nothing can be learned: {error}"
    Console().print(words, soft_wrap=True, highlight=False, markup=False)


@app.command(name="export-aslib")
def export_aslib(
    source: Source, out: Annotated[Path, typer.Option(help="Folder for the scenario.")]
) -> None:
    """Write an ASlib scenario for other algorithm selection tools."""
    from selector.logs.aslib import export
    from selector.logs.files import read

    Console().print(f"{export(read(source), out)} instances: {out}", soft_wrap=True, markup=False)
