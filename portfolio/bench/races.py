"""Benchmark of races: the same queries solved by each backend alone and by several at once."""

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from encoders.core import system
from encoders.core.cores import usable_cores
from portfolio.api.explainer import Explainer
from portfolio.bench.cases import Case, CasePlan, Cases, RunLimits
from portfolio.bench.runner import unless_interrupted
from portfolio.cli.output import Console
from portfolio.data.collection import DrawnQuery
from selector.candidates import HEAD_STARTER
from selector.learning.contention import CONTENTION, RacedQuery, contention_of, write_contention
from selector.logs.record import PROOFS

LARGE = Cases(kinds=("soft", "xgb"), trees=200, depth=7, queries=2)
Way = tuple[tuple[str, ...], int]  # backends that race, and threads for all of them


@dataclass(frozen=True)
class QueryRaces:
    """Races of one query.

    Attributes
    ----------
    dataset, kind : data set and kind of the model.
    races : seconds of each race and of its fastest racer; empty if presolve proves the query.
    """

    dataset: str
    kind: str
    races: tuple[RacedQuery, ...]


@dataclass(frozen=True)
class RacePlan(CasePlan):
    """Solve queries with each backend alone and in each race, alternately.

    Attributes
    ----------
    out : folder for the file that training and evaluation of the selector read.
    races : backends of each race.
    rounds : number of runs of each way, of which the median counts.
    limits : time limit of each run; the head starter also runs alone on so many threads.
    """

    unit = "queries"

    out: Path
    races: tuple[tuple[str, ...], ...] = (
        ("search", "cp"), ("search", "milp"), ("cp", "milp"), ("search", "cp", "milp", "maxsat"),
    )  # fmt: skip
    rounds: int = 2
    limits: RunLimits = field(default_factory=lambda: RunLimits(time_limit_s=5.0))
    load: float = field(default_factory=system.load)

    @property
    def ways(self) -> list[Way]:
        """Ways to solve a query: each backend alone, the head starter on threads, and the races."""
        backends = list(dict.fromkeys(chain.from_iterable(self.races)))
        alone = [((name,), 1) for name in backends]
        threads = self.limits.threads or usable_cores()
        teams = [((HEAD_STARTER,), threads)] if HEAD_STARTER in backends else []
        return list(dict.fromkeys([*alone, *teams, *((race, len(race)) for race in self.races)]))

    def case_runs(self, case: Case) -> Iterator[QueryRaces]:
        """See :class:`CasePlan`."""
        explainer = case.explainer(free=True)
        for query in case.drawn(explainer):
            races = self._raced(case, explainer, query, self.rounds if query.number else 1)
            if query.number:
                yield QueryRaces(case.dataset.name, case.kind, tuple(races))

    def _raced(
        self, case: Case, explainer: Explainer, query: DrawnQuery, rounds: int
    ) -> list[RacedQuery]:
        """Return the seconds of each race and of its fastest racer; none if presolve proves."""
        took: dict[Way, list[float]] = {way: [] for way in self.ways}
        for turn in range(rounds):
            for way in self.ways if turn % 2 == 0 else reversed(self.ways):
                seconds = self._seconds(case, explainer, query, way)
                if seconds is None:
                    return []
                took[way].append(seconds)
        median = {way: statistics.median(seconds) for way, seconds in took.items()}
        proved = {way: seconds for way, seconds in median.items() if seconds != float("inf")}
        name, races = f"{case.dataset.name} {case.kind} {query.row}", []
        for way in self.ways:
            racers, threads = way
            alone = [proved[(racer,), 1] for racer in racers if ((racer,), 1) in proved]
            if threads > 1 and way in proved and alone:
                races.append(RacedQuery(name, len(racers), min(alone), proved[way]))
        return races

    def _seconds(
        self, case: Case, explainer: Explainer, query: DrawnQuery, way: Way
    ) -> float | None:
        """Return the seconds until the proof; inf without one, None if presolve proves."""
        racers, threads = way
        result = explainer.explain(
            query.x,
            strategy=racers[0] if len(racers) == 1 else list(racers),
            **case.settings(query, replace(self.limits, threads=threads)),
        )
        if unless_interrupted(result).backend == "reduce":
            return None
        return result.timings.total if result.status in PROOFS else float("inf")

    def report(self, runs: list[QueryRaces], console: Console) -> int:
        """Print the cost of races and write the file for the selector; return 0."""
        raced = [race for run in runs for race in run.races]
        load = (round(self.load, 2), round(system.load(), 2))
        contention = contention_of(raced, usable_cores(), load)
        settings = asdict(self.cases) | vars(self.limits)
        settings |= {"races": self.races, "rounds": self.rounds}
        settings["folder"] = "bundled" if self.cases.folder is None else self.cases.folder.name
        time = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = {"made": time, "queries": len(runs)} | settings
        self.out.mkdir(parents=True, exist_ok=True)
        write_contention(contention, raced, manifest, self.out / CONTENTION)
        console.print(str(contention), highlight=False, soft_wrap=True)
        place = self.out / CONTENTION
        console.print(f"file for selector train and evaluate: {place}", soft_wrap=True)
        return 0
