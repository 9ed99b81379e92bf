"""Decisions of diagrams as readable text, and paths parsed from such text."""

import math
from collections.abc import Sequence
from types import MappingProxyType

from selector.candidates import title_of
from selector.descriptors import NORM_INF, OWN_NORM, norm_number
from selector.schedule import Node, Schedule, Split, Turn

Edge = tuple[int, int]

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
        "thresholds_max": "most thresholds of a feature",
        "norm": "norm",
        "plausible": "plausibility",
        "solver_only": "only solving time counts",
        "left_options": "options after presolve",
        "left_leaves": "leaves after presolve",
        "left_open_trees": "undecided trees after presolve",
        "left_axes": "features after presolve",
        "left_axis_max": "most options of a feature after presolve",
        "left_rows": "margin rows",
        "left_slack": "slack of the margin",
        "left_incumbent": "cost of the incumbent",
    }
)
YES_OR_NO = frozenset(("votes", "boosted", "plausible", "solver_only"))


def label(feature: str) -> str:
    """Return the readable name of a descriptor, or its identifier without underscores."""
    return LABELS.get(feature, feature.replace("_", " "))


def sides(feature: str, threshold: float) -> tuple[str, str]:
    """Return the labels of both sides of a split: ("≤ 680", "> 680") or ("no", "yes")."""
    if feature in YES_OR_NO and 0 <= threshold < 1:
        return "no", "yes"
    return f"≤ {threshold:g}", f"> {threshold:g}"


def condition(feature: str, threshold: float, value: float) -> str:
    """Return the outcome of a split as text.

    Examples are "norm is 1", "no hard voting" and "trees: 120 (more than 50)".
    :func:`parsed_side` reads these texts.
    """
    above = value > threshold
    if feature in YES_OR_NO and 0 <= threshold < 1:
        return label(feature) if above else _not(feature)
    if feature == "norm":
        return f"norm is {norm(value)}"
    number = "none" if feature == "left_incumbent" and value < 0 else f"{value:g}"
    return f"{label(feature)}: {number} ({'more than' if above else 'at most'} {threshold:g})"


def parsed_side(feature: str, threshold: float, text: str) -> bool | None:
    """Return whether a text of :func:`condition` means the high side; None for any other text."""
    if feature in YES_OR_NO and 0 <= threshold < 1:
        return {label(feature): True, _not(feature): False}.get(text)
    if feature == "norm":
        prefix = "norm is "
        return norm_number(text.removeprefix(prefix)) > threshold if prefix in text else None
    if not text.startswith(f"{label(feature)}: "):
        return None
    ends = {True: f"(more than {threshold:g})", False: f"(at most {threshold:g})"}
    return next((side for side, end in ends.items() if text.endswith(end)), None)


def norm(value: float) -> str:
    """Return the text of a norm's descriptor."""
    if value == NORM_INF:
        return "inf"
    return "custom" if value == OWN_NORM else f"{value:g}"


def _not(feature: str) -> str:
    return "total time counts" if feature == "solver_only" else f"no {label(feature)}"


def schedule(turns: Schedule) -> str:
    """Return a schedule as text, such as "search alone for 0.1 s, then search and MILP race"."""
    return ", then ".join(_turn(turn) for turn in turns)


def _turn(turn: Turn) -> str:
    names, seconds = turn
    shown = [title_of(name) for name in names]
    time = "" if math.isinf(seconds) else f" for {seconds:g} s"
    if len(shown) == 1:
        return f"{shown[0]} alone{time}" if time else shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]} race{time}"


def edges_of(nodes: Sequence[Node], decision: str) -> frozenset[Edge]:
    """Return the edges on the path, as (node, next node); none for an empty decision."""
    edges, at = set[Edge](), 0
    for part in decision.split("; "):
        node = nodes[at]
        if not isinstance(node, Split):
            at, node = 0, nodes[0]  # the next decision starts at the root
        if isinstance(node, Split):
            side = parsed_side(node.feature, node.threshold, part)
            if side is not None:
                following = node.high if side else node.low
                edges.add((at, following))
                at = following
    return frozenset(edges)


def leaves_of(nodes: Sequence[Node], decision: str) -> frozenset[int]:
    """Return the indices of the leaves that decisions reached; none for an empty decision."""
    if not decision:
        return frozenset()
    if not isinstance(nodes[0], Split):
        return frozenset((0,))
    ends = {end for _, end in edges_of(nodes, decision)} | {0}
    return frozenset(end for end in ends if not isinstance(nodes[end], Split))
