"""Replay of logged queries with the backends that the logs cannot compare."""

import math
import shlex
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.backends.registry import all_backends
from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError, UnavailableBackendError
from encoders.query.goal import Wanted
from portfolio.bench.cases import train_case
from portfolio.bench.runner import BenchmarkPlan, machine_load, unless_interrupted
from portfolio.cli.output import Console
from portfolio.cli.selector_report import read_logs
from portfolio.data.collection import BUNDLED, one_dataset
from portfolio.engine.ask import Asker
from portfolio.engine.logbook import PendingLogbook, query_digest
from portfolio.engine.question import PLAIN, Options, Question
from portfolio.model.batch_rows import BatchRows
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.fingerprint import fingerprint
from portfolio.model.goals import wanted_of
from portfolio.model.row import Row
from portfolio.results.result import Result
from portfolio.results.timings import duration
from selector.candidates import backend_of, in_race_order
from selector.diagram import Leaf
from selector.learning.examples import covered, rankable
from selector.learning.open_queries import (
    LEAST_S,
    OpenQuery,
    limit_for,
    longest_s,
    most_informative_first,
    open_queries,
)
from selector.logs import LogRecord
from selector.logs.check import AGREEMENT
from selector.logs.record import PROOFS

BUDGET_S = 300.0  # default of --deadline
WARM_UP_S = 10.0  # limit of the first, unlogged run of each backend, which imports its solver
MODEL, ROW, SETTINGS = "another model", "rows that the data lacks", "other settings"


@dataclass(frozen=True)
class FoundQuery:
    """Logged query whose row and settings are known again.

    Attributes
    ----------
    logged : the query in the logs.
    row : float64 array (n_columns,), in the model's order.
    question : settings with the logged norm and scale.
    """

    logged: OpenQuery
    row: FloatArray
    question: Question


@dataclass(frozen=True)
class ReplayedRun:
    """Run of a backend on a logged query, as the progress bar and the report use it.

    Attributes
    ----------
    dataset, backend : group and name of the backend.
    proved : bool, whether it ended with a proof.
    logged : bool, False if the answer shows that the logged query was about another target.
    """

    dataset: str
    backend: str
    proved: bool
    logged: bool


def find_queries(
    asker: Asker, question: Question, rows: BatchRows, logged: Sequence[OpenQuery]
) -> tuple[list[FoundQuery], Counter[str]]:
    """Return the logged queries that the rows and the settings answer, and why others are not.

    Logs contain digests of rows and settings. A query is found if its digest is that of a row with
    the logged norm, scale and target and the given other settings.
    """
    places = {fingerprint(row): row for row in rows.values if not isinstance(row, str)}
    targets, numbers = _targets(asker.model, question)
    matches, missing = [], Counter[str]()
    for each in logged:
        if each.forest != asker.model.identity:
            missing[SETTINGS if each.plausible != asker.model.plausible else MODEL] += 1
        elif each.row not in places:
            missing[ROW] += 1
        else:
            row = places[each.row]
            settings = replace(question, norm=each.norm, scale=each.scale)
            digest = query_digest(asker.model, row, settings, each.target, numbers)
            if each.target in targets and digest == each.query:
                matches.append(FoundQuery(each, row, settings))
            else:
                missing[SETTINGS] += 1
    return matches, missing


def _targets(model: ExplainedModel, question: Question) -> tuple[set[str], bool]:
    """Return the texts by which logs name the target, and whether it is a goal."""
    goal = wanted_of(model, question.target)
    if model.aim is not None:
        return {str(dict(model.aim))}, False
    if goal is None and question.target is None:
        return {str(None), *map(str, model.native.classes)}, False
    target = question.target if goal is None else goal
    return {str(target)}, isinstance(target, Wanted)


def missing_words(missing: Mapping[str, int], total: int) -> str:
    """Return a sentence that counts the logged queries that were not found."""
    parts = {
        MODEL: "{} of another model",
        ROW: "{} of rows that are not in the data",
        SETTINGS: "{} with other settings (target, constraints, margin, costs or plausibility)",
    }
    counts = [words.format(missing[name]) for name, words in parts.items() if missing.get(name)]
    return f"{sum(missing.values())} of {total} logged queries were not found: {', '.join(counts)}."


@dataclass(frozen=True)
class ReplayPlan(BenchmarkPlan):
    """Runs of logged queries with other backends within a budget; a repeated plan resumes.

    Attributes
    ----------
    sources : files and folders of logs.
    asker, question, rows : model, settings and data of the command that wrote the logs; the norm
        and the scale are those of each logged query.
    out : folder whose folder "logs" receives the records.
    budget_s : seconds for all runs.
    """

    unit = "runs"
    interrupted = "Interrupted: run the same command again to resume."

    sources: tuple[Path, ...]
    asker: Asker
    question: Question
    rows: BatchRows
    out: Path
    budget_s: float = BUDGET_S

    @property
    def folder(self) -> Path:
        """Folder of the records."""
        return self.out / "logs"

    def read(self) -> pd.DataFrame:
        """Read the logs and the runs that were replayed earlier."""
        return read_logs([*self.sources, *self._replayed])

    @property
    def _replayed(self) -> list[Path]:
        """Folder of the records in a list, which is empty if it has none."""
        files = self.folder.glob("*.jsonl")
        return [self.folder] if any(path.stat().st_size for path in files) else []

    @cached_property
    def _replayed_runs(self) -> frozenset[str]:
        """Names of the runs that were replayed earlier."""
        return frozenset(read_logs(self._replayed)["run"]) if self._replayed else frozenset()

    @cached_property
    def backends(self) -> list[str]:
        """Names of the installed backends, and of variants in the diagram of auto.

        The most promising ones come first.
        """
        installed = {each.name for each in all_backends() if each.available}
        leaves = (node for node in self.asker.selector.diagram.nodes if isinstance(node, Leaf))
        chosen = {name for leaf in leaves for names, _ in leaf.schedule for name in names}
        every = [*rankable(), *sorted(chosen - set(rankable()))]
        votes = self.asker.model.ensemble.votes
        return in_race_order([name for name in every if backend_of(name) in installed], votes)

    @cached_property
    def queries(self) -> tuple[list[FoundQuery], Counter[str]]:
        """Logged queries that were found, and the number of others by reason."""
        logged = open_queries(self.read(), self._replayed_runs)
        matches, missing = find_queries(self.asker, self.question, self.rows, logged)
        if not matches:
            why = missing_words(missing, len(logged)) if logged else "Presolve alone proved them."
            raise InputError(
                f"the logs contain no query that can be replayed. {why} Give the model, the data "
                "and the settings of the command that wrote the logs."
            )
        return matches, missing

    @cached_property
    def most_s(self) -> float:
        """Longest limit of a run without a known proof, equal whenever the command is repeated."""
        names = {each.logged.query for each in self.queries[0]}
        logged = [each for each in open_queries(read_logs(self.sources)) if each.query in names]
        return longest_s(logged, self.backends, self.budget_s)

    @cached_property
    def order(self) -> list[tuple[FoundQuery, tuple[str, ...]]]:
        """Queries with the backends to run, the most informative first."""
        queries = {each.logged.query: each for each in self.queries[0]}
        logged = [each.logged for each in queries.values()]
        order = most_informative_first(logged, self.backends, self.budget_s, self.most_s)
        done = {name.rpartition("-")[0] for name in self._replayed_runs}
        lacking = []
        for each, names in order:
            still = tuple(n for n in names if _run_name(each, n, self.most_s) not in done)
            if set(still) - each.again:
                lacking.append((queries[each.query], still))
        return lacking

    @property
    def total(self) -> int:
        """Number of runs that the logs lack, which may exceed the budget."""
        return sum(len(names) for _, names in self.order)

    @property
    def heading(self) -> str:
        """Line that is printed first."""
        matches, missing = self.queries
        total = len(matches) + missing.total()
        lacking = f"{missing_words(missing, total)} " if missing else ""
        return (
            f"{lacking}{len(self.order)} of {len(matches)} found queries lack {self.total} runs. "
            f"Budget: {duration(self.budget_s)}; {machine_load()}."
        )

    def runs(self) -> Generator[ReplayedRun | str]:
        """Yield the runs; see :class:`BenchmarkPlan`."""
        ends, count = time.monotonic() + self.budget_s, 0
        if self.order:
            self._warm_up()
        for query, names in self.order:
            for run in self._of_query(query, names, ends):
                count += run.logged
                yield run
        yield f"{count} runs finished."

    def _warm_up(self) -> None:
        """Solve small queries with each backend, and a logged one, without logging them.

        So no run includes the import of a solver, of compiled code or of the model's library.
        """
        case = train_case(one_dataset(None, BUNDLED[0]), "soft", trees=5, depth=3)
        explainer, row = case.explainer(workers=self.asker.workers), case.dataset.X.iloc[0]
        for name in self.backends:
            result = explainer.explain(
                row, strategy=PLAIN + name, time_limit_s=WARM_UP_S, threads=1
            )
            unless_interrupted(result)
        first = self.order[0][0]
        with suppress(UnavailableBackendError):
            self._solved(first, self.backends[0], min(LEAST_S, first.logged.limit_s(self.most_s)))

    def _of_query(
        self, query: FoundQuery, names: Sequence[str], ends: float
    ) -> Iterator[ReplayedRun]:
        """Yield the runs of a query that fit into the time; each new proof shortens later ones."""
        limit_s = query.logged.limit_s(self.most_s)
        for name in names:
            if time.monotonic() + limit_s > ends:
                return
            try:
                result, records = self._solved(query, name, limit_s)
            except UnavailableBackendError:
                continue
            if proved := result.status in PROOFS:
                limit_s = min(limit_s, limit_for(result.timings.total))
            same = not _contradicts(result, query.logged)
            if same:
                _append(self.folder, records, query.logged)
            yield ReplayedRun(query.logged.dataset, name, proved, same)

    def _solved(
        self, query: FoundQuery, backend: str, limit_s: float
    ) -> tuple[Result, list[LogRecord]]:
        """Solve a query and return the answer with its log records."""
        logged = query.logged
        run = _run_name(logged, backend, self.most_s)
        book = PendingLogbook(self.folder, logged.dataset, run)
        options = Options(backend, limit_s, logged.threads, logged.seed)
        strategy = self.asker.strategy(query.question, options)
        result = self.asker.ask(query.question, options, Row(query.row), strategy, log=book)
        return unless_interrupted(result), book.records

    def report(self, runs: list[Any], console: Console) -> int:
        """Print what the logs compare now, and the command that learns from them; return 0."""
        if other := sum(not run.logged for run in runs):
            console.print(
                f"{other} runs are not logged, because their answers differ from the logged ones. "
                "Give the --target of the command that wrote the logs.",
                highlight=False,
                soft_wrap=True,
            )
        try:
            coverage = covered(self.read())[1]
        except InputError as error:
            words, compared = f"Nothing can be learned yet: {error}", 0
        else:
            words, compared = str(coverage), coverage.compared
        places = shlex.join(map(str, [*self.sources, *self._replayed]))
        advice = (
            f"Next: counterfolio selector train {places} --out mine.json --promote"
            if compared
            else "Use a longer --deadline, or log more queries."
        )
        for line in (words, advice):
            console.print(line, highlight=False, soft_wrap=True, markup=False)
        return 0


def _run_name(logged: OpenQuery, backend: str, most_s: float) -> str:
    """Return the name of a run, so that the same command does not repeat it.

    A longer limit gives another name, unless a proof determines the limit.
    """
    limit_s = None if logged.proved else logged.limit_s(most_s)
    return fingerprint("from-logs", logged.query, backend, limit_s, logged.threads, logged.seed)


def _contradicts(result: Result, logged: OpenQuery) -> bool:
    """Return whether an answer shows that the logged query had another target."""
    if str(result.target) == logged.target or math.isnan(logged.upper):
        return False
    slack = AGREEMENT * max(1.0, min(result.distance, logged.upper))
    if result.status in PROOFS and not result.distance <= logged.upper + slack:
        return True
    return result.distance < logged.upper - slack


def _append(folder: Path, records: Sequence[LogRecord], logged: OpenQuery) -> None:
    """Append records under the logged query, though a run without target may name another class."""
    book = PendingLogbook(folder)
    book.add(replace(each, query=logged.query, target=logged.target) for each in records)
    book.write()
