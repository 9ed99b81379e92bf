"""Options that several commands share, and what their text means."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from encoders.constraints import Constraint, Decrease, Fixed, Increase, MaxChanges, Range
from encoders.errors import InputError

WIDE = 200
LARGEST_SEED = 2**31 - 1
TRAINABLE = ("forest", "hard-forest", "xgboost")

Dataset = Annotated[Path, typer.Option(help="CSV with header lines names / types / actionability.")]
Train = Annotated[
    str | None, typer.Option(help="Train forest, hard-forest or xgboost on the data set.")
]
Trees = Annotated[int, typer.Option(min=1, help="Trees to train.")]
Depth = Annotated[int, typer.Option(min=1, help="Largest depth to train.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of training and solving.")]
ModelFile = Annotated[
    Path | None, typer.Option(help="Model file: .json, .ubj, .txt, .skops, or a pickle.")
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Load pickles, which can run any code.")
]
Target = Annotated[
    str | None, typer.Option(help="Class to reach; default any other than the current.")
]
Norm = Annotated[str, typer.Option(help="0, 1, 2, any p > 0, or inf.")]
Scale = Annotated[str, typer.Option(help="range, std, mad or none.")]
Features = Annotated[Path | None, typer.Option(help="JSON that overrides features.")]
Fix = Annotated[str, typer.Option(help="Features that must stay: a,b.")]
Grow = Annotated[str, typer.Option("--increase", help="Features that may only grow: a,b.")]
Shrink = Annotated[str, typer.Option("--decrease", help="Features that may only shrink: a,b.")]
Ranges = Annotated[
    list[str] | None, typer.Option("--range", help="Limits of a feature: name=low:high.")
]
AtMost = Annotated[int | None, typer.Option(help="At most so many features change.")]
Margin = Annotated[
    float | None,
    typer.Option(help="Lead over every other class; default what predict decides."),
]
DiagramFile = Annotated[
    Path | None, typer.Option("--diagram", help="Decision diagram for auto; default ours.")
]
LogFolder = Annotated[
    Path | None, typer.Option("--log", help="Folder for a record of each attempt.")
]
BackendName = Annotated[str, typer.Option(help="auto, race, or a backend's name.")]


def names(text: str) -> tuple[str, ...]:
    """Split a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def one_of(first: str, a: object, second: str, b: object) -> None:
    if (a is None) == (b is None):
        raise InputError(f"give exactly one of {first} and {second}.")


def pick(frame: Any, row: int | None, path: Path) -> Any:
    if row is None or not 0 <= row < len(frame):
        raise InputError(f"{path} has the rows 0 to {len(frame) - 1}; there is no row {row}.")
    return frame.iloc[row]


def load_or_train(
    data: Any,
    kind: str | None,
    trees: int,
    depth: int,
    seed: int,
    path: Path | None,
    trust_pickle: bool,
) -> Any:
    from portfolio.model_files import load_model
    from portfolio.training import train

    if path is not None:
        return load_model(path, trust_pickle)
    if kind not in TRAINABLE:
        raise InputError(f"--train {kind}: known are {', '.join(TRAINABLE)}.")
    return train(data, kind, trees, depth, seed)  # type: ignore[arg-type]


def parse_target(text: str | None, classes: tuple[Any, ...]) -> Any:
    """The label that is written like this; unknown text is left to the explainer to refuse."""
    if text is None:
        return None
    return next((label for label in classes if str(label) == text), text)


def constraints(
    fix: str, increase: str, decrease: str, ranges: list[str], max_changes: int | None
) -> list[Constraint]:
    found: list[Constraint] = [
        kind(name.strip())
        for kind, names in ((Fixed, fix), (Increase, increase), (Decrease, decrease))
        for name in names.split(",")
        if name.strip()
    ]
    for part in (part for text in ranges for part in text.split(",") if part.strip()):
        name, _, limits = part.partition("=")
        low, colon, high = limits.partition(":")
        try:
            if not colon:
                raise ValueError
            found.append(Range(name.strip(), float(low or "-inf"), float(high or "inf")))
        except ValueError as error:
            raise InputError(f"--range {part}: expected name=low:high.") from error
    if max_changes is not None:
        found.append(MaxChanges(max_changes))
    return found


def executor(name: str, workers: int | None, threads: int, address: str | None) -> Any:
    """Where batches and protocols are run: a LocalExecutor or a RayExecutor."""
    if name == "ray":
        from portfolio.ray_cluster import RayExecutor

        return RayExecutor(address, workers, threads)
    if name != "local":
        raise InputError(f"--executor {name}: known are local and ray.")
    if address is not None:
        raise InputError("--address is for --executor ray.")
    from portfolio.local import LocalExecutor

    return LocalExecutor(workers or max(1, len(os.sched_getaffinity(0)) // threads))


def wide_console() -> Console:
    """For tables: in a file or a pipe nothing is cut off."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console
