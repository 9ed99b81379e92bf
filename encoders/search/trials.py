"""Cost limits below the incumbent, under which a hard search first proves that nothing exists.

The tighter the limit, the more a node is shrunk: proofs below the optimum take a fraction of the
time of a search whose incumbent is not optimal. Each proof raises the lower bound, and a trial that
finds a choice ends the search.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SHARE = 0.5  # of the gap, that the first two trials close
GROWTH = 2.0  # factor between the nodes of trials, at the rate of the last two
LAST = 0.1  # share of the first gap; limits that are nearer to the incumbent are left out
FEW = 32  # nodes; trials with fewer say little about the rate


@dataclass(frozen=True)
class Trial:
    """Limit under which a search found nothing, and its number of nodes."""

    limit: float
    nodes: int


def next_limit(trials: Sequence[Trial], floor: float, upper: float) -> float | None:
    """Return the limit of the next trial, None if the search is to continue without one.

    ``floor`` is the lower bound before the first trial.
    """
    last = trials[-1].limit if trials else floor
    if len(trials) < 2:
        limit = last + SHARE * (upper - last)
    else:
        nodes = [max(trial.nodes, FEW) for trial in trials[-2:]]
        growth = max(nodes[1] / nodes[0], 1.01)
        limit = last + math.log(GROWTH) / math.log(growth) * (last - trials[-2].limit)
    return limit if limit < upper - LAST * (upper - floor) else None
