"""Runs from log records, comparable with the paper's: one per timing, query and backend."""

import numpy as np
import pandas as pd

from portfolio.bench.protocol import PAPER
from portfolio.engine.logbook import REDUCE
from portfolio.engine.question import Question
from selector.logs.record import PROOFS

ANY = "any"  # in claims: any backend
OWN = "search"  # our backend, which ran on all queries; those that presolve proved count as its
KEPT = [
    "query", "row", "dataset", "kind", "norm", "plausible", "rounds", "depth", "ordinal",
    "thresholds_mean", "backend", "proved", "limit_s", "upper", "verified", "status",
    "stop_reason", "trace",
]  # fmt: skip
MODES = {"total": "plain", "solver": "plain", "reduced": "solo"}


def runs_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of all timings, one row each.

    ``timing`` is "total" (published formulation on the whole problem, all seconds), "solver" (the
    same without building the solver's model) or "reduced". ``seconds`` are those until the proof,
    inf without one. ``least_s`` is a lower bound of the seconds to a proof, inf if more time would
    not help. ``before_s`` is to be added to the times of ``trace``. ``rounds`` is the number of
    trees, for boosted models per class.
    """
    records = described(frame)
    parts = []
    for timing, mode in MODES.items():
        part = records[records["mode"] == mode]
        took = part["solve_s"] if timing == "solver" else part["total_s"]
        late = part["stop_reason"] == "time_limit"
        parts.append(
            part[KEPT].assign(
                timing=timing,
                seconds=took.where(part["proved"], np.inf),
                least_s=took.where(part["proved"] | late, np.inf),
                before_s=(
                    -part["build_s"] if timing == "solver" else part["pose_s"] + part["reduce_s"]
                ),
            )
        )
    runs = pd.concat(parts, ignore_index=True)
    runs.loc[runs["backend"] == REDUCE, "backend"] = OWN
    # A repeated run counts once, with the longer limit.
    runs = runs.sort_values(["timing", "query", "backend", "limit_s"], kind="stable")
    return runs.drop_duplicates(["timing", "query", "backend"], keep="last").reset_index(drop=True)


def described(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records within the paper's protocol, with the columns of parts and claims.

    The protocol has no larger models, other norms, or constraints.
    """
    several = frame["boosted"] & (frame["classes"] > 2)
    records = frame.assign(
        kind=np.where(frame["votes"], "hard", np.where(frame["boosted"], "xgb", "soft")),
        proved=frame["status"].isin(PROOFS),
        rounds=frame["trees"] // frame["classes"].where(several, 1),
        depth=frame["max_depth"],
    )
    return records[
        (records["rounds"] <= max(PAPER.trees))
        & (records["depth"] <= max(PAPER.depths))
        & records["norm"].isin(PAPER.norms)
        & (records["constraints"] == Question().digest)
    ]


def side_by_side(runs: pd.DataFrame, backends: tuple[str, ...], column: str) -> pd.DataFrame:
    """Return a table with a row per query that all backends solved and a column per backend."""
    wide = runs.pivot(index="query", columns="backend", values=column)
    return wide.reindex(columns=list(backends)).dropna()
