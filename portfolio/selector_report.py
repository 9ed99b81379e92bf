"""Learning and judging diagrams, told on a console, in tables and in a figure."""

import os
import shutil
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
from selector.diagram import DEFAULT, PAPER, Diagram, diagram_of, load_diagram
from selector.draw import as_dot, as_svg, as_text, flow_of
from selector.evaluate import Score, by_diagram, evaluate
from selector.examples import Examples, examples
from selector.train import Recipe, choose_alpha, compare, manifest
from selector.vector import NAMES

METRICS = {"total": False, "solver": True}
NEW, SHIPPED, OF_PAPER = "diagram", "diagram given", "paper's diagram"


def read_examples(sources: Sequence[Path], backends: Sequence[str] = ()) -> Examples:
    """Examples of several folders and files, each run once; of all backends that proved something,
    or of those named."""
    frames = [logs.read(source) for source in sources]
    joined = pd.concat(frames, ignore_index=True).drop_duplicates("run", keep="first")
    return examples(joined, backends)


def trained(
    held: Examples, recipe: Recipe, alpha: float | None, out: Path, console: Console
) -> tuple[Diagram, Recipe]:
    """Learn a diagram and write it; ``alpha`` None is chosen by cross-validation."""
    recipe = _settled(held, recipe, alpha, console)
    learned = recipe.learn(held)
    diagram = replace(learned.diagram, manifest=manifest(held, recipe, learned))
    _write(out, diagram.to_json())
    gap = max(0.0, learned.cost - learned.lower)
    words = "optimal" if learned.proved else f"at most {gap / learned.cost:.1%} from optimal"
    console.print(as_text(diagram, diagram.manifest["flow"]), highlight=False, soft_wrap=True)
    console.print(
        f"{len(held)} queries, alpha {recipe.alpha:g}, {learned.seconds:.1f} s, "
        f"for these logs and splits {words}: {out}",
        highlight=False,
        soft_wrap=True,
    )
    right = _accuracy(held, diagram)
    console.print(f"On {right:.1%} of them it names the fastest backend last.", highlight=False)
    return diagram, recipe


def _settled(held: Examples, recipe: Recipe, alpha: float | None, console: Console) -> Recipe:
    if alpha is not None:
        return replace(recipe, alpha=alpha)
    with console.status("choosing alpha by cross-validation"):
        return choose_alpha(held, recipe)


def _accuracy(held: Examples, diagram: Diagram) -> float:
    best = held.penalised().argmin(axis=1)
    rows = [dict(zip(NAMES, values, strict=True)) for values in held.values.tolist()]
    picked = [diagram.decide(values).leaf.backend for values in rows]
    return float(np.mean([held.backends[k] == p for k, p in zip(best, picked, strict=True)]))


def promoted(held: Examples, recipe: Recipe, made: Diagram, console: Console) -> bool:
    """Put a diagram in the place of the default one if it is better; whether it was."""
    verdict = compare(held, recipe.diagram, diagram_of(None))
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
    old = DEFAULT.with_name(f"default-{diagram_of(None).manifest.get('logs', 'old')}.json")
    try:
        shutil.copyfile(DEFAULT, old)
        partial = DEFAULT.with_suffix(".partial")
        partial.write_text(made.to_json(), encoding="utf-8")
        os.replace(partial, DEFAULT)
    except OSError as error:
        raise InputError(
            f"can't replace the default diagram {DEFAULT}: {error.strerror}; give the new one to "
            "Explainer(diagram=...) or --diagram instead."
        ) from error
    console.print(f"Better: it is the default now; the old one is {old}.", soft_wrap=True)
    return True


def evaluated(
    held: Examples,
    recipe: Recipe,
    alpha: float | None,
    given: Path | None,
    cores: int,
    out: Path | None,
    console: Console,
) -> None:
    """Print, and write to a folder, how policies do on data sets they have not seen."""
    made: dict[frozenset[str], Diagram] = {}

    def fit(train: Examples) -> Diagram:
        """One diagram serves both metrics: it learns from all rows of the data sets given."""
        groups = frozenset(train.groups.tolist())
        if groups not in made:
            known = held.of(np.isin(held.groups, sorted(groups)))
            made[groups] = _settled(known, recipe, alpha, console).diagram(known)
        return made[groups]

    policies = {
        NEW: by_diagram(fit),
        OF_PAPER: by_diagram(lambda train: load_diagram(PAPER)),
    }
    if given is not None:
        diagram = load_diagram(given)
        policies[SHIPPED] = by_diagram(lambda train: diagram)
    parts = {"both": np.ones(len(held), dtype=bool)}
    parts |= {name: held.solver == kept for name, kept in METRICS.items()}
    scores = {name: evaluate(held.of(rows), policies, cores) for name, rows in parts.items()
              if rows.any()}  # fmt: skip
    for name, own in scores.items():
        console.print(_table(name, int(parts[name].sum()), own))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        frame = pd.DataFrame(
            [{"metric": name} | asdict(score) for name, own in scores.items() for score in own]
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
    for place, (metric, own) in zip(axes, scores.items(), strict=True):
        order = sorted(own, key=lambda score: -score.par10_s)
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
    """Write a picture or text of a diagram; what was written."""
    diagram = load_diagram(path)
    flow = flow_of(diagram)
    if source is not None:
        values = read_examples([source]).values.tolist()
        flow = diagram.flow([dict(zip(NAMES, row, strict=True)) for row in values])
    kinds = {".svg": as_svg, ".dot": as_dot, ".txt": as_text}
    if out.suffix not in kinds:
        raise InputError(f"--out {out}: known kinds of file are {', '.join(kinds)}.")
    _write(out, kinds[out.suffix](diagram, flow))
    return f"drawing: {out}"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't write {path}: {error.strerror}.") from error
