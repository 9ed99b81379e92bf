"""Descriptors, backends and schedules as users call them."""

import math
from types import MappingProxyType

from selector.backend_facts import title_of
from selector.case import NORM_INF, OWN_NORM, norm_number
from selector.schedule import Schedule, Turn

LABELS = MappingProxyType(
    {
        "numeric": "numeric features",
        "ordinal": "ordinal features",
        "categorical": "categorical features",
        "binary": "binary features",
        "classes": "classes",
        "votes": "hard voting",
        "boosted": "boosting",
        "trees": "trees",
        "max_depth": "depth of the deepest tree",
        "nodes_total": "nodes",
        "nodes_mean": "nodes per tree",
        "nodes_max": "nodes of the largest tree",
        "thresholds_total": "thresholds",
        "thresholds_mean": "thresholds per feature",
        "thresholds_max": "thresholds of one feature at most",
        "norm": "norm",
        "plausible": "plausibility",
        "solver_only": "only solving time counts",
        "left_options": "options left",
        "left_leaves": "leaves left",
        "left_open_trees": "trees left open",
        "left_axes": "features left",
        "left_axis_max": "options of one feature left at most",
        "left_rows": "margin rows",
        "left_slack": "slack of the margin",
        "left_incumbent": "cost of the best answer known",
    }
)
YES_OR_NO = frozenset(("votes", "boosted", "plausible", "solver_only"))


def label(feature: str) -> str:
    """What a descriptor is about; its own name if it has no other."""
    return LABELS.get(feature, feature.replace("_", " "))


def sides(feature: str, threshold: float) -> tuple[str, str]:
    """What tells the two sides of a split apart: ("≤ 680", "> 680"), or ("no", "yes")."""
    if feature in YES_OR_NO and 0 <= threshold < 1:
        return "no", "yes"
    return f"≤ {threshold:g}", f"> {threshold:g}"


def condition(feature: str, threshold: float, value: float) -> str:
    """How a value passed a split: "norm is 1", "no hard voting", "options left: 1210 (more than
    680)".
    """
    above = value > threshold
    if feature in YES_OR_NO and 0 <= threshold < 1:
        return label(feature) if above else _not(feature)
    if feature == "norm":
        return f"norm is {norm(value)}"
    number = "none" if feature == "left_incumbent" and value < 0 else f"{value:g}"
    return f"{label(feature)}: {number} ({'more than' if above else 'at most'} {threshold:g})"


def side_told(feature: str, threshold: float, told: str) -> bool | None:
    """Whether a text that :func:`condition` wrote is about the high side; None if it is about
    something else.
    """
    if feature in YES_OR_NO and 0 <= threshold < 1:
        return {label(feature): True, _not(feature): False}.get(told)
    if feature == "norm":
        begins = "norm is "
        return norm_number(told.removeprefix(begins)) > threshold if begins in told else None
    if not told.startswith(f"{label(feature)}: "):
        return None
    ends = {True: f"(more than {threshold:g})", False: f"(at most {threshold:g})"}
    return next((side for side, end in ends.items() if told.endswith(end)), None)


def norm(value: float) -> str:
    """A norm's descriptor as users write it."""
    if value == NORM_INF:
        return "inf"
    return "of your own" if value == OWN_NORM else f"{value:g}"


def _not(feature: str) -> str:
    return "total time counts" if feature == "solver_only" else f"no {label(feature)}"


def schedule(turns: Schedule) -> str:
    """Such as "search alone for 0.1 s, then search and MILP race"."""
    return ", then ".join(_turn(turn) for turn in turns)


def _turn(turn: Turn) -> str:
    names, seconds = turn
    shown = [title_of(name) for name in names]
    time = "" if math.isinf(seconds) else f" for {seconds:g} s"
    if len(shown) == 1:
        return f"{shown[0]} alone{time}" if time else shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]} race{time}"
