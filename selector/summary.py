"""What logs say of backends: shares proved, penalised times, who is best."""

from dataclasses import dataclass

import pandas as pd

from selector.logs import PROOFS

PAR = 10


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
