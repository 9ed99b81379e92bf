"""Answers to rows in fixed columns and types, for engines that call functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.core.close_names import close_names
from encoders.core.errors import InputError, NothingAdmissibleError
from portfolio.api.variants import asker_of, sample_of
from portfolio.batch.answer_table import AnswerTable
from portfolio.batch.job import Job
from portfolio.batch.run import read_batch, run_batch
from portfolio.batch.settings import BatchSettings
from portfolio.engine.make_maps import with_maps
from portfolio.engine.question import MAP, Options, Question, strategy_name
from portfolio.model.batch_rows import BatchRows, rows_of
from portfolio.model.goals import checked_target
from portfolio.model.sample import rows_at
from portfolio.model.training_frame import has_no_rows
from portfolio.workers.here import answer_here
from selector import portfolio_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    import pyarrow as pa

    from portfolio.api.explainer import Explainer

QUERY = "target", "norm", "scale", "weights", "constraints", "margin"
LIMITS = "time_limit_s", "threads", "seed", "strategy", "tie_break", "portfolio"


@dataclass(frozen=True, eq=False)
class RowAnswers:
    """Function from rows to a table of their answers. It can be pickled.

    The calling process solves the rows and starts no others.

    Attributes
    ----------
    job : query and its settings.
    table : columns and types of the answers.
    """

    job: Job
    table: AnswerTable

    @classmethod
    def of(
        cls, explainer: Explainer, settings: Mapping[str, Any], like: pd.DataFrame | None = None
    ) -> RowAnswers:
        """Return the function; ``like`` has the types of the rows, or is None for the model's."""
        job = job_of(explainer, settings)
        if settings.get("strategy") == MAP:
            job = replace(job, asker=with_maps(job.asker, job.question))
        frame = None if like is None else _read(job, like).own
        return cls(job, AnswerTable.for_target(job.asker.model, job.question.target, frame))

    def __call__(self, rows: Any, beside: Mapping[str, Any]) -> pa.Table:
        """Return the answers to some rows, after other columns that are given by name."""
        settings = BatchSettings(self.job.options.time_limit_s, executor=answer_here)
        answers = run_batch(_read(self.job, rows), self.job, None, settings)
        return self.table.of(answers, beside)


def job_of(explainer: Explainer, settings: Mapping[str, Any]) -> Job:
    """Return the job with some settings; raise InputError if one is invalid."""
    check_names("setting", settings, (*QUERY, *LIMITS))
    query = {name: settings[name] for name in QUERY if name in settings}
    limits = {"threads": 1} | {name: settings[name] for name in LIMITS if name in settings}
    strategy = limits.get("strategy", "auto")
    limits["strategy"] = "auto" if strategy == MAP else strategy_name(strategy)
    limits["portfolio"] = portfolio_of(limits.get("portfolio"))
    asker, question = asker_of(explainer).about(Question(**query))
    checked_target(asker.model, question.target)
    asker.check_classes()
    job = Job(asker, question, Options(**limits), None)
    row = rows_at(sample_of(explainer), np.zeros(1, dtype=np.int64))
    if not has_no_rows(row):
        _read(job, row)  # checks costs and constraints
    return job


def check_names(what: str, names: Iterable[Any], possible: Iterable[Any]) -> None:
    """Raise InputError unless all names are possible ones."""
    listed = list(possible)
    for name in names:
        if name not in listed:
            raise InputError(
                f"unknown {what} {name!r}.{close_names(name, listed)} Use names of "
                f"{', '.join(sorted(map(str, listed)))}."
            )


def _read(job: Job, rows: Any) -> BatchRows:
    """Read a batch; other than those of a whole table, its rows may all be without an answer."""
    try:
        return read_batch(job.asker, job.question, rows)
    except NothingAdmissibleError:
        return rows_of(job.asker.model, rows)
