"""Choice of the plot of a result."""

from typing import Any

from matplotlib.figure import Figure

from encoders.errors import InputError
from portfolio.plots import bounds, changes


def draw(result: Any, what: str) -> Figure:
    """Draw a result; see :meth:`portfolio.result.Result.plot`."""
    if what == "bounds":
        end = (result.timings.total, result.distance, result.lower_bound)
        return bounds.draw([*result.trace, end])
    if what != "changes":
        raise InputError(f"unknown plot {what!r}. Use one of 'changes', 'bounds'.")
    if result.row is None:
        raise InputError(
            "plot('changes') needs a counterfactual, and none was found. Use plot('bounds')."
        )
    lines = [
        (f"{shown.feature}\n{shown.origin} → {shown.reached}", change.cost)
        for shown, change in zip(result.told, result.changed, strict=True)
    ]
    proved = result.distance if result.status == "optimal" else result.lower_bound
    return changes.draw(lines, result.distance, proved)
