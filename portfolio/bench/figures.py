"""Plots of training logs, and one page with all of them."""

import html
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from portfolio.bench.anytime import Trace, error_at, traces_of, worst_of
from portfolio.results.printing import counted
from selector.candidates import colour_of
from selector.logs.record import PROOFS
from selector.logs.summary import per_backend

COLOURS = {"reduce": "#F0E442", "auto": "#000000"}  # of entries that are not backends
DASHES = {"solo": "-", "race": "-.", "session": ":", "plain": "--"}
PARTS = ("pose_s", "reduce_s", "build_s", "solve_s", "verify_s")
PART_COLOURS = ("#999999", "#F0E442", "#56B4E9", "#0072B2", "#009E73")
FLOOR_S = 1e-3

Draw = Callable[[pd.DataFrame], Figure | None]


def draw_all(frame: pd.DataFrame, out: str | Path) -> Path:
    """Draw all figures that the logs support as PNG and SVG; return the path of ``index.html``."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    logs = _prepared(frame)
    made = []
    with _looks():
        for name, (draw, title) in FIGURES.items():
            figure = draw(logs)
            if figure is None:
                continue
            figure.savefig(out / f"{name}.png", dpi=130, metadata={"Software": None})
            figure.savefig(out / f"{name}.svg", metadata={"Date": None})
            made.append((name, title))
    page = out / "index.html"
    page.write_text(_page(logs, made), encoding="utf-8")
    return page


def draw_one(frame: pd.DataFrame, name: str, out: Path) -> bool:
    """Draw one figure as SVG; return False, without a file, if the logs lack its data."""
    with _looks(), mpl.rc_context({"svg.fonttype": "none"}):  # text stays text
        figure = FIGURES[name][0](_prepared(frame)) if len(frame) else None
        if figure is not None:
            figure.savefig(out, metadata={"Date": None})
    return figure is not None


def _looks() -> AbstractContextManager[None]:
    """Return plot settings with which equal logs give equal files."""
    return mpl.rc_context({"svg.hashsalt": "counterfolio", "font.size": 9, "axes.grid": True,
                           "grid.alpha": 0.3, "axes.axisbelow": True})  # fmt: skip


def _prepared(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the kind of ensemble, whether a run proved, and seconds with timeouts at the limit.

    Second opinions are removed, because they know the bound that others had to find.
    """
    frame = frame[frame["mode"] != "second"]
    kind = np.where(
        frame["votes"], "hard voting", np.where(frame["boosted"], "XGBoost", "soft voting")
    )
    proved = frame["status"].isin(PROOFS)
    limit = frame.groupby(["mode", "backend"])["limit_s"].transform("max")
    seconds = frame["total_s"].where(proved, np.maximum(limit, frame["total_s"]))
    label = np.where(
        frame["mode"] == "solo", frame["backend"], frame["mode"] + " " + frame["backend"]
    )
    return frame.assign(kind=kind, proved=proved, seconds=seconds, label=label)


def _style(logs: pd.DataFrame, label: str) -> dict[str, Any]:
    first = logs[logs["label"] == label].iloc[0]
    return {
        "color": COLOURS.get(first["backend"]) or colour_of(first["backend"]),
        "linestyle": DASHES.get(first["mode"], "-"),
        "label": label,
    }


def _labels(logs: pd.DataFrame) -> list[str]:
    return sorted(set(logs["label"]) - {"reduce"})


def _answered(logs: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return the runs of a backend, and of presolve where it left nothing to solve."""
    runs = logs[logs["label"] == label]
    if (runs["mode"] == "solo").all():
        runs = pd.concat([runs, logs[logs["label"] == "reduce"]])
    return runs


def _legend(axis: Axes, **style: Any) -> None:
    if axis.get_legend_handles_labels()[0]:
        axis.legend(**style)


def _figure(count: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(3.4 * count + 0.6, 3.0), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _panels(logs: pd.DataFrame, by: str) -> tuple[Figure, list[tuple[Axes, str, pd.DataFrame]]]:
    """Return a figure with a panel, its value and its runs for each value of a column."""
    groups = list(logs.groupby(by))
    figure, axes = _figure(len(groups))
    return figure, [(axis, str(v), runs) for axis, (v, runs) in zip(axes, groups, strict=True)]


def cactus(logs: pd.DataFrame) -> Figure | None:
    """Draw the share of queries proved over time, a panel per kind of ensemble."""
    figure, panels = _panels(logs, "kind")
    for axis, kind, here in panels:
        for label in _labels(here):
            runs = _answered(here, label)
            times = np.sort(runs.loc[runs["proved"], "seconds"].clip(lower=FLOOR_S))
            share = np.arange(1, times.size + 1) / len(runs)
            axis.step(times, share, where="post", **_style(logs, label))
        axis.set(xscale="log", title=kind, xlabel="seconds", ylim=(0, 1.02))
    figure.axes[0].set_ylabel("share of queries proved")
    _legend(figure.axes[-1], fontsize=7, loc="upper left")
    return figure


def anytime(logs: pd.DataFrame) -> Figure | None:
    """Draw the mean normalised error of the best choice over time, as in the paper's appendix."""
    runs = logs[logs["proved"] & (logs["mode"] == "plain") & (logs["status"] == "optimal")]
    if runs.empty:
        runs = logs[logs["proved"] & (logs["status"] == "optimal") & (logs["backend"] != "reduce")]
    curves: dict[str, list[tuple[Trace, float, float]]] = {}
    for _, group in runs.groupby("query"):
        best = group["upper"].min()
        every = traces_of(group, "label", group["pose_s"] + group["reduce_s"])
        traces = {label: trace for label, trace in every if trace[0].size}
        worst = worst_of(traces, best)
        for label, trace in traces.items():
            if worst > best:
                curves.setdefault(label, []).append((trace, best, worst))
    if not curves:
        return None
    last = max(times[-1] for of in curves.values() for (times, _), _, _ in of)
    grid = np.geomspace(FLOOR_S, last + 0.1, 120)
    figure, (axis,) = _figure(1)
    figure.set_size_inches(5, 3.2)
    for label, of in sorted(curves.items()):
        values = [error_at(grid, *curve) for curve in of]
        axis.plot(grid, np.mean(values, axis=0), **_style(logs, label))
    axis.set(xscale="log", xlabel="seconds", ylabel="mean normalised error", ylim=(0, 1.05))
    _legend(axis, fontsize=7)
    return figure


def scaling(logs: pd.DataFrame, column: str, fixed: str) -> Figure | None:
    """Draw median and quartiles of seconds by one size, at the most common other size."""
    most = logs[fixed].mode().iloc[0]
    here = logs[logs[fixed] == most]
    if here[column].nunique() < 2:
        here = logs
    if here[column].nunique() < 2:
        return None
    figure, panels = _panels(here, "kind")
    for axis, kind, rows in panels:
        for label in _labels(rows):
            seconds = pd.DataFrame(_answered(rows, label).groupby(column)["seconds"].describe())
            style = _style(logs, label)
            axis.plot(seconds.index, seconds["50%"], marker=".", **style)
            axis.fill_between(
                seconds.index, seconds["25%"], seconds["75%"], alpha=0.12, color=style["color"]
            )
        axis.set(yscale="log", title=kind, xlabel=column.replace("_", " "))
        if column == "trees":
            axis.set_xscale("log")
    figure.axes[0].set_ylabel("seconds, timeouts at the limit")
    _legend(figure.axes[-1], fontsize=7)
    return figure


def by_norm(logs: pd.DataFrame) -> Figure | None:
    """Draw the distribution of seconds by norm."""
    if logs["norm"].nunique() < 2:
        return None
    figure, panels = _panels(logs, "norm")
    for axis, norm, here in panels:
        labels = _labels(here)
        values = [_answered(here, label)["seconds"].clip(lower=FLOOR_S) for label in labels]
        boxes = axis.boxplot(values, patch_artist=True, showfliers=False, tick_labels=labels)
        for box, label in zip(boxes["boxes"], labels, strict=True):
            box.set_facecolor(_style(logs, label)["color"])
            box.set_alpha(0.6)
        axis.set(yscale="log", title=f"norm {norm}")
        axis.tick_params(axis="x", rotation=60, labelsize=7)
    figure.axes[0].set_ylabel("seconds, timeouts at the limit")
    return figure


def time_parts(logs: pd.DataFrame) -> Figure | None:
    """Draw the mean seconds of each part of a run, by backend."""
    means = logs.groupby("label")[list(PARTS)].mean()
    figure, (axis,) = _figure(1)
    figure.set_size_inches(6, 0.35 * len(means) + 1.2)
    base = np.zeros(len(means))
    for part, colour in zip(PARTS, PART_COLOURS, strict=True):
        axis.barh(means.index, means[part], left=base, color=colour, label=part.removesuffix("_s"))
        base += means[part].to_numpy()
    axis.set_xlabel("mean seconds of a run")
    _legend(axis, fontsize=7, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.15))
    return figure


def remaining_size(logs: pd.DataFrame) -> Figure | None:
    """Draw options and leaves after presolve by those of the model, a dot per query."""
    queries = logs[logs["mode"] == "solo"].drop_duplicates("query")
    if queries.empty:
        return None
    figure, axes = _figure(2)
    for axis, remaining, whole, words in (
        (axes[0], "left_options", "thresholds_total", "options"),
        (axes[1], "left_leaves", "nodes_total", "leaves"),
    ):
        before = queries[whole] if words == "options" else (queries[whole] + queries["trees"]) / 2
        after = queries[remaining].fillna(0)
        for kind, marker in (("soft voting", "o"), ("hard voting", "s"), ("XGBoost", "^")):
            mask = queries["kind"] == kind
            axis.scatter(before[mask], after[mask] + 1, s=9, alpha=0.4, marker=marker, label=kind)
        proved = float((after == 0).mean())
        axis.set(xscale="log", yscale="log", xlabel=f"{words} of the model",
                 ylabel=f"1 + remaining {words}",
                 title=f"none remaining: {proved:.0%}")  # fmt: skip
    _legend(axes[0], fontsize=7)
    return figure


FIGURES: dict[str, tuple[Draw, str]] = {
    "cactus": (cactus, "Queries proved over time"),
    "anytime": (anytime, "Quality of answers over time"),
    "depth": (partial(scaling, column="max_depth", fixed="trees"), "Scaling with depth"),
    "trees": (partial(scaling, column="trees", fixed="max_depth"), "Scaling with trees"),
    "norms": (by_norm, "Time by norm"),
    "parts": (time_parts, "Where the time goes"),
    "left": (remaining_size, "Size after presolve"),
}


def isolation_table(logs: pd.DataFrame) -> pd.DataFrame:
    """Return the share proved and median seconds by data set and use of isolation forests."""
    rows = logs[logs["backend"].isin(["cp", "milp", "reduce"])]
    if rows["plausible"].nunique() < 2:
        return pd.DataFrame()
    groups = rows.groupby(["label", "plausible", "dataset"])
    table = groups.agg(proved=("proved", "mean"), T=("seconds", "median"))
    return pd.DataFrame(table.round(3).unstack("dataset"))


def _page(logs: pd.DataFrame, made: list[tuple[str, str]]) -> str:
    queries, models, datasets = (logs[n].nunique() for n in ("query", "forest", "dataset"))
    lines = pd.DataFrame([vars(line) for line in per_backend(logs)]).round(3)
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>counterfolio logs</title>",
        "<style>body{font:15px sans-serif;max-width:64em;margin:2em auto;padding:0 1em}"
        "img{max-width:100%}table{border-collapse:collapse;font-size:13px}"
        "td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:right}</style>",
        "<h1>Benchmark logs</h1>",
        f"<p>{counted(len(logs), 'record')} of {counted(queries, 'query', 'queries')} on "
        f"{counted(models, 'model')} and {counted(datasets, 'data set')}.</p>",
        "<h2>Backends</h2>",
        lines.to_html(index=False, border=0),
    ]
    for name, title in made:
        words = html.escape(title)
        parts.append(f"<h2>{words}</h2><img src='{name}.svg' alt='{words}'>")
    isolation = isolation_table(logs)
    if len(isolation):
        parts += ["<h2>Isolation forests</h2>", isolation.to_html(border=0)]
    return "\n".join([*parts, "</html>"])
