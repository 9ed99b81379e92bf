"""What is wrong with records: values out of range, proofs that contradict each other."""

import math

import pandas as pd

from selector.logs.record import PROOFS, REASONS, STATUSES, columns

# Relative; above what separates the proofs of any two backends, each within 1e-6 of the optimum.
AGREEMENT = 2e-6


def check(frame: pd.DataFrame) -> list[str]:
    """What is wrong with records, a sentence each: values out of range, proofs that contradict each
    other.

    Parameters
    ----------
    frame : records as :func:`selector.logs.read` gives them
    """
    wrong = []
    proof = frame["status"].isin(PROOFS)
    ranges = {
        "an unknown status": ~frame["status"].isin(STATUSES),
        "an unknown stop reason": ~frame["stop_reason"].isin(REASONS),
        "negative seconds": (frame[[c for c in columns() if c.endswith("_s")]] < 0).any(axis=1),
        "a lower bound above the upper": (frame["lower"] > frame["upper"] * (1 + AGREEMENT))
        & (frame["status"] != "infeasible"),
        "a proof that was not verified": (frame["status"] == "optimal") & ~frame["verified"],
        "a proof without a reason": proof & (frame["stop_reason"] != "proved"),
        "an answer that contradicts a proof": (frame["mode"] == "second")
        & (frame["stop_reason"] == "error")
        & frame["verified"],
        "no query, forest or data set": (frame[["query", "forest", "dataset"]] == "").any(axis=1),
    }
    for words, bad in ranges.items():
        if bad.any():
            wrong.append(f"{int(bad.sum())} record(s) with {words}, the first of run "
                         f"{frame.loc[bad, 'run'].iloc[0]}")  # fmt: skip
    return wrong + _contradictions(frame)


def _contradictions(frame: pd.DataFrame) -> list[str]:
    proofs = frame[frame["status"].isin(PROOFS)]
    wrong = []
    for query, group in proofs.groupby("query"):
        cost = group["upper"].where(group["status"] == "optimal", math.inf)
        low, high = cost.min(), cost.max()
        if high > low and high - low > AGREEMENT * max(1.0, low):
            told = ", ".join(f"{b} {c:.9g}" for b, c in zip(group["backend"], cost, strict=True))
            wrong.append(f"proofs of query {query} disagree: {told}")
    return wrong
