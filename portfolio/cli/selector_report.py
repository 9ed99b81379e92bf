"""Learning and judging diagrams, told on a console, in tables and in a figure."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from encoders.errors import InputError
from selector import logs
from selector.case import NAMES
from selector.diagram import Diagram, diagram_of, load_diagram
from selector.diagram_places import PAPER, SHIPPED, default_place, promote
from selector.drawing import as_dot, as_svg, as_text, flow_of
from selector.learning.evaluate import Score, by_diagram, evaluate
from selector.learning.examples import Examples, examples
from selector.learning.train import Recipe, choose_alpha, compare, manifest

METRICS = {"total": False, "solver": True}
LEARNED, NAMED, OF_PAPER = "diagram", "diagram given", "paper's diagram"


def read_examples(sources: Sequence[Path], backends: Sequence[str] = ()) -> Examples:
    """Examples of several folders and files, each run once; of all backends that proved something,
    or of those named.

    Parameters
    ----------
    sources : of logs
    backends : to learn about, empty for all that proved something
    """
    frames = [logs.read(source) for source in sources]
    joined = pd.concat(frames, ignore_index=True).drop_duplicates("run", keep="first")
    return examples(joined, backends)


def trained(
    data: Examples, recipe: Recipe, alpha: float | None, out: Path, console: Console
) -> tuple[Diagram, Recipe]:
    """Learn a diagram and write it.

    Parameters
    ----------
    data : what it learns from
    recipe : how; its own alpha counts for nothing
    alpha : None to choose it by cross-validation
    out : JSON file for the diagram
    console : to print on
    """
    recipe = _settled(data, recipe, alpha, console)
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
    right = _accuracy(data, diagram)
    console.print(f"On {right:.1%} of them it names the fastest backend last.", highlight=False)
    return diagram, recipe


def _settled(data: Examples, recipe: Recipe, alpha: float | None, console: Console) -> Recipe:
    if alpha is not None:
        return replace(recipe, alpha=alpha)
    with console.status("choosing alpha by cross-validation"):
        return choose_alpha(data, recipe)


def _accuracy(data: Examples, diagram: Diagram) -> float:
    best = data.penalised().argmin(axis=1)
    rows = [dict(zip(NAMES, values, strict=True)) for values in data.values.tolist()]
    picked = [diagram.decide(values).leaf.backend for values in rows]
    return float(np.mean([data.backends[k] == p for k, p in zip(best, picked, strict=True)]))


def promoted(data: Examples, recipe: Recipe, made: Diagram, console: Console) -> bool:
    """Put a diagram in the place of the default one if it is better; whether it was.

    Parameters
    ----------
    data : what the diagrams are compared on
    recipe : by which the diagram was made
    made : the diagram
    console : to print on
    """
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


def evaluated(
    data: Examples,
    recipe: Recipe,
    alpha: float | None,
    other: Path | None,
    cores: int,
    out: Path | None,
    console: Console,
) -> None:
    """Print, and write to a folder, how policies do on data sets they have not seen.

    Parameters
    ----------
    data : of at least two data sets
    recipe : how diagrams are learned
    alpha : None to choose it in each fold
    other : diagram to compare with
    cores : that a query has
    out : folder, made if it is not there
    console : to print on
    """
    if out is not None:
        _make_folder(out)
    made: dict[frozenset[str], Diagram] = {}

    def fit(train: Examples) -> Diagram:
        """One diagram serves both metrics: it learns from all rows of the data sets given.

        Parameters
        ----------
        train : what is not left out
        """
        groups = frozenset(train.groups.tolist())
        if groups not in made:
            known = data.of(np.isin(data.groups, sorted(groups)))
            made[groups] = _settled(known, recipe, alpha, console).diagram(known)
        return made[groups]

    policies = {
        LEARNED: by_diagram(fit),
        OF_PAPER: by_diagram(lambda train: load_diagram(PAPER)),
    }
    if other is not None:
        diagram = load_diagram(other)
        policies[NAMED] = by_diagram(lambda train: diagram)
    parts = {"both": np.ones(len(data), dtype=bool)}
    parts |= {name: data.solver == kept for name, kept in METRICS.items()}
    scores = {name: evaluate(data.of(rows), policies, cores) for name, rows in parts.items()
              if rows.any()}  # fmt: skip
    for name, rows in scores.items():
        console.print(_table(name, int(parts[name].sum()), rows))
    if out is not None:
        frame = pd.DataFrame(
            [{"metric": name} | asdict(row) for name, rows in scores.items() for row in rows]
        )
        frame.to_csv(out / "evaluation.csv", index=False)
        figure = _figure(scores)
        figure.savefig(out / "evaluation.png", dpi=130, metadata={"Software": None})
        figure.savefig(out / "evaluation.svg", metadata={"Date": None})
        console.print(f"tables and figure: {out}", soft_wrap=True)


def _table(metric: str, rows: int, scores: Sequence[Score]) -> Table:
    table = Table(
        "policy", "PAR10 s", "95 %", "PAR2 s", "proved", "regret s", "worst s", "gap closed",
        "95 %", title=f"{metric}: {rows} queries",
    )  # fmt: skip
    for s in sorted(scores, key=lambda score: score.par10_s):
        table.add_row(
            s.policy,
            f"{s.par10_s:.3f}",
            f"{s.par10_interval_s[0]:.2f}-{s.par10_interval_s[1]:.2f}",
            f"{s.par2_s:.3f}",
            f"{s.proved:.1%}",
            f"{s.regret_s:.3f}",
            f"{s.worst_regret_s:.1f}",
            *_closed(s),
        )
    return table


def _closed(score: Score) -> tuple[str, str]:
    if np.isnan(score.closed):
        return "no gap", ""
    low, high = score.closed_interval
    return f"{score.closed:.2f}", f"{low:.2f} to {high:.2f}"


def _figure(scores: dict[str, list[Score]]) -> Figure:
    """Mean PAR10 seconds of each policy with its interval, on a logarithmic scale."""
    figure = Figure(figsize=(4.2 * len(scores) + 0.8, 3.6), layout="constrained")
    axes = figure.subplots(1, len(scores), squeeze=False)[0]
    for place, (metric, rows) in zip(axes, scores.items(), strict=True):
        order = sorted(rows, key=lambda score: -score.par10_s)
        names = [score.policy for score in order]
        value = np.array([score.par10_s for score in order])
        low, high = np.array([score.par10_interval_s for score in order]).T
        colours = ["#0072B2" if "diagram" in name else "#999999" for name in names]
        place.barh(names, value, color=colours)
        place.errorbar(
            value, names, xerr=[np.maximum(value - low, 0), np.maximum(high - value, 0)],
            fmt="none", ecolor="black", elinewidth=1, capsize=2,
        )  # fmt: skip
        place.set(xscale="log", xlabel="mean PAR10, s", title=metric)
    return figure


def drawn(path: Path, out: Path, source: Path | None) -> str:
    """Write a picture or text of a diagram; what was written.

    Parameters
    ----------
    path : of the diagram, a JSON file
    out : file, .svg, .dot or .txt
    source : logs whose flow is written beside the nodes, default what the diagram itself tells
    """
    kinds = {".svg": as_svg, ".dot": as_dot, ".txt": as_text}
    if out.suffix not in kinds:
        raise InputError(f"--out {out}: known kinds of file are {', '.join(kinds)}.")
    check_writable(out)
    diagram = load_diagram(path)
    flow = flow_of(diagram)
    if source is not None:
        values = read_examples([source]).values.tolist()
        flow = diagram.flow([dict(zip(NAMES, row, strict=True)) for row in values])
    _write(out, kinds[out.suffix](diagram, flow))
    return f"drawing: {out}"


def shown(path: Path | None) -> list[str]:
    """A diagram, the file that it is from, and how it was made, line by line.

    Parameters
    ----------
    path : of the diagram, None for the default one
    """
    place = default_place() if path is None else path
    diagram = diagram_of(path)
    kind = "" if path else " (shipped)" if place == SHIPPED else " (promoted)"
    return [
        f"file{kind}: {place}",
        as_text(diagram, flow_of(diagram)),
        *(f"{key}: {value}" for key, value in diagram.manifest.items()),
    ]


def check_writable(path: Path) -> None:
    """Refuse a file that can't be written, before work is done for it.

    Parameters
    ----------
    path : of a file, there or not
    """
    if path.is_dir():
        raise InputError(f"can't write {path}: it is a folder.")
    if not path.parent.is_dir():
        raise InputError(f"can't write {path}: there is no folder {path.parent}.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror}.") from error


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"can't write to the folder {path}: {error.strerror}.") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror}.") from error
