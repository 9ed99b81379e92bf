"""What logs say of backends: shares proved, penalised times, who is best."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

PAR = 10
PROOFS = ("optimal", "infeasible")
KEPT = "session"


@dataclass(frozen=True)
class Line:
    """One backend in one mode.

    Attributes
    ----------
    proved : share of its records with a proof
    par10_s : mean time, a run without proof counting ten times its limit
    best : share of the mode's queries on which none was faster
    """

    mode: str
    backend: str
    records: int
    proved: float
    median_s: float
    par10_s: float
    best: float


def solo(frame: pd.DataFrame, metric: str = "total") -> pd.DataFrame:
    """Seconds by query and backend, NaN without a record, inf without a proof.

    Parameters
    ----------
    metric : "total" (solo runs on the reduced problem) or "solver" (sessions: what solving took
        with the model kept)
    """
    rows = frame[(frame["mode"] == ("solo" if metric == "total" else KEPT))]
    rows = rows[rows["backend"] != "reduce"]
    seconds = rows["total_s"] if metric == "total" else rows["solve_s"]
    seconds = seconds.where(rows["status"].isin(PROOFS), np.inf)
    table = rows.assign(seconds=seconds)
    return table.pivot_table(
        index="query", columns="backend", values="seconds", aggfunc="min", dropna=False
    )


def penalised(times: pd.DataFrame, limit_s: float, factor: int = PAR) -> pd.DataFrame:
    """Times with runs without proof counted as ``factor`` times the limit."""
    return times.where(np.isfinite(times) | times.isna(), factor * limit_s)


def per_backend(frame: pd.DataFrame) -> list[Line]:
    """One line per mode and backend."""
    lines = []
    for mode, rows in frame.groupby("mode"):
        proved = rows["status"].isin(PROOFS)
        limit = float(rows["limit_s"].max())
        seconds = rows["total_s"].where(proved, PAR * limit)
        fastest = seconds.groupby(rows["query"]).transform("min")
        for backend, own in rows.groupby("backend"):
            mine = seconds.loc[own.index]
            lines.append(
                Line(
                    mode=str(mode),
                    backend=str(backend),
                    records=len(own),
                    proved=float(proved.loc[own.index].mean()),
                    median_s=float(own["total_s"].median()),
                    par10_s=float(mine.mean()),
                    best=float(((mine <= fastest.loc[own.index]) & proved.loc[own.index]).mean()),
                )
            )
    return lines


@dataclass(frozen=True)
class Baselines:
    """Penalised mean seconds over queries that some backend proved.

    Attributes
    ----------
    virtual_best_s : of each query's fastest backend
    single_best, single_best_s : the backend that is best on average
    wins : queries on which each backend is fastest
    """

    metric: str
    queries: int
    virtual_best_s: float
    single_best: str
    single_best_s: float
    par10_s: dict[str, float]
    wins: dict[str, int]


def baselines(frame: pd.DataFrame, metric: str = "total") -> Baselines:
    """Virtual best and single best solver; backends that stop at a gap count as unproved."""
    times = solo(frame, metric)
    limit = float(
        frame.loc[frame["mode"] == ("solo" if metric == "total" else KEPT), "limit_s"].max()
    )
    settled = times[np.isfinite(times.fillna(np.inf)).any(axis=1)]
    cost = penalised(pd.DataFrame(settled), limit).fillna(PAR * limit)
    means = cost.mean().sort_values()
    return Baselines(
        metric=metric,
        queries=len(cost),
        virtual_best_s=float(cost.min(axis=1).mean()),
        single_best=str(means.index[0]),
        single_best_s=float(means.iloc[0]),
        par10_s={str(k): float(v) for k, v in means.items()},
        wins={str(k): int(v) for k, v in cost.idxmin(axis=1).value_counts().items()},
    )
