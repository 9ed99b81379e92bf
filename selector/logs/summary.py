"""What logs say of backends: shares proved, penalised times, who is best."""

from dataclasses import dataclass

import pandas as pd

from selector.logs.record import PROOFS

PAR_FACTOR = 10  # what a run without proof counts, in time limits: PAR10, as in ASlib


@dataclass(frozen=True)
class BackendSummary:
    """One backend in one mode; times are wall-clock seconds.

    Attributes
    ----------
    mode : as in :class:`selector.logs.record.LogRecord`
    records : how many there are
    proved : share of them with a proof, from 0 to 1
    median_s : of all of them, proved or not
    par10_s : mean time, a run without proof counting ten times its limit
    best : share of them that were proved and than which no backend was faster on the same query
    """

    mode: str
    backend: str
    records: int
    proved: float
    median_s: float
    par10_s: float
    best: float


def per_backend(frame: pd.DataFrame) -> list[BackendSummary]:
    """One summary per mode and backend.

    Parameters
    ----------
    frame : records as :func:`selector.logs.read` gives them
    """
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
