"""Whole runs in logs, and summaries by backend: shares proved, times, fastest backends."""

from dataclasses import dataclass

import pandas as pd

from selector.logs.record import PROOFS


def whole_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Merge the records of one backend in one run into one record with their total time.

    A query is encoded again if native verification rejects an answer. Each round leaves a record,
    with the total times of encoding, presolve and verification of all rounds.
    """
    parts = frame["run"].str.rsplit("-", n=1)
    run, number = parts.str[0], parts.str[-1]
    run = run.where(number.str.isdigit().astype(bool), frame["run"])
    own = pd.DataFrame({"run": run, "backend": frame["backend"], "mode": frame["mode"]})
    several = own.duplicated(keep=False)
    if not several.any():
        return frame
    order = pd.to_numeric(number[several], errors="coerce").sort_values(kind="stable").index
    rounds = frame.loc[order]
    keys = ["run", "backend", "mode"]
    group = own.loc[order].groupby(keys, sort=False, dropna=False).ngroup()
    last = rounds[~group.duplicated(keep="last")]
    place = group[last.index]
    shared = last[["pose_s", "reduce_s", "verify_s"]].sum(axis=1)
    own_s = (rounds["total_s"] - group.map(shared.set_axis(place))).clip(lower=0.0)
    summed = rounds[["build_s", "solve_s"]].assign(total_s=own_s).groupby(group).sum().loc[place]
    joined = last.assign(
        build_s=summed["build_s"].to_numpy(),
        solve_s=summed["solve_s"].to_numpy(),
        total_s=shared + summed["total_s"].to_numpy(),
        limit_s=rounds["limit_s"].groupby(group).max().loc[place].to_numpy(),
    )
    return pd.concat([frame[~several], joined]).sort_index()


PAR_FACTOR = 10  # what a run without proof counts, in time limits: PAR10, as in ASlib


@dataclass(frozen=True)
class BackendSummary:
    """Summary of one backend in one mode; times are wall-clock seconds.

    Attributes
    ----------
    mode : mode as in :class:`selector.logs.record.LogRecord`.
    records : number of records.
    proved : share of records with a proof, from 0 to 1.
    median_s : median time of all records, proved or not.
    par10_s : mean time, a run without proof counting ten times its limit.
    best : share of records that were proved at least as fast as by any backend on the same query.
    """

    mode: str
    backend: str
    records: int
    proved: float
    median_s: float
    par10_s: float
    best: float


def per_backend(frame: pd.DataFrame) -> list[BackendSummary]:
    """Return one summary per mode and backend."""
    found = []
    for mode, rows in frame.groupby("mode"):
        proved = rows["status"].isin(PROOFS)
        limit = float(rows["limit_s"].max())
        seconds = rows["total_s"].where(proved, PAR_FACTOR * limit)
        fastest = seconds.groupby(rows["query"]).transform("min")
        for backend, runs in rows.groupby("backend"):
            took, ended = seconds.loc[runs.index], proved.loc[runs.index]
            found.append(
                BackendSummary(
                    mode=str(mode),
                    backend=str(backend),
                    records=len(runs),
                    proved=float(ended.mean()),
                    median_s=float(runs["total_s"].median()),
                    par10_s=float(took.mean()),
                    best=float(((took <= fastest.loc[runs.index]) & ended).mean()),
                )
            )
    return found


@dataclass(frozen=True)
class SecondOpinions:
    """Results of one backend that solved proved queries again."""

    backend: str
    asked: int  # number of proved queries that it solved again
    confirmed: int  # number of these that it proved, too
    contradicted: int  # number of these for which it found a cheaper answer
    median_s: float  # median seconds of those that it confirmed, nan without any


def second_opinions(frame: pd.DataFrame) -> list[SecondOpinions]:
    """Return one summary per backend that solved proved queries again."""
    second, proofs = frame["mode"] == "second", frame["status"].isin(PROOFS)
    known = set(frame.loc[~second & proofs, "query"])
    found = []
    for backend, runs in frame[second & frame["query"].isin(known)].groupby("backend"):
        held = runs["status"].isin(PROOFS)
        found.append(
            SecondOpinions(
                backend=str(backend),
                asked=len(runs),
                confirmed=int(held.sum()),
                contradicted=int((runs["verified"] & (runs["stop_reason"] == "error")).sum()),
                median_s=float(runs.loc[held, "total_s"].median()),
            )
        )
    return found
