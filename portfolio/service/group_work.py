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
from portfolio.service.messages import GROUP, Ask, Bounds, Refused, Reply
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
) -> Reply | None:
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
        answer = ticket.future.result()
    finally:
        pool.close()
    if isinstance(answer, Refused):
        if answer.why == "bug":
            raise RuntimeError(answer.detail)
        raise InputError(answer.detail)
    return answer


def answer_group(explainer: Explainer, ask: Ask, on_bounds: Callable[[Bounds], None]) -> Reply:
    """Compute the actions of a group in the worker process."""
    arguments = meant(explainer, ask.arguments)
    result: GroupRecourse = explainer.explain_group(
        **arguments,
        on_progress=lambda seconds, most, served: on_bounds(Bounds(seconds, most, served)),
    )
    after = as_plain(result.counterfactuals.reset_index(names="id").to_dict("records"))
    members = {
        "answer": result.to_json(),
        "text": json.dumps(str(result)),
        "after": json.dumps(after, allow_nan=False),
    }
    return Reply(members, result.status, "")


def keep_group(answer: Reply, folder: Path, answers: Path) -> None:
    """Store the result of a group and the rows after its actions."""
    keep(folder, f'{{"answer": {answer.members["answer"]}, "text": {answer.members["text"]}}}')
    answers.mkdir(exist_ok=True)
    rows = pd.DataFrame(json.loads(answer.members["after"]))
    replace_synced(answers / TABLE, rows.to_parquet)


def keep_audit(audit: Audit, folder: Path, answers: Path) -> None:
    """Store the result of an audit and the answers for its rows."""
    keep(folder, json.dumps({"answer": audit.to_dict(), "text": str(audit)}))
    rows = audit.answers
    if len(rows):
        named = rows.assign(group=[str(group) for group in rows["group"]])
        replace_synced(answers / TABLE, named.to_parquet)


def keep(folder: Path, text: str) -> None:
    """Store a result as JSON."""
    replace_synced(folder / RESULT, text.encode())
