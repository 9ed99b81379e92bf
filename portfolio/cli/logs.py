"""The command line: ``counterfolio logs``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from encoders.errors import InputError
from portfolio.cli.output import Console

app = typer.Typer(no_args_is_help=True, help="Look after training logs.")

Source = Annotated[Path, typer.Argument(help="Folder or file of logs.")]


@app.command()
def compact(
    source: Source, out: Annotated[Path | None, typer.Option(help="Parquet file.")] = None
) -> None:
    """Write a folder's records as one Parquet file, each run once."""
    from selector.logs.files import compact as write

    Console().print(f"records: {write(source, out)}", soft_wrap=True, markup=False)


@app.command()
def merge(
    sources: Annotated[list[Path], typer.Argument(help="Folders and files of logs.")],
    out: Annotated[Path, typer.Option(help="Parquet file.")],
) -> None:
    """Write the records of several sources as one Parquet file, each run once."""
    from selector.logs.files import merge as write

    Console().print(f"{write(sources, out)} records: {out}", soft_wrap=True, markup=False)


@app.command()
def show(source: Source) -> None:
    """Print what the records are about: sets, kinds, backends, shares proved."""
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
    """Check records for faults (exit code 1 if there are any), and say what they can teach."""
    from selector.learning.coverage import covered
    from selector.logs.files import check as look
    from selector.logs.files import read

    frame = read(source)
    wrong = look(frame)
    for words in wrong:
        Console().print(words, soft_wrap=True, highlight=False, markup=False)
    if wrong:
        raise typer.Exit(1)
    Console().print(f"{len(frame)} records, nothing wrong, all proofs agree.", highlight=False)
    try:
        told = str(covered(frame)[1])
    except InputError as error:
        told = f"Nothing can be learned: {error}"
    Console().print(told, soft_wrap=True, highlight=False, markup=False)


@app.command(name="export-aslib")
def export_aslib(
    source: Source, out: Annotated[Path, typer.Option(help="Folder of the scenario.")]
) -> None:
    """Write an ASlib scenario, for other tools of algorithm selection."""
    from selector.logs.aslib import export
    from selector.logs.files import read

    Console().print(f"{export(read(source), out)} instances: {out}", soft_wrap=True, markup=False)
