"""Runs of a protocol, by worker processes or on a cluster, each leaving its log record."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.errors import InputError
from encoders.features import FeatureSpace
from portfolio.batch_job import Answers, Task
from portfolio.batch_log import Record
from portfolio.benchmark import KIND_NAMES, Plan, names, one_dataset
from portfolio.datasets import Dataset
from portfolio.explainer import Explainer
from portfolio.fingerprint import fingerprint
from portfolio.logbook import Logbook, LogWarning
from portfolio.plausibility import Plausibility
from portfolio.protocol import (
    PLAIN,
    SESSION,
    Configuration,
    Protocol,
    configurations,
    run_id,
)
from portfolio.training import train
from portfolio.workers import Workers
from selector import logs

REDUCE = "reduce"  # the entry of a query that reduction alone proves: no other is then asked
FOREVER_S = 1e6


@dataclass(frozen=True)
class Campaign:
    """A :class:`portfolio.batch_job.Work` whose tasks are configurations.

    Attributes
    ----------
    folder : data sets; None for the bundled ones
    logs : folder for the records
    done : ids of the runs that are logged already
    workers : started once per process, so that no run pays for it
    """

    protocol: Protocol
    folder: Path | None
    logs: Path
    done: frozenset[str]
    workers: Workers

    def warm_up(self, task: Task) -> None:
        """Import and compile on a small problem, with each backend."""
        configuration: Configuration = replace(task.payload, trees=5, depth=3, plausible=False)
        explainer, dataset = self._explainer(configuration)
        for entry in self.protocol.entries:
            if not entry.startswith(SESSION):
                # Unreduced, so that the backend is asked indeed.
                name = entry.removeprefix(PLAIN)
                explainer.explain(
                    dataset.X.iloc[0], backend=name, time_limit_s=10.0, threads=1, reduce=False
                )

    def answer(self, task: Task) -> Record:
        """Run what is missing of a configuration; see :class:`portfolio.batch_job.Work`."""
        own = replace(self, done=_logged(self.logs))  # a worker before it may have died over it
        told = {"key": task.key, "message": "", "runs": 0, "full": False}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", LogWarning)
                return told | {"runs": own._run(task.payload)}
        except LogWarning as error:
            return told | {"message": str(error), "full": True}
        except Exception as error:  # one configuration must not end the campaign
            return told | {"message": f"{type(error).__name__}: {error}"}

    def missing(self, configuration: Configuration) -> bool:
        """Whether it has runs that are not logged; rows are told by their number in the draw."""
        return any(self._open(configuration, query) for query in range(self.protocol.queries))

    def _open(self, configuration: Configuration, query: int) -> list[str]:
        """Entries that still have to answer a query."""
        ids = {e: run_id(self.protocol, configuration, query, e) for e in self.protocol.entries}
        entries = [entry for entry, name in ids.items() if name not in self.done]
        if run_id(self.protocol, configuration, query, REDUCE) in self.done:
            entries = [e for e in entries if e.startswith((PLAIN, SESSION))]
        return entries

    def _explainer(self, configuration: Configuration) -> tuple[Explainer, Dataset]:
        dataset = one_dataset(self.folder, configuration.dataset)
        model = train(
            dataset,
            KIND_NAMES[configuration.kind],
            configuration.trees,
            configuration.depth,
            configuration.seed,
        )
        plausibility = None
        if configuration.plausible:
            plausibility = Plausibility.fit(dataset.X, dataset.y, seed=configuration.seed)
        features = tuple(replace(f, action="free") for f in dataset.space.features)
        space = FeatureSpace(features, dataset.space.columns)
        explainer = Explainer(
            model, dataset.X, space, plausibility=plausibility, workers=self.workers
        )
        return explainer, dataset

    def _run(self, configuration: Configuration) -> int:
        explainer, dataset = self._explainer(configuration)
        rng = np.random.default_rng(configuration.seed)
        count = min(self.protocol.queries, len(dataset.X))
        rows = rng.choice(len(dataset.X), count, replace=False).tolist()
        sessions: dict[tuple[str, Any], Any] = {}
        runs = 0
        for query, row in enumerate(rows):
            x = dataset.X.iloc[row]
            current = explainer.predict(x)
            target = rng.choice(np.array([c for c in explainer.classes if c != current]))
            ask = _Asking(self, configuration, explainer, sessions, x, query, target)
            runs += ask.all(self._open(configuration, query))
        for session in sessions.values():
            session.close()
        return runs


@dataclass(frozen=True, eq=False)
class _Asking:
    """One query of a configuration."""

    campaign: Campaign
    configuration: Configuration
    explainer: Explainer
    sessions: dict[tuple[str, Any], Any]
    x: "pd.Series[Any]"
    query: int
    target: Any

    def all(self, entries: list[str]) -> int:
        """How many runs were made; one reduced run is enough where reduction proves."""
        runs, proved = 0, False
        for entry in entries:
            if entry.startswith(PLAIN):
                self._explain(entry, entry.removeprefix(PLAIN), reduce=False)
            elif entry.startswith(SESSION):
                self._session(entry, entry.removeprefix(SESSION))
            elif proved:
                continue
            else:
                proved = self._explain(entry, entry, reduce=True) == REDUCE
            runs += 1
        return runs

    def _book(self, entry: str) -> Logbook:
        protocol = self.campaign.protocol
        name = run_id(protocol, self.configuration, self.query, entry)
        return Logbook(self.campaign.logs, self.configuration.dataset, name)

    def _explain(self, entry: str, backend: str, reduce: bool) -> str:
        protocol = self.campaign.protocol
        result = self.explainer.explain(
            self.x,
            target=self.target,
            norm=self.configuration.norm,
            backend=backend,
            reduce=reduce,
            time_limit_s=protocol.limit_s(entry),
            threads=protocol.threads,
            seed=self.configuration.seed,
            log=lambda found: self._book(REDUCE if found.backend == REDUCE else entry),
        )
        return result.backend

    def _session(self, entry: str, backend: str) -> None:
        protocol = self.campaign.protocol
        key = (backend, self.target)
        if key not in self.sessions:
            self.sessions[key] = self.explainer.session(
                self.target,
                backend,
                self.configuration.norm,
                threads=protocol.threads,
                seed=self.configuration.seed,
            )
        self.sessions[key].explain(self.x, protocol.time_limit_s, log=self._book(entry))


def run_campaign(
    protocol: Protocol,
    folder: Path | None,
    out: Path,
    answers: Answers,
    deadline_s: float | None,
    on_done: Callable[[int, int, str], None],
) -> int:
    """Make the runs that ``out`` lacks; how many were made.

    Parameters
    ----------
    on_done : called with (configurations done, in all, what went wrong or "")
    """
    plan = Plan(folder, protocol.datasets, protocol.kinds, (), 0, 0, 0, 0, "1", 0.0, None)
    every = configurations(protocol, names(plan))
    campaign = Campaign(protocol, folder, out, _logged(out), Workers())
    ends = float("inf") if deadline_s is None else time.monotonic() + deadline_s
    missing = [c for c in every if campaign.missing(c)]
    runs, done = 0, len(every) - len(missing)

    def tasks() -> Iterator[Task]:
        for configuration in missing:
            if time.monotonic() >= ends:
                return
            yield Task(fingerprint(configuration), configuration, FOREVER_S, ends)

    on_done(done, len(every), "")
    with closing(answers(campaign, tasks())) as records:
        for record in records:
            if record.get("stop_reason") == "time_limit":  # the deadline cut it short
                continue
            runs, done = runs + record.get("runs", 0), done + 1
            on_done(done, len(every), record["message"])
            if record.get("full"):
                raise InputError(f"{record['message']} Make room, then give the same command.")
    return runs


def _logged(out: Path) -> frozenset[str]:
    if not any(path.stat().st_size for path in out.glob("*")):
        return frozenset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a torn line is a run to be made again
        frame = logs.read(out)
    return frozenset(frame["run"].str.rpartition("-")[0])
