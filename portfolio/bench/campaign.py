"""Logged runs of a protocol in worker processes or on a cluster."""

import warnings
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.api.session import Session
from portfolio.api.variants import asker_of
from portfolio.bench.asked import OF_THE_ROW, Settings, settings_of
from portfolio.bench.cases import train_case
from portfolio.bench.protocol import (
    SECOND,
    SESSION,
    Configuration,
    Protocol,
    backend_of,
    is_reduced,
    run_id,
)
from portfolio.data.collection import DrawnQuery, draw_queries, one_dataset
from portfolio.data.datasets import Dataset
from portfolio.engine.logbook import REDUCE, Log, Logbook, LogWarning
from portfolio.engine.question import MAP, PLAIN, Options, Question
from portfolio.engine.second import once_more
from portfolio.results.result import Result
from portfolio.workers.solver_workers import Workers
from portfolio.workers.work import Record, Task
from selector import logs
from selector.logs.record import PROOFS


@dataclass(frozen=True)
class Campaign:
    """Work of a protocol, whose tasks are configurations; a :class:`portfolio.workers.work.Work`.

    Attributes
    ----------
    folder : directory of data sets; None for the bundled ones.
    logs : folder of the records.
    done : seconds of the runs that are logged already, by their ids.
    workers : worker processes, started once per process so that no run includes their start.
    """

    protocol: Protocol
    folder: Path | None
    logs: Path
    done: Mapping[str, float]
    workers: Workers

    def warm_up(self, task: Task) -> None:
        """Import and compile on a small problem, with each backend."""
        configuration: Configuration = replace(task.payload, trees=5, depth=3, plausible=False)
        explainer, dataset = self._explainer(configuration)
        for entry in self.protocol.entries:
            if not entry.startswith(SESSION):
                # Without presolve, so that the backend certainly runs.
                plain = PLAIN + backend_of(entry)
                explainer.explain(dataset.X.iloc[0], strategy=plain, time_limit_s=10.0, threads=1)

    def answer(self, task: Task) -> Record:
        """Make the missing runs of a configuration; see :class:`portfolio.workers.work.Work`."""
        current = replace(self, done=logged(self.logs))  # an earlier worker may have made some
        record = self.lost(task)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", LogWarning)
                return record | {"runs": current.run(task.payload)}
        except LogWarning as error:
            return record | {"message": str(error), "full": True}
        except Exception as error:  # one configuration must not end the campaign
            return record | {"message": f"{type(error).__name__}: {error}"}

    def lost(self, task: Task, message: str = "", late: bool = False) -> Record:
        """Return the record of a configuration without runs; see :class:`Work`."""
        return {"key": task.key, "message": message, "runs": 0, "full": False, "late": late}

    def missing(self, configuration: Configuration) -> bool:
        """Return whether a configuration has runs that are not logged."""
        return any(self._open(configuration, query) for query in range(self.protocol.queries))

    def _open(self, configuration: Configuration, query: int) -> list[str]:
        """Return the entries that still have to solve a query.

        The entry REDUCE replaces all reduced entries if presolve alone proves the query. None of
        them is open if the first one was faster than ``slow_s`` of the protocol.
        """
        ids = {e: run_id(self.protocol, configuration, query, e) for e in self.protocol.entries}
        entries = [entry for entry, name in ids.items() if name not in self.done]
        first = ids.get(self.protocol.first_reduced, "")
        fast = self.done.get(first, inf) < self.protocol.slow_s
        if fast or run_id(self.protocol, configuration, query, REDUCE) in self.done:
            entries = [e for e in entries if not is_reduced(e)]
        return entries

    def _explainer(self, c: Configuration) -> tuple[Explainer, Dataset]:
        dataset = one_dataset(self.folder, c.dataset)
        case = train_case(dataset, c.kind, c.trees, c.depth, c.seed)
        plausibility = case.plausibility() if c.plausible else None
        explainer = case.explainer(free=True, plausibility=plausibility, workers=self.workers)
        return explainer, dataset

    def run(self, configuration: Configuration) -> int:
        explainer, dataset = self._explainer(configuration)
        sessions: dict[tuple[str, Any, int], Session] = {}
        runs = 0
        for query in draw_queries(dataset, explainer, self.protocol.queries, configuration.seed):
            query_runs = _QueryRuns(self, configuration, explainer, sessions, query)
            runs += query_runs.make(self._open(configuration, query.number))
        for session in sessions.values():
            session.close()
        return runs


@dataclass(frozen=True, eq=False)
class _QueryRuns:
    """Runs of one query of a configuration.

    Attributes
    ----------
    sessions : sessions for this and later queries by backend and target, and by the query if its
        settings depend on the row.
    """

    campaign: Campaign
    configuration: Configuration
    explainer: Explainer
    sessions: dict[tuple[str, Any, int], Session]
    query: DrawnQuery

    def make(self, entries: list[str]) -> int:
        """Make the runs and return their number; a fast or reduced first run may be enough."""
        protocol = self.campaign.protocol
        runs, first, enough = 0, None, False
        for entry in sorted(entries, key=lambda entry: entry.startswith(SECOND)):
            if entry.startswith(SECOND):
                first = first or self._ask(self._first_entry, None)
                self._second(entry, first)
            elif entry.startswith(PLAIN):
                self._explain(entry)
            elif entry.startswith(SESSION):
                # A model that is too large for a map is skipped.
                with suppress(InputError) if backend_of(entry) == MAP else nullcontext():
                    self._session(entry, backend_of(entry))
            elif enough:
                continue
            else:
                result = self._explain(entry)
                first = result if first is None or result.status in PROOFS else first
                fast = entry == protocol.first_reduced and result.timings.total < protocol.slow_s
                enough = fast or result.backend == REDUCE
            runs += 1
        return runs

    @property
    def _first_entry(self) -> str:
        """Entry that solves a query of which only the second opinion is missing."""
        return self.campaign.protocol.first_reduced or "search"

    def _book(self, entry: str) -> Logbook:
        protocol = self.campaign.protocol
        name = run_id(protocol, self.configuration, self.query.number, entry)
        return Logbook(self.campaign.logs, self.configuration.dataset, name)

    def _explain(self, entry: str) -> Result:
        return self._ask(
            entry, lambda result: self._book(REDUCE if result.backend == REDUCE else entry)
        )

    def _ask(self, entry: str, log: Log | None) -> Result:
        protocol = self.campaign.protocol
        return self.explainer.explain(
            self.query.x,
            target=self.query.target,
            strategy=entry,
            time_limit_s=protocol.limit_s(entry),
            threads=protocol.threads,
            seed=self.configuration.seed,
            log=log,
            **self._settings,
        )

    @property
    def _settings(self) -> Settings:
        configuration, space = self.configuration, self.explainer.features
        return {"norm": configuration.norm} | settings_of(
            configuration.question, configuration.kind, configuration.trees, space, self.query
        )

    def _second(self, entry: str, first: Result) -> None:
        protocol, name = self.campaign.protocol, backend_of(entry)
        once_more(
            asker_of(self.explainer),
            Question(self.query.target, **self._settings),
            Options(name, protocol.limit_s(entry), protocol.threads, self.configuration.seed),
            self.query.x,
            first,
            name,
            self._book(entry),
        )

    def _session(self, entry: str, backend: str) -> None:
        protocol = self.campaign.protocol
        row = self.query.number if self.configuration.question in OF_THE_ROW else -1
        key = (backend, self.query.target, row)
        if key not in self.sessions:
            self.sessions[key] = self.explainer.session(
                self.query.target,
                strategy=backend,
                threads=protocol.threads,
                seed=self.configuration.seed,
                **self._settings,
            )
        self.sessions[key].explain(self.query.x, protocol.time_limit_s, log=self._book(entry))


def logged(out: Path) -> dict[str, float]:
    """Return the seconds of the runs in a folder of logs, by their ids."""
    if not any(path.stat().st_size for path in out.glob("*")):
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run of an incomplete line is repeated
        frame = logs.read(out)
    runs = frame["run"].str.rpartition("-")[0]
    longest = frame["total_s"].groupby(runs).max()
    return dict(zip(longest.index, longest.tolist(), strict=True))
