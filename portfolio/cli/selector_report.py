"""Training, promotion and drawing of diagrams, with reports on the console."""

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from encoders.core.errors import InputError
from portfolio.cli.output import Console
from portfolio.engine.logbook import EXPLORED
from portfolio.results.timings import duration
from selector import logs
from selector.descriptors import NAMES
from selector.diagram import Diagram, diagram_of, load_diagram
from selector.diagram_places import SHIPPED, default_place, promote
from selector.drawing import as_dot, as_svg, as_text, flow_of
from selector.learning.contention import CONTENTION, Contention, read_contention
from selector.learning.evaluate import by_diagram, folds_of, held_out
from selector.learning.examples import EXPLORE, Coverage, Examples, covered
from selector.learning.train import Recipe, choose_alpha, compare, in_folds, manifest


def read_examples(
    sources: Sequence[Path], backends: Sequence[str] = (), contention: Contention | None = None
) -> tuple[Examples, Coverage]:
    """Read the queries on which logs compare backends, and what the logs cover."""
    frame = read_logs(sources)
    if wrong := logs.check(frame):
        raise InputError(
            f"the logs have {len(wrong)} invalid record(s), the first: {wrong[0]}. Run "
            "counterfolio logs check to list all, and remove these records."
        )
    data, coverage = covered(frame, backends, contention)
    if not coverage.compared:
        offer = measuring_command(sources)
        raise InputError(f"the logs do not compare any two backends. {coverage} {offer}")
    return data, coverage


def measuring_command(sources: Sequence[Path]) -> str:
    """Return sentences with the command that adds missing runs to logs."""
    if find_spec("portfolio.bench") is None:  # wheels lack it
        return EXPLORE
    logs_options = shlex.join(part for source in sources for part in ("--logs", str(source)))
    return (
        "Run the other backends on the slowest logged queries: counterfolio bench --protocol "
        f"from-logs {logs_options} --dataset FILE --model FILE --out bench, with the model, data "
        "and settings of the command that wrote the logs. Then train on "
        f"{shlex.join(map(str, sources))} bench/logs. To log such runs from now on, use "
        "batch --explore 0.05 or explain(..., explore=0.05)."
    )


def read_for_training(
    sources: Sequence[Path],
    backends: Sequence[str],
    contention: Path | None,
    cores: int,
    console: Console,
) -> Examples:
    """Read examples; print what the logs cover, and how to add runs if they compare little."""
    data, coverage = read_examples(sources, backends, contention_for(sources, contention, cores))
    lines = [str(coverage), *([measuring_command(sources)] if coverage.sparse else [])]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    return data


def read_logs(sources: Sequence[Path]) -> pd.DataFrame:
    """Read the records of files and folders, each run once.

    A folder's explored queries (:data:`portfolio.engine.logbook.EXPLORED`) replace its other runs
    of them, which had other time limits.
    """
    frame = pd.concat([_with_explored(source) for source in sources], ignore_index=True)
    return frame.drop_duplicates("run", keep="first").reset_index(drop=True)


def _with_explored(source: Path) -> pd.DataFrame:
    """Read a source; explored queries of a folder replace the other runs of the same queries."""
    explored = source / EXPLORED
    if not explored.is_dir():
        return logs.read(source)
    parts = [logs.read(explored)]
    if any(source.glob("*.jsonl")) or any(source.glob("*.parquet")):
        frame = logs.read(source)
        parts.append(frame[~frame["query"].isin(parts[0]["query"])])
    return pd.concat(parts, ignore_index=True)


def contention_for(sources: Sequence[Path], path: Path | None, cores: int) -> Contention:
    """Return the slowdown of races: from a file, else from one beside the logs, else a default."""
    beside = [(source if source.is_dir() else source.parent) / CONTENTION for source in sources]
    for file in [path] if path else [each for each in beside if each.is_file()]:
        contention = read_contention(file)
        if contention.cores == cores:
            return contention
        if path:
            raise InputError(
                f"{file} was measured on {contention.cores} cores, not on {cores}. Use another "
                f"file or --cores {contention.cores}."
            )
    return Contention(cores)


def train_and_write(
    data: Examples, recipe: Recipe, alpha: float | None, out: Path, console: Console
) -> tuple[Diagram, Recipe]:
    """Learn a diagram and write it; return it with the recipe."""
    recipe = with_alpha(data, recipe, alpha, console)
    learned = recipe.learn(data)
    diagram = replace(learned.diagram, manifest=manifest(data, recipe, learned))
    _write(out, diagram.to_json())
    gap = max(0.0, learned.cost - learned.lower)
    words = "optimal" if learned.proved else f"at most {gap / learned.cost:.1%} from optimal"
    console.print(as_text(diagram, diagram.manifest["flow"]), highlight=False, soft_wrap=True)
    console.print(
        f"{len(data)} queries, alpha {recipe.alpha:g}, {duration(learned.seconds)}; for these logs "
        f"and splits the diagram is {words}: {out}",
        highlight=False,
        soft_wrap=True,
    )
    folded = in_folds(data)
    if np.unique(folded.groups).size > 1:
        scores = held_out(data, by_diagram(recipe.diagram), folds_of(folded))
        console.print(str(scores), highlight=False, soft_wrap=True)
    return diagram, recipe


def with_alpha(data: Examples, recipe: Recipe, alpha: float | None, console: Console) -> Recipe:
    """Return the recipe with an alpha, chosen by cross-validation if it is None."""
    if alpha is not None:
        return replace(recipe, alpha=alpha)
    with console.status("choosing alpha by cross-validation"):
        return choose_alpha(data, recipe)


def promote_if_better(data: Examples, recipe: Recipe, trained: Diagram, console: Console) -> bool:
    """Make a diagram the default if it is better; return whether it is."""
    verdict = compare(data, recipe.diagram, diagram_of(None))
    console.print(
        f"mean PAR10 on held-out data sets: {verdict.unseen_s:.3f} s (default diagram: "
        f"{verdict.old_unseen_s:.3f} s); on the newest logs: {verdict.newest_s:.3f} s (default "
        f"diagram: {verdict.old_newest_s:.3f} s).",
        highlight=False,
        soft_wrap=True,
    )
    if not verdict.better:
        console.print("The new diagram is not better. The default stays.")
        return False
    place, old = promote(trained.to_json())
    console.print(
        f"The new diagram is better and is now the default: {place}. The old one is {old}.",
        highlight=False,
        soft_wrap=True,
    )
    return True


def draw_to_file(path: Path, out: Path, source: Path | None) -> str:
    """Write a picture or text of a diagram; return a line that names the file."""
    kinds = {".svg": as_svg, ".dot": as_dot, ".txt": as_text}
    if out.suffix not in kinds:
        raise InputError(f"--out {out} has an unknown suffix. Use one of {', '.join(kinds)}.")
    check_writable(out)
    diagram = load_diagram(path)
    flow = flow_of(diagram)
    if source is not None:
        values = read_examples([source])[0].values.tolist()
        flow = diagram.flow([dict(zip(NAMES, row, strict=True)) for row in values])
    _write(out, kinds[out.suffix](diagram, flow))
    return f"drawing: {out}"


def diagram_lines(path: Path | None) -> list[str]:
    """Return lines with the file of a diagram, the diagram, and its training."""
    place = default_place() if path is None else path
    diagram = diagram_of(path)
    kind = "" if path else " (shipped)" if place == SHIPPED else " (promoted)"
    return [
        f"file{kind}: {place}",
        as_text(diagram, flow_of(diagram)),
        *(f"{key}: {value}" for key, value in diagram.manifest.items()),
    ]


def check_writable(path: Path) -> None:
    """Raise InputError if a file cannot be written, before any work is done for it."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder. Give a file name.")
    if not path.parent.is_dir():
        raise InputError(
            f"cannot write {path}: the folder {path.parent} does not exist. Create it first."
        )
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}. Use another path.") from error


def make_folder(path: Path) -> None:
    """Create a folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot create the folder {path}: {error.strerror}. Use another --out."
        ) from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}. Use another path.") from error
