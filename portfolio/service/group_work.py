"""Execution of groups, in a separate process, and storage of the results of groups and audits."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.errors import InputError
from portfolio.as_json import as_plain
from portfolio.batch.answer_log import TABLE
from portfolio.explainer import Explainer
from portfolio.questions.groups.audit import Audit
from portfolio.questions.groups.group import GroupRecourse
from portfolio.running.process import POLL_S
from portfolio.service.asking import meant
from portfolio.service.catalogue import Model
from portfolio.service.job_files import replace_synced
from portfolio.service.messages import GROUP, Ask, Bounds, Refused, Told
from portfolio.service.pool import Pool
from portfolio.service.ticket import Ticket

RESULT = "result.json"
ROWS = "X"


def ask_group(
    model: Model,
    arguments: dict[str, Any],
    X: pd.DataFrame,
    stop: threading.Event,
    on_bounds: Callable[[Bounds], None],
    memory_bytes: int = 0,
) -> Told | None:
    """Compute the actions of a group in a process that ends with it; return None if stopped."""
    ticket = Ticket(model, GROUP, arguments | {ROWS: X}, arguments["time_limit_s"], on_bounds)
    pool = Pool(1, 1, memory_bytes, arguments["threads"])
    pool.start([model])
    try:
        pool.submit(ticket)
        while not (ticket.future.done() or stop.wait(POLL_S)):
            pass
        if stop.is_set():
            ticket.stop()
            return None
        told = ticket.future.result()
    finally:
        pool.close()
    if isinstance(told, Refused):
        if told.why == "bug":
            raise RuntimeError(told.detail)
        raise InputError(told.detail)
    return told


def answer_group(explainer: Explainer, ask: Ask, on_bounds: Callable[[Bounds], None]) -> Told:
    """Compute the actions of a group in the worker process."""
    given = meant(explainer, ask.arguments)
    found: GroupRecourse = explainer.explain_group(
        **given, on_progress=lambda seconds, most, served: on_bounds(Bounds(seconds, most, served))
    )
    after = as_plain(found.counterfactuals.reset_index(names="id").to_dict("records"))
    told = {
        "answer": found.to_json(),
        "text": json.dumps(str(found)),
        "after": json.dumps(after, allow_nan=False),
    }
    return Told(told, found.status, "")


def keep_group(told: Told, folder: Path, answers: Path) -> None:
    """Store the result of a group and the rows after its actions."""
    keep(folder, f'{{"answer": {told.members["answer"]}, "text": {told.members["text"]}}}')
    answers.mkdir(exist_ok=True)
    rows = pd.DataFrame(json.loads(told.members["after"]))
    replace_synced(answers / TABLE, rows.to_parquet)


def keep_audit(found: Audit, folder: Path, answers: Path) -> None:
    """Store the result of an audit and the answers for its rows."""
    keep(folder, json.dumps({"answer": found.to_dict(), "text": str(found)}))
    rows = found.answers
    if len(rows):
        told = rows.assign(group=[str(own) for own in rows["group"]])
        replace_synced(answers / TABLE, told.to_parquet)


def keep(folder: Path, text: str) -> None:
    """Store a result as JSON."""
    replace_synced(folder / RESULT, text.encode())
