"""Groups and audits asked of a service: a job is begun, waited for, and read."""

import json
from asyncio import CancelledError
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from time import sleep
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from encoders.errors import CounterfolioError, InputError
from portfolio.as_json import as_plain
from portfolio.batch.settings import OnAnswer
from portfolio.model.frames import as_pandas
from portfolio.service.bodies_sent import members_of
from portfolio.service.messages import AUDIT, GROUP
from portfolio.service.received_groups import audit_of, group_of
from portfolio.solving.progress import OnProgress

Told = dict[str, Any]  # a document
PAGE = 1000  # rows
LOOKS_S = (0.05, 1.0)  # seconds between looks, at first and at most
MADE = {GROUP: group_of, AUDIT: audit_of}


@dataclass(frozen=True)
class Call:
    """A request to be sent, after a while.

    Attributes
    ----------
    method, path : of it
    body : of JSON, None for none
    after_s : seconds to wait before
    """

    method: str
    path: str
    body: bytes | None = None
    after_s: float = 0.0


class JobError(CounterfolioError, RuntimeError):
    """A job that was ended, by somebody else or a fault."""


Calls = Generator[Call, Told, Any]


class JobQuestions:
    """What clients ask about many rows; each is a job of the service."""

    _path: str

    def _run(self, calls: Calls) -> Any:
        """Send requests, and give what comes of them: at once, or to be awaited."""
        raise NotImplementedError

    def explain_group(self, X: Any, on_progress: OnProgress | None = None, **arguments: Any) -> Any:
        """A few actions that serve many rows; see :meth:`Explainer.explain_group`.

        Ctrl-C ends the job.

        Parameters
        ----------
        X, on_progress, **arguments : as for :meth:`Explainer.explain_group`

        Returns
        -------
        GroupRecourse

        Raises
        ------
        InputError
            What the service says of the question.
        ServiceError, JobError
            It does not answer, or the job was ended.
        """

        def tell(told: Told) -> None:
            if on_progress is not None and told["bounds"] is not None:
                bounds = told["bounds"]
                on_progress(bounds["seconds"], bounds["upper"], bounds["lower"])

        return self._run(job_calls(self._path, GROUP, X, arguments, tell))

    def audit(
        self, X: Any, by: Any, target: Any, on_answer: OnAnswer | None = None, **arguments: Any
    ) -> Any:
        """What recourse costs groups; see :meth:`Explainer.audit`.

        Ctrl-C ends the job.

        Parameters
        ----------
        X, by, target, on_answer, **arguments : as for :meth:`Explainer.audit`

        Returns
        -------
        Audit

        Raises
        ------
        InputError
            What the service says of the question.
        ServiceError, JobError
            It does not answer, or the job was ended.
        """

        def tell(told: Told) -> None:
            if on_answer is not None and told["rows"] is not None:
                on_answer(told["answered"], told["rows"])

        whole = arguments | {"by": by, "target": target}
        return self._run(job_calls(self._path, AUDIT, X, whole, tell))

    def resume(self, job: str) -> Any:
        """Go on with a job that failed for lack of room; what is answered is kept.

        Parameters
        ----------
        job : its id, which the error names

        Returns
        -------
        How the job stands, by name.

        Raises
        ------
        ServiceError
            There is no such job, or it failed for another reason or not at all.
        """
        return self._run(_resumed(job))


def _resumed(job: str) -> Calls:
    return (yield Call("POST", f"/v1/jobs/{quote(job, safe='')}/resume"))


def job_calls(
    path: str, question: str, X: Any, arguments: Mapping[str, Any], tell: Callable[[Told], None]
) -> Calls:
    """The requests of a question about many rows; sent their documents, it returns the result."""
    frame, _ = as_pandas(X)
    if not isinstance(frame, pd.DataFrame):
        described = yield Call("GET", path)
        frame = pd.DataFrame(np.asarray(frame), columns=described["columns"])
    told = yield Call("POST", f"{path}/{question}", _body(frame, arguments))
    where, wait_s = f"/v1/jobs/{told['id']}", LOOKS_S[0]
    try:
        while told["state"] in ("queued", "running"):
            told = yield Call("GET", where, after_s=wait_s)
            wait_s = min(2 * wait_s, LOOKS_S[1])
            tell(told)
    except (KeyboardInterrupt, CancelledError):
        yield Call("DELETE", where)
        raise
    if told["state"] == "failed":
        raise InputError(told["message"])
    if told["state"] != "done":
        raise JobError(f"the job {told['id']} was {told['state']}.")
    found = yield Call("GET", f"{where}/result")
    rows: list[Told] = []
    while True:
        page = (yield Call("GET", f"{where}/results?offset={len(rows)}&limit={PAGE}"))["rows"]
        rows += page
        if len(page) < PAGE:
            break
    return MADE[question](found["answer"], rows, list(frame.index), arguments.get("target"))


def run_calls(calls: Calls, send: Callable[[Call], Told]) -> Any:
    """Send requests one after another, and give what comes of them."""
    try:
        call = next(calls)
        while True:
            try:
                sleep(call.after_s)
                told = send(call)
            except BaseException as error:
                call = calls.throw(error)
            else:
                call = calls.send(told)
    except StopIteration as end:
        return end.value


def _body(frame: pd.DataFrame, arguments: Mapping[str, Any]) -> bytes:
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    for name, column in named.items():
        if pd.api.types.is_float_dtype(column) and np.isinf(column).any():
            raise InputError(f"{name} is infinite in some row; give finite numbers.")
    given = {name: own for name, own in arguments.items() if own is not None}
    if not isinstance(given.get("by", ""), str):
        given["by"] = list(given["by"])
    rows = as_plain(named.to_dict("records"))
    return json.dumps(members_of(given) | {"rows": rows}, allow_nan=False).encode()
