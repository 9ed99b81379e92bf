"""Figures as text on the page."""

import math

import pandas as pd

from portfolio.bench.paper.estimates import Estimate
from portfolio.bench.paper.rules import NO_LOGS, Finding

NONE = "—"


def finding(result: Finding, own: bool) -> str:
    """Return a cell of a claim: verdict, figure, interval and number of queries."""
    if result.verdict == NO_LOGS:
        return NONE
    verdict = f"**{result.verdict}**" if own else result.verdict
    return f"{verdict}: {estimate(result.estimate, result.unit)}"


def estimate(value: Estimate, unit: str) -> str:
    """Return a figure with its interval and number of queries."""
    if not value.count:
        return NONE
    if unit == "share":
        return f"{value.value:.0%} of {value.count} ({value.low:.0%} to {value.high:.0%})"
    return f"x {value.value:.2g} in {value.count} ({value.low:.2g} to {value.high:.2g})"


def seconds(runs: pd.DataFrame) -> str:
    """Return median seconds, "> limit" if fewer than half were proved, a dash without runs."""
    if not len(runs):
        return NONE
    middle = float(runs["seconds"].sort_values().iloc[len(runs) // 2])
    return f"> {runs['limit_s'].max():.0f}" if math.isinf(middle) else f"{middle:.2g}"


def proved(runs: pd.DataFrame) -> str:
    """Return the number of proved runs and of all runs."""
    return f"{int(runs['proved'].sum())} of {len(runs)}" if len(runs) else NONE
