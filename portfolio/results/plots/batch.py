"""Plot of the answers to many rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from portfolio.model.frames import as_pandas
from portfolio.results.plots.ink import (
    COLOURS,
    HATCHES,
    LINES,
    MARKS,
    Picture,
    explain_marks,
    ink,
    name_lines,
)
from portfolio.results.printing import counted
from portfolio.results.segments import PROOFS, change_counts, check_separator

WIDTH, HEIGHT, PER_LINE = 12.0, 1.6, 0.3  # inches
MOST_FEATURES = 12  # number of features drawn, the most frequent ones
NEEDED = ("status", "distance", "changed", "seconds")


@dataclass(frozen=True)
class Part:
    """Rows of a group."""

    name: str  # name of the group, "" for all rows
    rows: int  # number of rows
    distances: FloatArray  # float64 array of the rows with an answer, ascending
    changed: "pd.Series[float]"  # share of these rows whose answer changes a feature, by feature
    proved_s: FloatArray  # float64 array of the seconds of each proof, ascending


def plot_batch(answers: Any, group: Any = None) -> Figure:
    """Plot distances, changed features and seconds to the proof of a batch and its groups.

    Parameters
    ----------
    answers : DataFrame
        Table of :meth:`Explainer.explain_batch`, or read from its ``answers.parquet``.
    group : Series, array or list, optional
        Group of each row; by default all rows are one group.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        If the table lacks columns or rows, if ``group`` has another length, or if there are more
        groups than colours.

    Examples
    --------
    >>> answers = explainer.explain_batch(X, target="granted")
    >>> figure = plot_batch(answers, group=X["sex"])
    """
    parts = parts_of(as_pandas(answers)[0], group)
    shares = pd.concat([part.changed for part in parts], axis=1).fillna(0.0)
    names = [*shares.max(axis=1).sort_values(ascending=False, kind="stable").index[:MOST_FEATURES]]
    lines = max(len(names), 2 * len(parts))
    figure = Picture(figsize=(WIDTH, HEIGHT + PER_LINE * lines), layout="constrained")
    far, which, soon = figure.subplots(1, 3)
    _distances(far, parts)
    _features(which, parts, names)
    _seconds(soon, parts)
    return figure


def parts_of(frame: Any, group: Any = None) -> list[Part]:
    """Return the data to draw, one part for each group, sorted by name."""
    missing = [name for name in NEEDED if name not in getattr(frame, "columns", ())]
    if missing or not len(frame):
        why = f"column {missing[0]!r} is missing" if missing else "it has no rows"
        raise InputError(
            f"can't plot this table: {why}. Pass the table that explain_batch returns."
        )
    check_separator(frame.columns)
    if group is None:
        return [_part("", frame)]
    labels = np.asarray(as_pandas(group)[0], dtype=object).ravel()
    if len(labels) != len(frame):
        raise InputError(
            f"group has {counted(len(labels), 'value')} for {counted(len(frame), 'row')}. Pass one "
            "value per row."
        )
    words = np.array([str(label) for label in labels], dtype=object)
    names = sorted(set(words))
    if len(names) > len(COLOURS):
        raise InputError(
            f"group has {len(names)} different values, but at most {len(COLOURS)} are supported. "
            "Merge some groups."
        )
    return [_part(name, frame[words == name]) for name in names]


def _part(name: str, frame: pd.DataFrame) -> Part:
    status = frame["status"]
    answered = frame[np.isfinite(frame["distance"].astype(float))]
    return Part(
        name,
        len(frame),
        np.sort(answered["distance"].to_numpy(np.float64)),
        change_counts(answered) / max(1, len(answered)),
        np.sort(frame.loc[status.isin(PROOFS), "seconds"].to_numpy(np.float64)),
    )


def _distances(axes: Axes, parts: Sequence[Part]) -> None:
    """Draw a stroke for each answer; below it the middle half as a thick line and the median."""
    for at, part in enumerate(parts):
        if not part.distances.size:
            continue
        colour, distances = COLOURS[at], part.distances
        low, median, high = np.quantile(distances, [0.25, 0.5, 0.75])
        axes.plot(
            distances,
            np.full(distances.size, at - 0.15),
            "|",
            color=colour,
            alpha=0.6,
            markersize=9,
        )
        axes.plot([low, high], [at + 0.15] * 2, color=colour, linewidth=6, solid_capstyle="butt")
        axes.plot(median, at + 0.15, MARKS[at], color=ink(), markersize=6)
    labels = [f"{p.name}\n{p.distances.size} of {counted(p.rows, 'row')}".strip() for p in parts]
    name_lines(axes, labels)
    axes.set_xlim(left=0)
    axes.set_xlabel("distance (mark: median)")
    axes.grid(axis="x", alpha=0.3)


def _features(axes: Axes, parts: Sequence[Part], names: Sequence[str]) -> None:
    thick = 0.8 / len(parts)
    for at, part in enumerate(parts):
        shares = [float(part.changed.get(name, 0.0)) for name in names]
        places = np.arange(len(names)) - 0.4 + thick * (at + 0.5)
        axes.barh(
            places,
            shares,
            thick,
            label=part.name,
            facecolor=COLOURS[at],
            edgecolor=ink(),
            hatch=HATCHES[at],
            linewidth=0.5,
        )
    name_lines(axes, names)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the answers that change it")
    axes.grid(axis="x", alpha=0.3)
    explain_marks(axes)


def _seconds(axes: Axes, parts: Sequence[Part]) -> None:
    """Draw the share of rows proved over time; rows without a proof are missing at the end."""
    for at, part in enumerate(parts):
        share = np.arange(1, part.proved_s.size + 1) / part.rows
        axes.step(
            part.proved_s,
            share,
            where="post",
            color=COLOURS[at],
            linestyle=LINES[at],
            marker=MARKS[at],
            markevery=max(1, part.proved_s.size // 8),
            markersize=4,
            label=part.name,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("seconds to the proof")
    axes.set_ylabel("share of rows")
    axes.grid(alpha=0.3)
    explain_marks(axes)
