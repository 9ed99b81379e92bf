"""Tables of runs: medians by group, printed in a terminal or as Markdown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd
from rich.table import Table

from portfolio.cli.output import Console

# Title of each column of a table, and the format of its values.
Columns = Mapping[str, tuple[str, str | Callable[[Any], str]]]


def as_frame(runs: Sequence[Any]) -> pd.DataFrame:
    """Return runs as a table, a row each."""
    return pd.DataFrame([asdict(run) for run in runs])


def medians(frame: pd.DataFrame, by: str, **more: tuple[str, str]) -> pd.DataFrame:
    """Return numbers of queries, seconds and shares proved by data set, kind and a third column.

    ``more`` has a column and an aggregation for each further column of the result.
    """
    groups = frame.groupby(["dataset", "kind", by], sort=False)
    return groups.agg(
        queries=("query", "size"),
        median=("seconds", "median"),
        p90=("seconds", lambda seconds: seconds.quantile(0.9)),
        proved=("proved", "mean"),
        **more,
    ).reset_index()


def of_baseline(frame: pd.DataFrame, keys: list[str], baseline: Any, column: str) -> Any:
    """Return for each row the value of the baseline, a mask, at the same keys; nan without one."""
    values = frame[baseline].set_index(keys)[column]
    return values.reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy()


def print_table(console: Console, frame: pd.DataFrame, columns: Columns) -> None:
    """Print columns of a frame."""
    table = Table(*(title for title, _ in columns.values()))
    forms = [how if callable(how) else partial(_formatted, how) for _, how in columns.values()]
    for row in frame[list(columns)].itertuples(index=False):
        table.add_row(*(form(value) for form, value in zip(forms, row, strict=True)))
    console.print(table)


def _formatted(form: str, value: Any) -> str:
    return "" if value is None else format(value, form)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
