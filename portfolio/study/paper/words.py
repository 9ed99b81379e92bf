"""How figures are written on the page."""

import math
from collections.abc import Sequence

import pandas as pd

from portfolio.study.paper.estimates import Estimate
from portfolio.study.paper.rules import NO_LOGS, Finding

NONE = "—"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def finding(found: Finding, own: bool) -> str:
    """A cell of a claim: the verdict, the figure, its interval, how many queries."""
    if found.verdict == NO_LOGS:
        return NONE
    verdict = f"**{found.verdict}**" if own else found.verdict
    return f"{verdict}: {estimate(found.estimate, found.unit)}"


def estimate(found: Estimate, unit: str) -> str:
    """A figure, its interval and how many queries it is of."""
    if not found.count:
        return NONE
    if unit == "share":
        return f"{found.value:.0%} of {found.count} ({found.low:.0%} to {found.high:.0%})"
    return f"x {found.value:.2g} in {found.count} ({found.low:.2g} to {found.high:.2g})"


def seconds(runs: pd.DataFrame) -> str:
    """Median seconds, "> limit" where fewer than half were proved, and a dash without runs."""
    if not len(runs):
        return NONE
    middle = float(runs["seconds"].sort_values().iloc[len(runs) // 2])
    return f"> {runs['limit_s'].max():.0f}" if math.isinf(middle) else f"{middle:.2g}"


def proved(runs: pd.DataFrame) -> str:
    """How many of how many were proved."""
    return f"{int(runs['proved'].sum())} of {len(runs)}" if len(runs) else NONE
