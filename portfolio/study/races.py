"""What races cost: the same queries asked of each backend alone and of several at once."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from portfolio.data.collection import DrawnQuery, datasets, draw_queries, freed
from portfolio.data.datasets import Dataset
from portfolio.data.trained_models import train
from portfolio.explainer import Explainer
from portfolio.running.interrupt import noted_interrupts
from portfolio.study.protocol import KIND_NAMES
from selector.backend_facts import HEAD_STARTER
from selector.learning.contention import RacedQuery
from selector.logs.record import PROOFS

Way = tuple[tuple[str, ...], int]  # backends that race, and threads for all of them


@dataclass(frozen=True)
class RaceStudy:
    """What races and when, and what more threads bring to who begins.

    Attributes
    ----------
    folder : of data sets, None for scikit-learn's bundled ones
    only : names of data sets, empty for all
    races : the backends of each race; each has a thread of its own
    kinds : of models, "soft", "hard" or "xgb"
    trees, depth : of each model
    queries : rows asked of each model
    rounds : how often each query is asked each way, of which the median counts
    time_limit_s : of each run
    seed : of models, rows and solvers
    threads : that the head starter is given alone, too, if it races; 1 for not at all
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
        """All that race, each once."""
        return tuple(dict.fromkeys(name for race in self.races for name in race))

    @property
    def ways(self) -> list[Way]:
        """Each backend alone on one thread, the head starter on several, and the races."""
        alone = [((name,), 1) for name in self.backends]
        teams = [((HEAD_STARTER,), self.threads)] if HEAD_STARTER in self.backends else []
        return list(dict.fromkeys([*alone, *teams, *((race, len(race)) for race in self.races)]))


def run_races(
    study: RaceStudy, deadline_s: float | None, on_query: Callable[[list[RacedQuery]], None]
) -> None:
    """Ask queries of each backend alone and of each race, in turn, so that what else goes on on
    the machine meets both alike.

    Queries that reduction alone proves are passed over, as are races that nobody proves, alone or
    together, within the limit. The first query of a model is run once and not counted.
    """
    ends = float("inf") if deadline_s is None else time.monotonic() + deadline_s
    with noted_interrupts(terminate=True) as stop:
        for dataset in datasets(study.folder, study.only):
            for kind in study.kinds:
                for found in _run_model(study, dataset, kind):
                    if stop.is_set():
                        raise KeyboardInterrupt
                    on_query(found)
                    if time.monotonic() >= ends:
                        return


def _run_model(study: RaceStudy, dataset: Dataset, kind: str) -> Iterator[list[RacedQuery]]:
    model = train(dataset, KIND_NAMES[kind], study.trees, study.depth, study.seed)
    explainer = Explainer(model, dataset.X, freed(dataset.space))
    for query in draw_queries(dataset, explainer, study.queries + 1, study.seed):
        ask = _Asked(study, explainer, query)
        if query.number == 0:
            for way in study.ways:
                ask.seconds(way)
            continue
        yield ask.raced(f"{dataset.name} {kind} {query.row}")


@dataclass(frozen=True, eq=False)
class _Asked:
    """One query of a study."""

    study: RaceStudy
    explainer: Explainer
    query: DrawnQuery

    def raced(self, name: str) -> list[RacedQuery]:
        """What the races of this query took, and their fastest racers alone."""
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
        found = []
        for way in ways:
            racers, threads = way
            alone = [proved[(name,), 1] for name in racers if ((name,), 1) in proved]
            if threads > 1 and way in proved and alone:
                found.append(RacedQuery(name, len(racers), min(alone), proved[way]))
        return found

    def seconds(self, way: Way) -> float | None:
        """Until the proof; infinite without one, None if reduction alone proves."""
        racers, threads = way
        result = self.explainer.explain(
            self.query.x,
            target=self.query.target,
            strategy=racers[0] if len(racers) == 1 else list(racers),
            time_limit_s=self.study.time_limit_s,
            threads=threads,
            seed=self.study.seed,
        )
        if result.stop_reason == "interrupted":  # Ctrl-C means the whole study
            raise KeyboardInterrupt
        if result.backend == "reduce":
            return None
        return result.timings.total if result.status in PROOFS else float("inf")
