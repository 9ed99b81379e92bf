"""Solve a share of the queries with every backend alone, so that logs compare backends."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.backends.attempt import RunBackend
from encoders.backends.registry import all_backends
from encoders.core.errors import InputError, UnavailableBackendError
from portfolio.engine.ask import Asker
from portfolio.engine.logbook import (
    EXPLORED,
    REDUCE,
    Log,
    Logbook,
    LogWarning,
    PendingLogbook,
    check_log,
)
from portfolio.engine.question import MAP, Options, Question, check_seconds
from portfolio.model.row import Row
from portfolio.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from portfolio.batch.job import Job
    from portfolio.model.batch_rows import BatchRows

BUDGET_S = 60.0
ROUNDING_S = 1e-3  # tolerance of the first query, whose runs may take the whole budget
RUNS = 2  # most runs of each backend: one that imports its solver, and one that is logged
Solve = Callable[[str, Logbook | None], Result]


@dataclass(frozen=True)
class Exploration:
    """Share of the queries to explore, and the seconds that exploring may take.

    An explored query is solved again by every installed backend alone, after its answer. The runs
    go to the folder ``explored`` in the log's folder, all of a query or none. Each backend has at
    most ``budget_s`` divided by twice the number of backends, and no query is begun whose runs
    could exceed what remains of the budget.

    Attributes
    ----------
    share : float
        Share from 0 to 1 of the queries that presolve alone does not prove.
    budget_s : float
        Seconds that one call of ``explain`` or ``explain_batch`` may add.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> Exploration(0.05, budget_s=120.0)
    Exploration(share=0.05, budget_s=120.0)
    """

    share: float
    budget_s: float = BUDGET_S

    def __post_init__(self) -> None:
        number = isinstance(self.share, int | float) and not isinstance(self.share, bool)
        if not number or not 0 <= self.share <= 1:
            raise InputError(f"explore must be a share from 0 to 1, got {self.share!r}.")
        check_seconds(self.budget_s)


def read_exploration(explore: float | Exploration, log: Log | None) -> Exploration | None:
    """Return what is to be explored, None for nothing."""
    check_log(log)
    exploration = explore if isinstance(explore, Exploration) else Exploration(explore)
    if exploration.share == 0:
        return None
    if log is None or callable(log):
        raise InputError("explore needs a log. Set log to a folder or a Logbook.")
    return exploration


def explorable() -> list[str]:
    """Return the names of the backends that solve explored queries."""
    return [backend.name for backend in all_backends() if not backend.capability.epsilon]


class EveryBackend:
    """Solver of a query with every backend, one after another; not thread safe."""

    def __init__(self) -> None:
        self._warm: set[tuple[str, str]] = set()

    def solve(self, key: str, solve: Solve, book: Logbook) -> bool:
        """Solve a query with each backend that can, and return whether none was interrupted."""
        for backend in explorable():
            try:
                if (key, backend) not in self._warm:
                    solve(backend, None)
                    self._warm.add((key, backend))
                stopped = solve(backend, book).stop_reason == "interrupted"
            except UnavailableBackendError:
                continue
            if stopped:
                return False
        return True


def explore_rows(
    asker: Asker,
    question: Question,
    options: Options,
    rows: Iterable[Row],
    exploration: Exploration,
    log: Log | None,
    run: RunBackend | None = None,
    remaining_s: float | None = None,
) -> int:
    """Explore a share of some rows within the budget, and return how many were explored.

    Ctrl-C ends it; answers are not affected.
    """
    assert isinstance(log, str | Path | Logbook)
    book = log if isinstance(log, Logbook) else Logbook(Path(log))
    budget_s = min(exploration.budget_s, inf if remaining_s is None else remaining_s)
    count = len(explorable())
    limit_s = min(options.time_limit_s, budget_s / (RUNS * count))
    if limit_s <= 0:
        return 0
    chosen = [row for row in rows if random.random() < exploration.share]
    random.shuffle(chosen)
    ends, every, explored, runs = time.monotonic() + budget_s, EveryBackend(), 0, RUNS
    for row in chosen:
        if time.monotonic() + runs * count * limit_s > ends + ROUNDING_S:
            break

        def solve(backend: str, book: Logbook | None, row: Row = row) -> Result:
            alone = options.by(backend, time_limit_s=limit_s)
            return asker.ask(question, alone, row, asker.strategy(question, alone, run), log=book)

        try:
            pending = PendingLogbook(book.folder / EXPLORED, book.dataset)
            if not every.solve(asker.model.identity, solve, pending):
                break
            pending.write()
        except InputError as error:
            warnings.warn(f"explored queries are not logged: {error}", LogWarning, stacklevel=3)
            break
        except KeyboardInterrupt:
            break
        explored, runs = explored + 1, 1
    return explored


def explore_batch(
    job: Job,
    rows: BatchRows,
    answers: pd.DataFrame,
    exploration: Exploration,
    remaining_s: float | None,
) -> None:
    """Explore the rows of a batch that a backend solved, unless the user interrupted it."""
    if (answers["stop_reason"] == "interrupted").any():
        return
    solved = ~answers["backend"].isin(["", REDUCE, MAP]).to_numpy()
    chosen = [
        Row(values)
        for values, kept in zip(rows.values, solved, strict=True)
        if kept and not isinstance(values, str)
    ]
    explore_rows(
        job.asker, job.question, job.options, chosen, exploration, job.log, remaining_s=remaining_s
    )
