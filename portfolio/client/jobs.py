"""Request bodies of clients, and methods that start a job, wait for it and read its result."""

import json
from asyncio import CancelledError
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from time import sleep
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from encoders.core.errors import CounterfolioError, InputError
from portfolio.client.received import audit_of, group_of
from portfolio.engine.progress import OnAnswer, OnProgress
from portfolio.model.frames import as_pandas
from portfolio.questions.codec import encode_settings
from portfolio.results.codec import encode

Document = dict[str, Any]  # a JSON document
PAGE = 1000  # rows per request
LOOKS_S = (0.05, 1.0)  # seconds between polls: first, longest
GROUP, AUDIT = "explain_group", "audit"  # questions that run as jobs
MADE = {GROUP: group_of, AUDIT: audit_of}


@dataclass(frozen=True)
class Call:
    """An HTTP request, sent after a delay.

    Attributes
    ----------
    method, path : str, HTTP method and path.
    body : bytes or None, encoded JSON.
    after_s : float, seconds to wait before sending.
    on_progress : callable or None, function that hears the bounds in a stream of events.
    """

    method: str
    path: str
    body: bytes | None = None
    after_s: float = 0.0
    on_progress: OnProgress | None = None

    @property
    def request(self) -> tuple[str, str]:
        """Method and path."""
        return self.method, self.path


class JobError(CounterfolioError, RuntimeError):
    """A job that ended without a result, because it was cancelled or failed."""


Calls = Generator[Call, Document, Any]


class JobQuestions:
    """Client methods about many rows; each runs as a job of the service.

    The service needs a folder for jobs: ``counterfolio serve --jobs FOLDER``.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", "loans")  # nothing listens at this port
    >>> try:
    ...     client.explain_group(X, actions=2, target="granted")
    ... except ServiceError:
    ...     print("start the service first")
    start the service first
    """

    _path: str

    def _run(self, calls: Calls) -> Any:
        """Send requests; return the result, or an awaitable of it."""
        raise NotImplementedError

    def explain_group(self, X: Any, on_progress: OnProgress | None = None, **arguments: Any) -> Any:
        """Find a few actions that give recourse to as many rows as possible.

        Ctrl-C cancels the job. See :meth:`Explainer.explain_group` for the arguments.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            The rows.
        on_progress : callable or None, default None
            Function that is called with (seconds, upper bound, lower bound) of the rows served.
        **arguments : object
            Further arguments of :meth:`Explainer.explain_group`.

        Returns
        -------
        GroupRecourse
            The actions and the rows that each of them serves.

        Raises
        ------
        InputError
            If the service rejects the request, or the job failed.
        ServiceError
            If the service cannot be reached or fails.
        JobError
            If the job was cancelled.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> print(client.explain_group(X, actions=2, target="granted"))  # doctest: +SKIP
        """

        def tell(state: Document) -> None:
            if on_progress is not None and state["bounds"] is not None:
                bounds = state["bounds"]
                on_progress(bounds["seconds"], bounds["upper"], bounds["lower"])

        return self._run(job_calls(self._path, GROUP, X, arguments, tell))

    def audit(
        self, X: Any, by: Any, target: Any, on_answer: OnAnswer | None = None, **arguments: Any
    ) -> Any:
        """Compare the cost of recourse between groups of rows.

        Ctrl-C cancels the job. See :meth:`Explainer.audit` for the arguments.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            The rows.
        by : str or sequence of length n_rows
            Feature or column that defines the groups, or a group for each row.
        target : label or goal
            The favourable outcome.
        on_answer : callable or None, default None
            Function that is called with (rows answered, all rows).
        **arguments : object
            Further arguments of :meth:`Explainer.audit`.

        Returns
        -------
        Audit
            The cost of recourse by group, and the differences between groups.

        Raises
        ------
        InputError
            If the service rejects the request, or the job failed.
        ServiceError
            If the service cannot be reached or fails.
        JobError
            If the job was cancelled.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> print(client.audit(X, by="sex", target="granted"))  # doctest: +SKIP
        """

        def tell(state: Document) -> None:
            if on_answer is not None and state["rows"] is not None:
                on_answer(state["answered"], state["rows"])

        whole = arguments | {"by": by, "target": target}
        return self._run(job_calls(self._path, AUDIT, X, whole, tell))

    def resume(self, job: str) -> Any:
        """Resume a job that failed for lack of disk space; its answers are kept.

        Parameters
        ----------
        job : str
            Id of the job, which the error message contains.

        Returns
        -------
        dict
            State of the job: id, state, answered, rows and more.

        Raises
        ------
        ServiceError
            If the job does not exist, or did not fail for lack of disk space.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> client.resume("0f8fad5b")["state"]  # doctest: +SKIP
        """
        return self._run(_resumed(job))


def _resumed(job: str) -> Calls:
    return (yield Call("POST", f"/v1/jobs/{quote(job, safe='')}/resume"))


def job_calls(
    path: str, question: str, X: Any, arguments: Mapping[str, Any], tell: Callable[[Document], None]
) -> Calls:
    """Yield the requests of a job, receive their documents, and return the result."""
    frame, _ = as_pandas(X)
    if not isinstance(frame, pd.DataFrame):
        described = yield Call("GET", path)
        frame = pd.DataFrame(np.asarray(frame), columns=described["columns"])
    state = yield Call("POST", f"{path}/{question}", _body(frame, arguments))
    where, wait_s = f"/v1/jobs/{state['id']}", LOOKS_S[0]
    try:
        while state["state"] in ("queued", "running"):
            state = yield Call("GET", where, after_s=wait_s)
            wait_s = min(2 * wait_s, LOOKS_S[1])
            tell(state)
    except (KeyboardInterrupt, CancelledError):
        yield Call("DELETE", where)
        raise
    if state["state"] == "failed":
        raise InputError(state["message"])
    if state["state"] != "done":
        raise JobError(f"the job {state['id']} was {state['state']}. Start it again.")
    document = yield Call("GET", f"{where}/result")
    rows: list[Document] = []
    while True:
        page = (yield Call("GET", f"{where}/results?offset={len(rows)}&limit={PAGE}"))["rows"]
        rows += page
        if len(page) < PAGE:
            break
    return MADE[question](document["answer"], rows, list(frame.index), arguments.get("target"))


def run_calls(calls: Calls, send: Callable[[Call], Document]) -> Any:
    """Send requests one after another and return the result."""
    try:
        call = next(calls)
        while True:
            try:
                sleep(call.after_s)
                document = send(call)
            except BaseException as error:
                call = calls.throw(error)
            else:
                call = calls.send(document)
    except StopIteration as end:
        return end.value


def _body(frame: pd.DataFrame, arguments: Mapping[str, Any]) -> bytes:
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    for name, column in named.items():
        if pd.api.types.is_float_dtype(column) and np.isinf(column).any():
            raise InputError(f"column {name!r} has an infinite value. Give finite numbers.")
    if not isinstance(arguments.get("by", ""), str):
        arguments = {**arguments, "by": list(arguments["by"])}
    return _encode_body(arguments, {"rows": encode(named.to_dict("records"))})


def body_of(x: Any, arguments: Mapping[str, Any]) -> bytes:
    """Return the request body as encoded JSON."""
    return _encode_body({**arguments, "x": x}, {})


def _encode_body(arguments: Mapping[str, Any], more: Mapping[str, Any]) -> bytes:
    settings = {name: value for name, value in arguments.items() if value is not None}
    return json.dumps({**encode_settings(settings), **more}, allow_nan=False).encode()
