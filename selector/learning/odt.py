"""Trees by odtlearn (FlowOCT, Aghaei et al. 2025), as diagrams whose equal subtrees are one.

odtlearn is under the GPL: it is optional, and runs in a process of its own.
"""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from encoders.arrays import BoolArray
from encoders.errors import InputError, UnavailableBackendError
from selector.learning.exact import Builder, Condition, Learned, Table

START_S = 60.0  # beyond the time limit, for starting Python and building the model


def has_odt() -> bool:
    """Whether odtlearn is installed."""
    return importlib.util.find_spec("odtlearn") is not None


def learn_odt(
    table: Table, alpha: float, splits: Sequence[Condition], time_limit_s: float, layers: int
) -> Learned:
    """A tree that gives as much weight as possible its cheapest schedule.

    A row weighs what a schedule costs more than the cheapest one, on average. Leaves hold what is
    cheapest for their rows. The bound that comes with it is that of the cheapest schedule on every
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
    """The condition of each node that splits; node n has the children 2 n and 2 n + 1."""
    question = {
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
            input=json.dumps(question),
            capture_output=True,
            text=True,
            timeout=time_limit_s + START_S,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError("odtlearn did not stop in time; take fewer --thresholds.") from error
    answer = done.stdout.rpartition("\n{")[2] if done.returncode == 0 else ""
    if not answer:
        words = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise InputError(f"odtlearn found no tree ({words[0]}); take fewer --thresholds.")
    return {int(node): split for node, split in json.loads("{" + answer).items()}


def _grow(
    builder: Builder, table: Table, below: BoolArray, tree: dict[int, int], alpha: float
) -> float:
    """Build a tree, its root last; its cost."""
    places: list[int] = []

    def grown(node: int, rows: BoolArray) -> float:
        if node not in tree:
            places.append(builder.leaf(rows))
            return float(table.cost[rows].sum(axis=0).min())
        split = tree[node]
        # odtlearn's left child is where the condition does not hold.
        cost = grown(2 * node, rows & ~below[split]) + grown(2 * node + 1, rows & below[split])
        low, high = places.pop(), places.pop()
        places.append(builder.split_by(split, low, high))
        return cost + alpha

    return grown(1, np.ones(len(table.cost), dtype=bool))
