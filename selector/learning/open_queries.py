"""Logged queries with backends whose time is unknown, and time limits that would reveal it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import pandas as pd

from selector.candidates import backend_of
from selector.learning.examples import solver_runs
from selector.logs.record import PROOFS

FACTOR = 1.5  # limit of a run as a multiple of the fastest proof: slower backends cannot be chosen
LEAST_S = 1.0  # shortest limit of a run in seconds
SHARE = 0.1  # largest share of the budget that one query may take before all others had a turn
ALMOST = 0.9  # share of a limit that counts as all of it: a backend's own limit excludes presolve


@dataclass(frozen=True)
class OpenQuery:
    """Logged query, and the runs that the logs contain.

    Attributes
    ----------
    query, forest, row, dataset, norm, scale, constraints, plausible, target, seed : fields of
        :class:`selector.logs.record.LogRecord`.
    threads : largest number of threads of a run.
    seconds : seconds until the last run ended, without runs that were made to compare backends.
    proof_s : seconds of the fastest proof, inf without one.
    upper : proved cost, inf if no answer exists, nan without a proof.
    proved_by : names of the backends that proved it.
    again : those of them whose proofs are to be repeated, as other runs may have been slowed down
        by races or by other workers.
    tried_s : seconds that each other backend ran; inf if it would fail again.
    """

    query: str
    forest: str
    row: str
    dataset: str
    norm: str
    scale: str
    constraints: str
    plausible: bool
    target: str
    seed: int
    threads: int
    seconds: float
    proof_s: float
    upper: float
    proved_by: frozenset[str]
    again: frozenset[str]
    tried_s: Mapping[str, float]

    @property
    def proved(self) -> bool:
        """Return whether a backend proved the query."""
        return math.isfinite(self.proof_s)

    def limit_s(self, most_s: float) -> float:
        """Return the time limit of a run; ``most_s`` bounds it only if no proof is known."""
        return limit_for(self.proof_s) if self.proved else min(self.seconds, most_s)

    def lacking(self, backends: Sequence[str], most_s: float) -> tuple[str, ...]:
        """Return the backends of which a run with this limit would add knowledge.

        If there are any, a proof that was measured in other circumstances is repeated first.
        """
        needed_s = self.proof_s if self.proved else ALMOST * self.limit_s(most_s)
        others = [name for name in backends if name not in self.proved_by]
        unknown = [name for name in others if self.tried_s.get(name, -1.0) < needed_s]
        names = {backend_of(name) for name in backends}
        again = [name for name in sorted(self.again) if backend_of(name) in names]
        return (*again, *unknown) if unknown else ()


def limit_for(proof_s: float) -> float:
    """Return a time limit that suffices to compare a backend with the fastest proof."""
    return max(LEAST_S, FACTOR * proof_s)


def open_queries(frame: pd.DataFrame, replayed: Collection[str] = ()) -> list[OpenQuery]:
    """Return the queries that presolve alone did not prove, the slowest first.

    Runs with a kept model are ignored. ``replayed`` contains the runs that were made to compare
    backends.
    """
    runs = solver_runs(frame)
    runs = runs[runs["mode"] != "session"]
    by_query: dict[str, list[dict[str, Any]]] = {}
    for values in runs.itertuples(index=False, name=None):
        record = dict(zip(runs.columns, values, strict=True))
        by_query.setdefault(record["query"], []).append(record)
    queries = (_open_query(records, replayed) for records in by_query.values())
    return sorted(queries, key=lambda each: (-each.seconds, each.query))


def _open_query(runs: Sequence[Mapping[str, Any]], replayed: Collection[str]) -> OpenQuery:
    first = runs[0]
    proofs = [run for run in runs if run["status"] in PROOFS]
    fastest = min(proofs, key=lambda run: float(run["total_s"]), default=None)
    tried: dict[str, float] = {}
    for run in runs:
        tried[run["backend"]] = max(tried.get(run["backend"], 0.0), _tried_s(run))
    users = [run for run in runs if run["run"] not in replayed] or runs
    same = ("query", "forest", "row", "dataset", "norm", "scale", "constraints", "target")
    return OpenQuery(
        **{name: str(first[name]) for name in same},
        plausible=bool(first["plausible"]),
        seed=int(first["seed"]),
        threads=max(1, *(int(run["threads"]) for run in runs)),
        seconds=max(float(run["queue_s"] + run["total_s"]) for run in users),
        proof_s=math.inf if fastest is None else float(fastest["total_s"]),
        upper=math.nan if fastest is None else float(fastest["upper"]),
        proved_by=frozenset(run["backend"] for run in proofs),
        again=frozenset(run["backend"] for run in proofs)
        - {run["backend"] for run in runs if run["run"] in replayed},
        tried_s=tried,
    )


def _tried_s(run: Mapping[str, Any]) -> float:
    """Return the seconds that a run without proof lasted; inf if a longer one would not help."""
    if run["stop_reason"] in ("time_limit", "interrupted"):
        return float(run["total_s"])
    return math.inf


def longest_s(queries: Iterable[OpenQuery], backends: Sequence[str], budget_s: float) -> float:
    """Return the longest time limit of a run on a query without a known proof.

    A query gets a share of the budget, and more if the runs on all queries leave time for it.
    """
    listed = list(queries)
    proved_s = sum(
        len(query.lacking(backends, 0.0)) * query.limit_s(0.0) for query in listed if query.proved
    )
    runs = sum(len(query.lacking(backends, math.inf)) for query in listed if not query.proved)
    return max(SHARE * budget_s / max(1, len(backends)), (budget_s - proved_s) / max(1, runs))


def most_informative_first(
    queries: Iterable[OpenQuery], backends: Sequence[str], budget_s: float, most_s: float
) -> list[tuple[OpenQuery, tuple[str, ...]]]:
    """Return queries with the backends to run, in the order in which runs teach most per second.

    A limit is a multiple of the fastest proof, so each second of a run teaches about as much on
    slow as on fast queries. Slow queries come first because each run also has a fixed cost. Proved
    and unproved ones alternate: a proof of the latter would save most, but may not be found. Proved
    queries that would take a large share of the budget come last.
    """
    proved: list[tuple[OpenQuery, tuple[str, ...]]] = []
    unproved: list[tuple[OpenQuery, tuple[str, ...]]] = []
    late = []
    for query in sorted(queries, key=lambda each: -each.seconds):
        lacking = query.lacking(backends, most_s)
        cost_s = len(lacking) * query.limit_s(most_s)
        if query.proved and cost_s > SHARE * budget_s:
            late.append((cost_s, query, lacking))
        elif lacking:
            (proved if query.proved else unproved).append((query, lacking))
    alternating = chain.from_iterable(zip_longest(proved, unproved))
    last = sorted(late, key=lambda entry: entry[0])
    return [*(each for each in alternating if each), *((q, names) for _, q, names in last)]
