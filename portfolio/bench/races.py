"""Benchmark of races: the same queries solved by each backend alone and by several at once."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from portfolio.api.explainer import Explainer
from portfolio.bench.protocol import KIND_NAMES
from portfolio.data.collection import DrawnQuery, datasets, draw_queries, freed
from portfolio.data.datasets import Dataset
from portfolio.data.trained_models import train
from portfolio.workers.interrupt import noted_interrupts
from selector.candidates import HEAD_STARTER
from selector.learning.contention import RacedQuery
from selector.logs.record import PROOFS

Way = tuple[tuple[str, ...], int]  # backends that race, and threads for all of them


@dataclass(frozen=True)
class RaceStudy:
    """Settings of a benchmark of races.

    Attributes
    ----------
    folder : directory of data sets, None for those of scikit-learn.
    only : names of data sets, empty for all.
    races : backends of each race, one thread each.
    kinds : kinds of model, any of "soft", "hard", "xgb".
    trees, depth : number of trees and maximum depth of each model.
    queries : number of rows per model.
    rounds : number of runs of each query and way, whose median counts.
    time_limit_s : limit in seconds of each run.
    seed : random seed of models, rows and solvers.
    threads : number of threads with which the head starter also runs alone; 1 to skip this.
    """

    folder: Path | None
    only: tuple[str, ...] = ()
    races: tuple[tuple[str, ...], ...] = (
        ("search", "cp"), ("search", "milp"), ("cp", "milp"), ("search", "cp", "milp", "maxsat"),
    )  # fmt: skip
    kinds: tuple[str, ...] = ("soft", "xgb")
    trees: int = 200
    depth: int = 7
    queries: int = 2
    rounds: int = 2
    time_limit_s: float = 5.0
    seed: int = 0
    threads: int = 1

    @property
    def backends(self) -> tuple[str, ...]:
        """Racing backends, each once."""
        return tuple(dict.fromkeys(name for race in self.races for name in race))

    @property
    def ways(self) -> list[Way]:
        """Ways to solve a query: each backend alone, the head starter on threads, and the races."""
        alone = [((name,), 1) for name in self.backends]
        teams = [((HEAD_STARTER,), self.threads)] if HEAD_STARTER in self.backends else []
        return list(dict.fromkeys([*alone, *teams, *((race, len(race)) for race in self.races)]))


def run_races(
    study: RaceStudy, deadline_s: float | None, on_query: Callable[[list[RacedQuery]], None]
) -> None:
    """Solve queries with each backend alone and in each race, alternately.

    Other work on the machine then affects both alike. Queries that presolve proves are skipped, and
    so are races in which no backend proves within the limit. The first query of a model is a
    warm-up and does not count.
    """
    ends = float("inf") if deadline_s is None else time.monotonic() + deadline_s
    with noted_interrupts(terminate=True) as stop:
        for dataset in datasets(study.folder, study.only):
            for kind in study.kinds:
                for raced in _run_model(study, dataset, kind):
                    if stop.is_set():
                        raise KeyboardInterrupt
                    on_query(raced)
                    if time.monotonic() >= ends:
                        return


def _run_model(study: RaceStudy, dataset: Dataset, kind: str) -> Iterator[list[RacedQuery]]:
    model = train(dataset, KIND_NAMES[kind], study.trees, study.depth, study.seed)
    explainer = Explainer(model, dataset.X, freed(dataset.space))
    for query in draw_queries(dataset, explainer, study.queries + 1, study.seed):
        ask = _StudyQuery(study, explainer, query)
        if query.number == 0:
            for way in study.ways:
                ask.seconds(way)
            continue
        yield ask.raced(f"{dataset.name} {kind} {query.row}")


@dataclass(frozen=True, eq=False)
class _StudyQuery:
    """Query of a benchmark of races."""

    study: RaceStudy
    explainer: Explainer
    query: DrawnQuery

    def raced(self, name: str) -> list[RacedQuery]:
        """Return the seconds of each race and of its fastest backend alone."""
        ways = self.study.ways
        took: dict[Way, list[float]] = {way: [] for way in ways}
        for turn in range(self.study.rounds):
            for way in ways if turn % 2 == 0 else reversed(ways):
                seconds = self.seconds(way)
                if seconds is None:
                    return []
                took[way].append(seconds)
        median = {way: statistics.median(seconds) for way, seconds in took.items()}
        proved = {way: seconds for way, seconds in median.items() if seconds != float("inf")}
        races = []
        for way in ways:
            racers, threads = way
            alone = [proved[(name,), 1] for name in racers if ((name,), 1) in proved]
            if threads > 1 and way in proved and alone:
                races.append(RacedQuery(name, len(racers), min(alone), proved[way]))
        return races

    def seconds(self, way: Way) -> float | None:
        """Return the seconds until the proof; inf without one, None if presolve proves."""
        racers, threads = way
        result = self.explainer.explain(
            self.query.x,
            target=self.query.target,
            strategy=racers[0] if len(racers) == 1 else list(racers),
            time_limit_s=self.study.time_limit_s,
            threads=threads,
            seed=self.study.seed,
        )
        if result.stop_reason == "interrupted":  # Ctrl-C ends the whole benchmark
            raise KeyboardInterrupt
        if result.backend == "reduce":
            return None
        return result.timings.total if result.status in PROOFS else float("inf")
