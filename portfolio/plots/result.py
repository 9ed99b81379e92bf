"""Which picture of a result is drawn."""

from typing import Any

from matplotlib.figure import Figure

from encoders.errors import InputError
from portfolio.change import in_short
from portfolio.plots import bounds, changes


def draw(result: Any, what: str) -> Figure:
    """See :meth:`portfolio.result.Result.plot`."""
    if what == "bounds":
        end = (result.timings.total, result.distance, result.lower_bound)
        return bounds.draw([*result.trace, end])
    if what != "changes":
        raise InputError(f"plot draws 'changes' or 'bounds', not {what!r}.")
    if result.row is None:
        raise InputError("there is no answer to draw; plot('bounds') draws what is known.")
    lines = [
        (f"{told.feature}\n{in_short(told.before)} → {told.reached}", change.cost)
        for told, change in zip(result.told, result.changed, strict=True)
    ]
    proved = result.distance if result.status == "optimal" else result.lower_bound
    return changes.draw(lines, result.distance, proved)
