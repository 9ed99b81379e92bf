"""Coverage of training logs: queries that compare backends, and missing runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoders.backends.registry import all_backends
from selector.learning.contention import Contention
from selector.learning.examples import BRIEF, Examples, examples, solver_runs
from selector.logs.record import PROOFS

EXPLORE = (
    "Run every backend on some queries and train again: explain(..., log=FOLDER, explore=0.05), "
    "counterfolio explain or batch --log FOLDER --explore 0.05, or counterfolio bench --protocol."
)


@dataclass(frozen=True)
class Coverage:
    """Counts of the queries and runs in logs.

    A query that is solved once alone and once with a kept model counts twice, as in
    :class:`selector.learning.examples.Examples`.

    Attributes
    ----------
    presolved : number of queries that presolve alone proved.
    solved : number of queries that a backend proved.
    compared : number of these on which at least two backends can be compared.
    complete : number of runs on solved queries that ended by themselves, by backend.
    interrupted : number of runs on solved queries that were stopped early, by backend.
    """

    presolved: int
    solved: int
    compared: int
    complete: Mapping[str, int]
    interrupted: Mapping[str, int]

    def __str__(self) -> str:
        ranked = {name: count for name, count in self.complete.items() if count}
        missing = [name for name in rankable() if name not in ranked]
        parts = [
            f"These logs compare backends on {self.compared} of {self.solved} solved queries",
            f"complete runs: {_counts(ranked)}",
            f"interrupted runs: {_counts(self.interrupted)}",
            *([f"no complete run of {', '.join(missing)}"] if missing else []),
            f"presolve alone proved {self.presolved} more queries",
        ]
        return "; ".join(parts) + "."


def rankable() -> list[str]:
    """Return the names of the backends that the selector chooses among."""
    return [b.name for b in all_backends() if not b.capability.epsilon]


def covered(
    frame: pd.DataFrame, backends: Sequence[str] = (), contention: Contention | None = None
) -> tuple[Examples, Coverage]:
    """Return the queries on which logs compare backends, and count what the logs hold.

    A backend takes part in a comparison where it ended, or ran at least as long as the fastest
    proof. Other queries show only what the one backend took that happened to run: they are left
    out.
    """
    data = examples(frame, backends, contention)
    fastest = data.seconds.min(axis=1, keepdims=True)
    known = np.isfinite(data.seconds) | (data.least >= fastest) | ~data.imputed
    compared = known.sum(axis=1) >= 2
    return data.of(compared), _counted(frame, int(compared.sum()))


def _counted(frame: pd.DataFrame, compared: int) -> Coverage:
    """Count queries and runs; ``compared`` of the queries compare backends."""
    runs = solver_runs(frame)
    runs = runs[runs["backend"].isin(rankable())]
    runs = runs.assign(kept=runs["mode"] == "session", proof=runs["status"].isin(PROOFS))
    by_query = runs.groupby(["query", "kept"])
    runs = runs.assign(
        solved=by_query["proof"].transform("any"), longest=by_query["limit_s"].transform("max")
    )
    runs = runs[runs["solved"]]
    whole = runs["proof"] | (~runs["censored"] & (runs["limit_s"] >= BRIEF * runs["longest"]))
    others = frame[~frame["query"].isin(runs["query"]) & frame["status"].isin(PROOFS)]
    return Coverage(
        presolved=others["query"].nunique(),
        solved=len(runs[["query", "kept"]].drop_duplicates()),
        compared=compared,
        complete=Counter(runs.loc[whole, "backend"]),
        interrupted=Counter(runs.loc[~whole, "backend"]),
    )


def _counts(runs: Mapping[str, int]) -> str:
    """Write counts by backend, most first."""
    order = sorted(runs.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in order) or "none"
