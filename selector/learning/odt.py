"""Decision trees by odtlearn (FlowOCT, Aghaei et al. 2025), with equal subtrees merged.

odtlearn is licensed under the GPL, so it is optional and runs in a separate process.
"""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from encoders.core.arrays import BoolArray
from encoders.core.errors import InputError, UnavailableBackendError
from selector.learning.exact import Builder, Condition, Learned, Table

START_S = 60.0  # seconds added to the time limit for starting Python and building the model


def has_odt() -> bool:
    """Return whether odtlearn is installed."""
    return importlib.util.find_spec("odtlearn") is not None


def learn_odt(
    table: Table, alpha: float, splits: Sequence[Condition], time_limit_s: float, layers: int
) -> Learned:
    """Learn the tree that assigns as much row weight as possible to the cheapest schedule.

    The weight of a row is the mean cost of schedules minus the smallest one. Each leaf gets the
    schedule that is cheapest for its rows. The lower bound is the sum of the smallest cost of each
    row.
    """
    if not has_odt():
        raise UnavailableBackendError(
            "engine odtlearn is not installed; install it with: "
            "pip install 'counterfolio[odtlearn]'"
        )
    began = time.perf_counter()
    below = np.array([table.values[:, f] <= cut for f, cut in splits]).reshape(len(splits), -1)
    tree = _solved(table, below, alpha, time_limit_s, layers)
    builder = Builder(table, splits, below)
    cost = _grow(builder, table, below, tree, alpha)
    ideal = float(table.cost.min(axis=1).sum())
    return Learned(builder.diagram(), cost, min(ideal, cost), time.perf_counter() - began)


def _solved(
    table: Table, below: BoolArray, alpha: float, time_limit_s: float, layers: int
) -> dict[int, int]:
    """Return the condition of each split node; node n has the children 2 n and 2 n + 1."""
    request = {
        "values": below.T.astype(int).tolist(),
        "labels": table.cost.argmin(axis=1).tolist(),
        "weights": (table.cost.mean(axis=1) - table.cost.min(axis=1)).tolist(),
        "price": alpha,
        "depth": layers,
        "seconds": max(1, int(time_limit_s)),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "selector.learning.odt_process"],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=time_limit_s + START_S,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"odtlearn did not stop {START_S:g} s after its time limit of {time_limit_s:g} s; use "
            "fewer --thresholds."
        ) from error
    answer = done.stdout.rpartition("\n{")[2] if done.returncode == 0 else ""
    if not answer:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise InputError(f"odtlearn found no tree ({reason[0]}); use fewer --thresholds.")
    return {int(node): split for node, split in json.loads("{" + answer).items()}


def _grow(
    builder: Builder, table: Table, below: BoolArray, tree: dict[int, int], alpha: float
) -> float:
    """Build a tree, its root last, and return its cost."""
    places: list[int] = []

    def grown(node: int, rows: BoolArray) -> float:
        if node not in tree:
            places.append(builder.leaf(rows))
            return float(table.cost[rows].sum(axis=0).min())
        split = tree[node]
        # In odtlearn the left child gets the rows for which the condition does not hold.
        cost = grown(2 * node, rows & ~below[split]) + grown(2 * node + 1, rows & below[split])
        low, high = places.pop(), places.pop()
        places.append(builder.split_by(split, low, high))
        return cost + alpha

    return grown(1, np.ones(len(table.cost), dtype=bool))
