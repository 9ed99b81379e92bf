"""Benchmark of backends on the same queries: medians, proved shares, ratios, agreement."""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

from portfolio.bench.cases import Case, CasePlan, CaseRun, RunLimits
from portfolio.bench.runner import unless_interrupted
from portfolio.bench.tables import Columns, as_frame, medians, of_baseline, print_table
from portfolio.cli.output import Console
from portfolio.results.result import Result
from selector.logs.record import PROOFS

AGREEMENT = 1e-6
WARM_UP_S = 1.0
COLUMNS: Columns = {
    "dataset": ("set", ""),
    "kind": ("kind", ""),
    "backend": ("backend", ""),
    "queries": ("n", "d"),
    "median": ("median s", ".4f"),
    "p90": ("p90 s", ".4f"),
    "proved": ("proved", ".0%"),
    "ratio": ("baseline / this", ".1f"),
    "by_reduction": ("by reduction", ".0%"),
    "options": ("options", "g"),
    "leaves": ("leaves", "g"),
}


@dataclass(frozen=True)
class BackendRun(CaseRun):
    """Run of one backend on one query.

    Attributes
    ----------
    backend : strategy that solved it.
    status : status of the result.
    seconds : wall-clock time; a run that a limit ended counts as at least the time limit.
    distance : distance of the answer, None without one.
    by_reduction : whether presolve alone proved it.
    options, leaves : numbers that remained after presolve.
    """

    backend: str
    status: str
    seconds: float
    distance: float | None
    by_reduction: bool
    options: int
    leaves: int


@dataclass(frozen=True)
class BackendPlan(CasePlan):
    """Solve the same queries with several backends in turn."""

    backends: tuple[str, ...]
    against: str = "plain-cp"
    norm: str = "1"
    limits: RunLimits = field(default_factory=RunLimits)

    @property
    def total(self) -> int:
        """Number of runs."""
        return self.cases.size * len(self.backends)

    def case_runs(self, case: Case) -> Iterator[BackendRun]:
        """See :class:`CasePlan`."""
        explainer, backends = case.explainer(free=True), self.backends
        for query in case.drawn(explainer):
            settings = case.settings(query, self.limits) | {"norm": self.norm}
            if query.number == 0:
                settings["time_limit_s"] = WARM_UP_S
            # Each query starts with another backend, so that no backend is always the first.
            turn = query.number % len(backends)
            for backend in backends[turn:] + backends[:turn]:
                result = explainer.explain(query.x, strategy=backend, **settings)
                unless_interrupted(result)
                if query.number:
                    yield self._run(case.place(query), backend, result)

    def _run(self, place: tuple[str, str, int], backend: str, result: Result) -> BackendRun:
        seconds = result.timings.total
        ended = result.stop_reason not in ("time_limit", "memory_limit", "interrupted")
        return BackendRun(
            *place,
            backend,
            status=result.status,
            seconds=seconds if ended else max(self.limits.time_limit_s, seconds),
            distance=result.distance if math.isfinite(result.distance) else None,
            by_reduction=result.backend == "reduce",
            options=result.remaining[0],
            leaves=result.remaining[1],
        )

    def report(self, runs: list[BackendRun], console: Console) -> int:
        """Print medians and ratios; return 1 if two proofs disagree, else 0."""
        if not runs:
            return 0
        lines = summarise(runs, self.against)
        print_table(console, lines, {**COLUMNS, "ratio": (f"{self.against} / this", _ratio)})
        for backend, group in lines.groupby("backend", sort=False):
            ratios = group["ratio"].dropna()
            if len(ratios) and backend != self.against:
                console.print(
                    f"{backend}: {statistics.geometric_mean(ratios):.1f} times faster than "
                    f"{self.against} (geometric mean of the ratios of medians)"
                )
        disagreeing = disagreements(runs)
        for text in disagreeing:
            console.print(f"[red]Proofs disagree[/red] on {text}", markup=True)
        if not disagreeing:
            console.print(f"All proofs agree ({len(runs)} runs).")
        return int(bool(disagreeing))


def _ratio(ratio: float) -> str:
    return "" if math.isnan(ratio) else f"{ratio:.1f}"


def summarise(runs: list[BackendRun], against: str) -> pd.DataFrame:
    """Return medians and shares by data set, kind and backend; ``ratio`` is to a baseline."""
    frame = as_frame(runs)
    frame["proved"] = frame["status"].isin(PROOFS)
    lines = medians(
        frame,
        "backend",
        by_reduction=("by_reduction", "mean"),
        options=("options", "median"),
        leaves=("leaves", "median"),
    )
    base = of_baseline(lines, ["dataset", "kind"], lines["backend"] == against, "median")
    return lines.assign(ratio=base / lines["median"])


def disagreements(runs: list[BackendRun]) -> list[str]:
    """Return the queries on which two proofs contradict each other; must be empty."""
    proofs: dict[tuple[str, str, int], dict[str, float]] = {}
    for run in runs:
        if run.status in PROOFS:
            distance = math.inf if run.distance is None else run.distance
            proofs.setdefault((run.dataset, run.kind, run.query), {})[run.backend] = distance
    return [
        f"{key}: {distances}"
        for key, distances in proofs.items()
        if _differ(min(distances.values()), max(distances.values()))
    ]


def _differ(least: float, most: float) -> bool:
    return math.isfinite(least) and most - least > AGREEMENT * max(1.0, least)
