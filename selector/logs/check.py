"""Errors in records: values out of range, proofs that contradict each other."""

import math

import pandas as pd

from selector.logs.record import PROOFS, REASONS, STATUSES, columns
from selector.logs.summary import whole_runs

# Relative; above what separates the proofs of any two backends, each within 1e-6 of the optimum.
AGREEMENT = 2e-6
UNLIMITED = ("reduce", "map")  # no solver was needed


def check(frame: pd.DataFrame) -> list[str]:
    """Return errors in records, such as values out of range and contradictory proofs.

    Parameters
    ----------
    frame : DataFrame
        Records as returned by :func:`selector.logs.files.read`.

    Returns
    -------
    list of str
        One sentence per error; empty if there is none.

    Examples
    --------
    >>> from selector.logs.check import check
    >>> from selector.logs.files import read
    >>> result = explainer.explain(row, strategy="plain-cp", log="logs")
    >>> check(read("logs"))
    []
    """
    wrong = []
    proof = frame["status"].isin(PROOFS)
    ranges = {
        "nothing where something is needed": _lacking(frame),
        "no time limit": (frame["limit_s"] <= 0) & ~frame["backend"].isin(UNLIMITED),
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
    }
    for words, bad in ranges.items():
        if bad.any():
            wrong.append(f"{int(bad.sum())} record(s) with {words}, the first of run "
                         f"{frame.loc[bad, 'run'].iloc[0]}")  # fmt: skip
    return wrong + _contradictions(frame)


def _lacking(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Return where a required name or number is missing."""
    names = frame[["run", "query", "forest", "dataset", "mode", "backend"]]
    numbers = frame[["total_s", "pose_s", "reduce_s", "build_s", "solve_s", "verify_s", "limit_s"]]
    return (names.isna() | (names == "")).any(axis=1) | ~(numbers.abs() < math.inf).all(axis=1)


def _contradictions(frame: pd.DataFrame) -> list[str]:
    proofs = frame[frame["status"].isin(PROOFS)]
    proofs = proofs.assign(cost=proofs["upper"].where(proofs["status"] == "optimal", math.inf))
    ends = proofs.groupby("query")["cost"].agg(["min", "max"])
    ends = ends[ends["max"] > ends["min"]]
    apart = ends["max"] - ends["min"] > AGREEMENT * ends["min"].clip(lower=1.0)
    wrong = []
    for query in ends.index[apart]:
        group = proofs[proofs["query"] == query]
        costs = ", ".join(
            f"{backend} {cost:.9g}"
            for backend, cost in zip(group["backend"], group["cost"], strict=True)
        )
        wrong.append(f"proofs of query {query} disagree: {costs}")
    return wrong + _undercut(frame)


def _undercut(frame: pd.DataFrame) -> list[str]:
    """Return errors of proved optima: a cheaper answer, a higher lower bound, or a gap."""
    last = whole_runs(frame[~frame["mode"].isin(["second"])])
    optima = last[last["status"] == "optimal"].groupby("query")["upper"].min()
    own = last.assign(optimum=last["query"].map(optima)).dropna(subset="optimum")
    slack = AGREEMENT * own["optimum"].clip(lower=1.0)
    cheaper = own["verified"] & (own["upper"] < own["optimum"] - slack)
    above = (own["lower"] > own["optimum"] + slack) & ~own["status"].isin(PROOFS)
    open_ = (own["status"] == "optimal") & (own["lower"] < own["upper"] - slack)
    ways = {
        "an answer that costs less than what is proved": cheaper,
        "a lower bound above what is proved": above,
        "a proof whose bounds do not meet": open_,
    }
    return [
        f"{int(bad.sum())} run(s) with {words}, the first {own.loc[bad, 'run'].iloc[0]}"
        for words, bad in ways.items()
        if bad.any()
    ]
