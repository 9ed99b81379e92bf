"""Log records as runs that can be held against the paper's: one per timing, query and backend."""

import numpy as np
import pandas as pd

from portfolio.question import Question
from portfolio.study.protocol import PAPER
from selector.logs.record import PROOFS

ANY = "any"  # in claims: whichever backend answered
REDUCE = "reduce"  # the backend of records where reduction alone proved
OWN = "search"  # of ours, asked about all queries; those that reduction proved count as its own
KEPT = [
    "query", "row", "dataset", "kind", "norm", "plausible", "rounds", "depth", "ordinal",
    "thresholds_mean", "backend", "proved", "limit_s", "upper", "verified", "status",
    "stop_reason", "trace",
]  # fmt: skip
MODES = {"total": "plain", "solver": "plain", "reduced": "solo"}


def runs_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs of all timings, one row each.

    ``timing`` is "total" (the published formulation on the whole problem, all seconds), "solver"
    (the same, without those that building the solver's model takes) or "reduced". ``seconds`` are
    until the proof, inf without one; ``least_s`` is what a run without proof took at least, inf if
    more time would not have helped; ``before_s`` is to be added to the times of ``trace``.
    ``rounds`` are trees, of boosted models per class.
    """
    told = described(frame)
    parts = []
    for timing, mode in MODES.items():
        own = told[told["mode"] == mode]
        took = own["solve_s"] if timing == "solver" else own["total_s"]
        late = own["stop_reason"] == "time_limit"
        parts.append(
            own[KEPT].assign(
                timing=timing,
                seconds=took.where(own["proved"], np.inf),
                least_s=took.where(own["proved"] | late, np.inf),
                before_s=-own["build_s"] if timing == "solver" else own["pose_s"] + own["reduce_s"],
            )
        )
    runs = pd.concat(parts, ignore_index=True)
    runs.loc[runs["backend"] == REDUCE, "backend"] = OWN
    # A run that was made twice counts once, with the longer limit.
    runs = runs.sort_values(["timing", "query", "backend", "limit_s"], kind="stable")
    return runs.drop_duplicates(["timing", "query", "backend"], keep="last").reset_index(drop=True)


def described(frame: pd.DataFrame) -> pd.DataFrame:
    """Records of what the paper asks, with the columns that parts and claims are about.

    Its protocol has no larger models, other norms, or constraints.
    """
    several = frame["boosted"] & (frame["classes"] > 2)
    told = frame.assign(
        kind=np.where(frame["votes"], "hard", np.where(frame["boosted"], "xgb", "soft")),
        proved=frame["status"].isin(PROOFS),
        rounds=frame["trees"] // frame["classes"].where(several, 1),
        depth=frame["max_depth"],
    )
    return told[
        (told["rounds"] <= max(PAPER.trees))
        & (told["depth"] <= max(PAPER.depths))
        & told["norm"].isin(PAPER.norms)
        & (told["constraints"] == Question().digest)
    ]


def side_by_side(runs: pd.DataFrame, backends: tuple[str, ...], column: str) -> pd.DataFrame:
    """One row per query that all backends were asked, one column per backend."""
    wide = runs.pivot(index="query", columns="backend", values=column)
    return wide.reindex(columns=list(backends)).dropna()
