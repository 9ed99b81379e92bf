"""Learning and drawing diagrams, told on a console."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from encoders.errors import InputError
from portfolio.cli.output import Console
from portfolio.logbook import EXPLORED
from selector import logs
from selector.case import NAMES
from selector.diagram import Diagram, diagram_of, load_diagram
from selector.diagram_places import SHIPPED, default_place, promote
from selector.drawing import as_dot, as_svg, as_text, flow_of
from selector.learning.contention import CONTENTION, Contention, read_contention
from selector.learning.coverage import EXPLORE, Coverage, covered
from selector.learning.evaluate import by_diagram, held_out
from selector.learning.examples import Examples
from selector.learning.folds import folds_of
from selector.learning.train import Recipe, choose_alpha, compare, in_folds, manifest


def read_examples(
    sources: Sequence[Path], backends: Sequence[str] = (), contention: Contention | None = None
) -> tuple[Examples, Coverage]:
    """Read the queries on which logs compare backends, and what the logs cover.

    A folder's explored queries (:data:`portfolio.logbook.EXPLORED`) replace its other runs of them,
    which had other time limits.
    """
    frame = pd.concat([_with_explored(source) for source in sources], ignore_index=True)
    frame = frame.drop_duplicates("run", keep="first").reset_index(drop=True)
    if wrong := logs.check(frame):
        raise InputError(
            f"the logs have {len(wrong)} fault(s), so nothing is learned from them: {wrong[0]}. "
            "Run counterfolio logs check for all, and remove those records."
        )
    data, coverage = covered(frame, backends, contention)
    if not coverage.compared:
        raise InputError(f"no backend can be compared with another. {coverage} {EXPLORE}")
    return data, coverage


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


def contention_for(sources: Sequence[Path], given: Path | None, cores: int) -> Contention:
    """What races cost on so many cores: as measured, in a file that is given or lies beside the
    logs; or else a share of the cores.
    """
    beside = [(path if path.is_dir() else path.parent) / CONTENTION for path in sources]
    for path in [given] if given else [path for path in beside if path.is_file()]:
        found = read_contention(path)
        if found.cores == cores:
            return found
        if given:
            raise InputError(f"{path} was measured on {found.cores} cores, not on {cores}.")
    return Contention(cores)


def trained(
    data: Examples, recipe: Recipe, alpha: float | None, out: Path, console: Console
) -> tuple[Diagram, Recipe]:
    """Learn a diagram and write it."""
    recipe = settled(data, recipe, alpha, console)
    learned = recipe.learn(data)
    diagram = replace(learned.diagram, manifest=manifest(data, recipe, learned))
    _write(out, diagram.to_json())
    gap = max(0.0, learned.cost - learned.lower)
    words = "optimal" if learned.proved else f"at most {gap / learned.cost:.1%} from optimal"
    console.print(as_text(diagram, diagram.manifest["flow"]), highlight=False, soft_wrap=True)
    console.print(
        f"{len(data)} queries, alpha {recipe.alpha:g}, {learned.seconds:.1f} s, "
        f"for these logs and splits {words}: {out}",
        highlight=False,
        soft_wrap=True,
    )
    folded = in_folds(data)
    if np.unique(folded.groups).size > 1:
        told = held_out(data, by_diagram(recipe.diagram), folds_of(folded))
        console.print(str(told), highlight=False, soft_wrap=True)
    return diagram, recipe


def settled(data: Examples, recipe: Recipe, alpha: float | None, console: Console) -> Recipe:
    """The recipe with its alpha."""
    if alpha is not None:
        return replace(recipe, alpha=alpha)
    with console.status("choosing alpha by cross-validation"):
        return choose_alpha(data, recipe)


def promoted(data: Examples, recipe: Recipe, made: Diagram, console: Console) -> bool:
    """Put a diagram in the place of the default one if it is better; whether it was."""
    verdict = compare(data, recipe.diagram, diagram_of(None))
    console.print(
        f"mean PAR10 on data sets left out: {verdict.unseen_s:.3f} s, the default "
        f"{verdict.old_unseen_s:.3f} s; on the newest logs: {verdict.newest_s:.3f} s, the default "
        f"{verdict.old_newest_s:.3f} s.",
        highlight=False,
        soft_wrap=True,
    )
    if not verdict.better:
        console.print("Not better: the default stays.")
        return False
    place, old = promote(made.to_json())
    console.print(
        f"Better: it is the default now, in {place}; the old one is {old}.",
        highlight=False,
        soft_wrap=True,
    )
    return True


def drawn(path: Path, out: Path, source: Path | None) -> str:
    """Write a picture or text of a diagram; what was written."""
    kinds = {".svg": as_svg, ".dot": as_dot, ".txt": as_text}
    if out.suffix not in kinds:
        raise InputError(f"--out {out}: known kinds of file are {', '.join(kinds)}.")
    check_writable(out)
    diagram = load_diagram(path)
    flow = flow_of(diagram)
    if source is not None:
        values = read_examples([source])[0].values.tolist()
        flow = diagram.flow([dict(zip(NAMES, row, strict=True)) for row in values])
    _write(out, kinds[out.suffix](diagram, flow))
    return f"drawing: {out}"


def shown(path: Path | None) -> list[str]:
    """A diagram, the file that it is from, and how it was made, line by line."""
    place = default_place() if path is None else path
    diagram = diagram_of(path)
    kind = "" if path else " (shipped)" if place == SHIPPED else " (promoted)"
    return [
        f"file{kind}: {place}",
        as_text(diagram, flow_of(diagram)),
        *(f"{key}: {value}" for key, value in diagram.manifest.items()),
    ]


def check_writable(path: Path) -> None:
    """Refuse a file that can't be written, before work is done for it."""
    if path.is_dir():
        raise InputError(f"can't write {path}: it is a folder.")
    if not path.parent.is_dir():
        raise InputError(f"can't write {path}: there is no folder {path.parent}.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror}.") from error


def make_folder(path: Path) -> None:
    """Make a folder, if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"can't write to the folder {path}: {error.strerror}.") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror}.") from error
