"""Draw speed.svg: leaves of forests before and after presolve, and the time of each step.

Run ``python docs/internals/speed_picture.py`` with counterfolio installed; it takes a minute.
"""

import statistics
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer

STEPS = ("pose", "reduce", "build", "solve", "verify")
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73")
ROWS = 20
HERE = Path(__file__).parent


def models():
    """Yield name, forest, table and labels of each example."""
    table, y = load_breast_cancer(return_X_y=True)
    few = table[:, :10]
    yield "10 columns, depth 5", RandomForestClassifier(100, max_depth=5, random_state=0), few, y
    yield "30 columns, depth 5", RandomForestClassifier(100, max_depth=5, random_state=0), table, y
    table, y = make_classification(
        20_000, 8, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0
    )
    yield "8 columns, no limit", RandomForestClassifier(100, random_state=0), table, y


def measured(forest, table, y):
    """Return leaves, leaves after presolve, and milliseconds by step; medians over rows."""
    explainer = Explainer(forest.fit(table, y), table)
    rows = table[np.random.default_rng(0).choice(len(table), ROWS + 1, replace=False)]
    results = [explainer.explain(row, time_limit_s=20) for row in rows]
    results = results[1:]  # the first one warms up
    leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)
    remaining = statistics.median(result.remaining[1] for result in results)
    times = [1000 * statistics.median(getattr(r.timings, step) for r in results) for step in STEPS]
    return leaves, remaining, times


def drawn(names, found):
    """Return the figure."""
    rcParams.update({"svg.hashsalt": "speed", "font.size": 9})
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, (leaves, kept, times) in enumerate(found):
        left.barh(place - 0.2, leaves, 0.35, color="#999999", label="leaves of the forest")
        left.barh(
            place + 0.2, max(kept, 0.8), 0.35, color=COLOURS[0], label="leaves after presolve"
        )
        left.text(leaves * 1.2, place - 0.2, f"{leaves:,}", va="center")
        left.text(max(kept, 0.8) * 1.2, place + 0.2, f"{kept:,.0f}", va="center")
        begin = 0.0
        for step, took, colour in zip(STEPS, times, COLOURS, strict=True):
            right.barh(place, took, 0.6, left=begin, color=colour, label=step)
            begin += took
    for axes, title in ((left, "leaves"), (right, "milliseconds, median by step")):
        axes.set(title=title, yticks=range(len(names)), yticklabels=names)
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        by_label = dict(zip(labels, handles, strict=True))
        axes.legend(by_label.values(), by_label.keys(), frameon=False, fontsize=8)
    left.set_xscale("log")
    left.set_xlim(0.5, 1e8)
    right.set_yticklabels([])
    return figure


if __name__ == "__main__":
    cases = list(models())
    measurements = [measured(*case) for _, *case in cases]
    drawn([name for name, *_ in cases], measurements).savefig(
        HERE / "speed.svg", metadata={"Date": None}
    )
