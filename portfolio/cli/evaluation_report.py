"""Evaluation of policies on held-out queries, as console output, table and figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich.table import Table

from encoders.core.errors import InputError
from portfolio.cli.output import Console
from portfolio.cli.selector_report import make_folder, with_alpha
from selector.diagram import Diagram, load_diagram
from selector.diagram_places import PAPER
from selector.learning.evaluate import DATA_SET, LEFT_OUT, TIME, Score, by_diagram, evaluate
from selector.learning.exact import learned_leaf
from selector.learning.examples import Examples
from selector.learning.odt import has_odt
from selector.learning.policies import Policy, literature, missing_runs
from selector.learning.train import Recipe
from selector.logs.summary import PAR_FACTOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = {"total": False, "solver": True}
LEARNED, NAMED, OF_PAPER = "diagram", "given diagram", "paper's diagram"
OF_ODT = "odtlearn's tree"
# Limit per tree, as all hold-out schemes together train dozens. With three layers CBC found no tree
# within two minutes, on 426 queries of training_logs and two busy cores.
ODT_LIMIT_S, ODT_SKELETON = 30.0, "1-2"


@dataclass(frozen=True)
class Judging:
    """Settings of an evaluation.

    Attributes
    ----------
    recipe : Recipe, settings of training.
    alpha : float, minimum saving per split; None to choose it in each fold.
    other : Path, file of a diagram to compare with; or None.
    leave_out : tuple of str, hold-out schemes of :data:`selector.learning.evaluate.LEFT_OUT`.
    field : bool, also evaluate :func:`selector.learning.policies.literature` and trees of
        odtlearn, if it is installed.
    """

    recipe: Recipe
    alpha: float | None
    other: Path | None = None
    leave_out: tuple[str, ...] = (DATA_SET,)
    field: bool = False


def evaluate_and_print(
    data: Examples, judging: Judging, out: Path | None, console: Console
) -> None:
    """Evaluate policies on held-out queries; print the results and write them to a folder."""
    if out is not None:
        make_folder(out)
    policies, others = _policies(data, judging, console), literature() if judging.field else {}
    parts = {"both": np.ones(len(data), dtype=bool)}
    parts |= {name: data.solver == flag for name, flag in METRICS.items()}
    evaluations = [
        (by, name) for by in judging.leave_out for name, rows in parts.items() if rows.any()
    ]
    scores: dict[tuple[str, str], list[Score]] = {}
    for by, name in evaluations:
        scores[by, name] = evaluate(data, policies, by=by, rows=parts[name], others=others)
        title = f"{name}: {scores[by, name][0].rows} queries, {_words(by)}"
        console.print(_table(title, scores[by, name]))
    for line in _notes(data):
        console.print(line, highlight=False, soft_wrap=True)
    if out is not None:
        frame = pd.DataFrame(
            [
                {"metric": name, "left_out": by} | asdict(row)
                for (by, name), rows in scores.items()
                for row in rows
            ]
        )
        frame.to_csv(out / "evaluation.csv", index=False)
        first = judging.leave_out[0]
        figure = _figure({name: rows for (by, name), rows in scores.items() if by == first})
        figure.savefig(out / "evaluation.png", dpi=130, metadata={"Software": None})
        figure.savefig(out / "evaluation.svg", metadata={"Date": None})
        console.print(f"tables and figure: {out}", soft_wrap=True)


def _policies(data: Examples, judging: Judging, console: Console) -> dict[str, Policy]:
    """Return the policies to evaluate; training on the same rows happens only once.

    A given diagram that picks a backend without runs is left out, with a message.
    """

    def fit(train: Examples) -> Diagram:
        """Learn a diagram."""
        return with_alpha(train, judging.recipe, judging.alpha, console).diagram(train)

    def grow(train: Examples) -> Diagram:
        """Learn a tree of at most two layers by odtlearn; a single leaf if it is out of time."""
        recipe = with_alpha(train, judging.recipe, judging.alpha, console)
        brief = replace(
            recipe,
            engine="odtlearn",
            time_limit_s=min(recipe.time_limit_s, ODT_LIMIT_S),
            skeleton=min(recipe.skeleton, ODT_SKELETON),
        )
        try:
            return brief.diagram(train)
        except InputError as error:
            message = f"{OF_ODT} of {len(train)} queries is one leaf: {error}"
            console.print(message, highlight=False, soft_wrap=True)
            return learned_leaf(train.table(recipe.objective, cores=recipe.cores)).diagram

    policies = {LEARNED: by_diagram(_once(fit))}
    if judging.field and has_odt():
        policies[OF_ODT] = by_diagram(_once(grow))
    for name, path in ((OF_PAPER, PAPER), (NAMED, judging.other)):
        if path is None:
            continue
        diagram = load_diagram(path)
        if missing := missing_runs(diagram, data):
            message = f"{name} is not evaluated: the logs have no run of {', '.join(missing)}."
            console.print(message, highlight=False, soft_wrap=True)
        else:
            policies[name] = by_diagram(partial(_fixed, diagram))
    return policies


def _fixed(diagram: Diagram, train: Examples) -> Diagram:
    """Return a fixed diagram instead of learning one."""
    return diagram


def _once(fit: Callable[[Examples], Diagram]) -> Callable[[Examples], Diagram]:
    """Return a function that caches the diagrams learned from the same rows."""
    cache: dict[str, Diagram] = {}

    def cached(train: Examples) -> Diagram:
        if train.digest not in cache:
            cache[train.digest] = fit(train)
        return cache[train.digest]

    return cached


def _words(by: str) -> str:
    if by == TIME:
        return "each tested with diagrams learned from older ones"
    return f"{LEFT_OUT[by]} left out in turn"


def _notes(data: Examples) -> list[str]:
    """Return notes on the runs behind the numbers."""
    runs = data.seconds.size
    open_runs, imputed = int((~np.isfinite(data.seconds)).sum()), int(data.imputed.sum())
    unproved = (
        f"{open_runs} of {runs} runs ended without a proof, so their times are only lower bounds. "
        f'PAR10 counts each as {PAR_FACTOR} time limits, PAR2 as two, "at least" as one.'
    )
    estimates = (
        f" {imputed} of them lost a race, were stopped early or are missing; they count with "
        "estimated times."
    )
    return [unproved + (estimates if imputed else ""), str(data.contention)]


def _table(title: str, scores: Sequence[Score]) -> Table:
    table = Table(
        "policy", "PAR10 s", "95 %", "PAR2 s", "at least s", "core s", "proved", "regret s",
        "worst s", "gap closed", "95 %", "worst set", title=title,
    )  # fmt: skip
    for s in sorted(scores, key=lambda score: score.par10_s):
        low, high = s.par10_interval_s
        table.add_row(
            s.policy,
            f"{s.par10_s:.3f}",
            "" if np.isnan(low) else f"{low:.2f}-{high:.2f}",
            f"{s.par2_s:.3f}",
            f"{s.at_least_s:.3f}",
            f"{s.core_s:.3f}",
            f"{s.proved:.1%}",
            f"{s.regret_s:.3f}",
            f"{s.worst_regret_s:.1f}",
            *_closed(s),
            f"{s.worst_set:.2f}",
        )
    return table


def _closed(score: Score) -> tuple[str, str]:
    if np.isnan(score.closed):
        return "no gap", ""
    low, high = score.closed_interval
    return f"{score.closed:.2f}", "" if np.isnan(low) else f"{low:.2f} to {high:.2f}"


def _figure(scores: Mapping[str, Sequence[Score]]) -> "Figure":
    """Draw mean PAR10 seconds of each policy with intervals, on a logarithmic scale."""
    from matplotlib.figure import Figure  # importing it takes a third of a second

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
