"""HTTP clients of a counterfolio service, with the methods of an Explainer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from encoders.core.errors import CounterfolioError, InputError, UnavailableBackendError
from encoders.query.constraints import Constraint
from encoders.query.cost import Norm
from portfolio.client.jobs import Call, Calls, JobQuestions, body_of, run_calls
from portfolio.client.received import Answer, result_of
from portfolio.engine.progress import OnProgress
from portfolio.results.result import Result

if TYPE_CHECKING:
    import httpx

GONE = "the service closed the connection before it answered. Retry later."
BOUNDS = ("upper", "lower")
JSON = {"content-type": "application/json"}
LONGEST_S = 600.0  # seconds that a client waits for a response; the service has shorter limits


class ServiceError(CounterfolioError, RuntimeError):
    """An error of the service: unreachable, overloaded, not authorised, or an internal error.

    Invalid requests raise :class:`InputError` instead.

    Parameters
    ----------
    message : str
        The problem in one sentence.
    status : int, default 0
        HTTP status code; 0 if the service did not respond.
    retry_after_s : float or None, default None
        Seconds after which to retry; None if the service gives none.

    Examples
    --------
    >>> from counterfolio import ServiceError
    >>> error = ServiceError("the queue of requests is full. Retry later.", 429, 2.0)
    >>> error.status, error.retry_after_s
    (429, 2.0)
    """

    def __init__(self, message: str, status: int = 0, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after_s = status, retry_after_s


class _Requests(JobQuestions):
    """Base class of both clients: paths, headers and requests."""

    def __init__(self, url: str, model: str, key: str | None, transport: Any) -> None:
        self._path = f"/v1/models/{model}"
        self._options: dict[str, Any] = {"base_url": url, "timeout": LONGEST_S}
        if key is not None and not key.isascii():
            raise InputError("the API key contains non-ASCII characters. Use an ASCII key.")
        if key is not None:
            self._options["headers"] = {"authorization": f"Bearer {key}"}
        if transport is not None:
            self._options["transport"] = transport

    def _posted(
        self,
        question: str,
        x: Any,
        members: Mapping[str, Any],
        on_progress: OnProgress | None = None,
    ) -> Calls:
        """Yield the request of a question about a row and return its document."""
        path = f"{self._path}/{question.removeprefix('explain_').replace('_', '-')}"
        if on_progress is not None:
            path += "/stream"
        return (yield Call("POST", path, body_of(x, members), on_progress=on_progress))

    def _explained(
        self, x: Any, members: Mapping[str, Any], on_progress: OnProgress | None
    ) -> Calls:
        """Yield the request of an explanation and return its result."""
        document = yield from self._posted("explain", x, members, on_progress)
        return result_of(document, x, members["target"])


class Client(_Requests):
    """A client for one model of a service.

    It has the question methods of an :class:`Explainer` under the same names and with the same
    arguments: ``client.reasons(x)``, ``client.several(x, k=3)``. :meth:`explain` returns a
    :class:`Result`, :meth:`explain_group` and :meth:`audit` return what they return in process.
    All others return an :class:`Answer` with the members of ``to_dict()`` as attributes.

    Parameters
    ----------
    url : str
        Address of the service, such as "http://127.0.0.1:8000".
    model : str
        Name of the model at the service.
    key : str or None, default None
        API key, if the service requires one.
    transport : httpx transport or None, default None
        Transport to use instead of the network.

    Raises
    ------
    InputError
        If the key is not ASCII text.
    UnavailableBackendError
        If the package httpx is not installed.

    Examples
    --------
    >>> from counterfolio import Client
    >>> with Client("http://127.0.0.1:8000", "demo") as client:  # doctest: +SKIP
    ...     print(client.explain(row))
    ...     print(client.reasons(row))
    """

    def __init__(self, url: str, model: str, key: str | None = None, transport: Any = None) -> None:
        super().__init__(url, model, key, transport)
        self._http = _httpx().Client(**self._options)

    def explain(
        self,
        x: Any,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float | None = None,
        on_progress: OnProgress | None = None,
        text: bool = True,
        rounded: bool = True,
        **more: Any,
    ) -> Result:
        """Find the cheapest change with which the model reaches a target.

        See :meth:`Explainer.explain` for the arguments.

        Parameters
        ----------
        x : Series, DataFrame of one row, mapping, or array of shape (n_columns,)
            The query.
        target : label, goal or None, default None
            Class or goal to reach; None for any other class.
        norm : float, "inf" or mapping, default 1
            Norm of the distance, or costs by feature and value. Functions are not supported.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of a change in a numeric feature.
        weights : mapping, sequence of float or None, default None
            Weights of the features in the distance, by name or in order.
        constraints : sequence of Constraint, default ()
            Constraints on the answer.
        margin : float or None, default None
            Minimum lead of the target class over every other class.
        time_limit_s : float or None, default None
            Time limit in seconds; None for the default of the service.
        on_progress : callable or None, default None
            Function that is called with (seconds, upper bound, lower bound).
        text : bool, default True
            Request sentences with rounded numbers; if False, ``str`` prints all digits.
        rounded : bool, default True
            Request the answer with rounded values; if False, the answer is faster and
            :attr:`Result.rounded` is None.
        **more : object
            Further arguments: strategy, portfolio, tie_break, second, threads, seed, metric.

        Returns
        -------
        Result
            The answer, without parts that need the model: attempts, region and record.

        Raises
        ------
        InputError
            If the service rejects the request.
        ServiceError
            If the service cannot be reached or fails.

        Examples
        --------
        >>> from counterfolio import Client, Fixed
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> client.explain(row, target="granted", constraints=[Fixed("age")])  # doctest: +SKIP
        """
        limit = {} if time_limit_s is None else {"time_limit_s": time_limit_s}
        members = {"target": target, "norm": norm, "scale": scale, "weights": weights,
                   "constraints": constraints, "margin": margin, "text": text,
                   "rounded": rounded, **limit, **more}  # fmt: skip
        result: Result = self._run(self._explained(x, members, on_progress))
        return result

    def record(self, x: Any, **arguments: Any) -> Any:
        """Return the record of the cheapest change, with a proof that others can check.

        See :meth:`Result.record`.

        Parameters
        ----------
        x : Series, DataFrame of one row, mapping, or array of shape (n_columns,)
            The query.
        **arguments : object
            Further arguments of :meth:`explain`.

        Returns
        -------
        Record
            The record; ``record.proved`` is False if it has no proof.

        Raises
        ------
        InputError
            If the service rejects the request.
        ServiceError
            If the service cannot be reached or fails.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> client.record(row).write("record.json")  # doctest: +SKIP
        """
        from portfolio.proofs.record import Record

        document = self._run(self._posted("explain", x, arguments | {"record": True}))
        return Record(document["record"])

    def ask(self, question: str, x: Any, **arguments: Any) -> Answer:
        """Answer a question about a row, given the name of the Explainer method.

        Parameters
        ----------
        question : str
            Name of a method of :class:`Explainer` that takes a row, such as "reasons".
        x : Series, DataFrame of one row, mapping, or array of shape (n_columns,)
            The query.
        **arguments : object
            Further arguments of that method.

        Returns
        -------
        Answer
            The answer, with the members of ``to_dict()`` as attributes.

        Raises
        ------
        InputError
            If the service rejects the request.
        ServiceError
            If the service cannot be reached or fails.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> print(client.ask("reasons", row))  # doctest: +SKIP
        """
        return _answer(self._run(self._posted(question, x, arguments)))

    def described(self) -> dict[str, Any]:
        """Return the model's description: classes, columns, features, digest and an example row.

        Returns
        -------
        dict
            Description of the model as plain Python values.

        Raises
        ------
        ServiceError
            If the service cannot be reached or has no such model.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # doctest: +SKIP
        >>> client.described()["classes"]  # doctest: +SKIP
        """
        description: dict[str, Any] = self._run(_sent(Call("GET", self._path)))
        return description

    def close(self) -> None:
        """Close the connection.

        Examples
        --------
        >>> from counterfolio import Client
        >>> client = Client("http://127.0.0.1:8000", "loans")  # connects at the first request
        >>> client.close()
        """
        self._http.close()

    def _run(self, calls: Calls) -> Any:
        return run_calls(calls, self._send)

    def _send(self, call: Call) -> dict[str, Any]:
        with _transport_errors():
            if call.on_progress is None:
                return _document(self._http.request(*call.request, content=call.body, headers=JSON))
            events = _Events(call.on_progress)
            with self._http.stream(*call.request, content=call.body, headers=JSON) as response:
                if response.is_error:
                    response.read()
                    raise _refusal(response)
                for line in response.iter_lines():
                    if (answer := events.hear(line)) is not None:
                        return answer
        raise ServiceError(GONE)

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        return partial(self.ask, _known(name))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncClient(_Requests):
    """An asynchronous client for one model of a service.

    It has the methods of :class:`Client`; each must be awaited.

    Parameters
    ----------
    url : str
        Address of the service, such as "http://127.0.0.1:8000".
    model : str
        Name of the model at the service.
    key : str or None, default None
        API key, if the service requires one.
    transport : httpx transport or None, default None
        Transport to use instead of the network.

    Raises
    ------
    InputError
        If the key is not ASCII text.
    UnavailableBackendError
        If the package httpx is not installed.

    Examples
    --------
    >>> from counterfolio import AsyncClient
    >>> async def ask():
    ...     async with AsyncClient("http://127.0.0.1:8000", "demo") as client:
    ...         return await client.explain(row)
    """

    def __init__(self, url: str, model: str, key: str | None = None, transport: Any = None) -> None:
        super().__init__(url, model, key, transport)
        self._http = _httpx().AsyncClient(**self._options)

    async def explain(
        self, x: Any, target: Any = None, on_progress: OnProgress | None = None, **more: Any
    ) -> Result:
        """Find the cheapest change with which the model reaches a target.

        Parameters
        ----------
        x : Series, DataFrame of one row, mapping, or array of shape (n_columns,)
            The query.
        target : label, goal or None, default None
            Class or goal to reach; None for any other class.
        on_progress : callable or None, default None
            Function that is called with (seconds, upper bound, lower bound).
        **more : object
            Further arguments of :meth:`Client.explain`.

        Returns
        -------
        Result
            The answer, without parts that need the model: attempts, region and record.

        Raises
        ------
        InputError
            If the service rejects the request.
        ServiceError
            If the service cannot be reached or fails.

        Examples
        --------
        >>> async def ask(client):
        ...     return await client.explain(row, target="granted")
        """
        members = {"target": target, "text": True} | more
        result: Result = await self._run(self._explained(x, members, on_progress))
        return result

    async def ask(self, question: str, x: Any, **arguments: Any) -> Answer:
        """Answer a question about a row, given the name of the Explainer method.

        Parameters
        ----------
        question : str
            Name of a method of :class:`Explainer` that takes a row, such as "reasons".
        x : Series, DataFrame of one row, mapping, or array of shape (n_columns,)
            The query.
        **arguments : object
            Further arguments of that method.

        Returns
        -------
        Answer
            The answer, with the members of ``to_dict()`` as attributes.

        Raises
        ------
        InputError
            If the service rejects the request.
        ServiceError
            If the service cannot be reached or fails.

        Examples
        --------
        >>> async def ask(client):
        ...     return await client.ask("reasons", row)
        """
        return _answer(await self._run(self._posted(question, x, arguments)))

    async def close(self) -> None:
        """Close the connection.

        Examples
        --------
        >>> import asyncio
        >>> from counterfolio import AsyncClient
        >>> asyncio.run(AsyncClient("http://127.0.0.1:8000", "loans").close())
        """
        await self._http.aclose()

    async def _run(self, calls: Calls) -> Any:
        try:
            call = next(calls)
            while True:
                try:
                    await asyncio.sleep(call.after_s)
                    document = await self._send(call)
                except BaseException as error:
                    call = calls.throw(error)
                else:
                    call = calls.send(document)
        except StopIteration as end:
            return end.value

    async def _send(self, call: Call) -> dict[str, Any]:
        with _transport_errors():
            sent = {"content": call.body, "headers": JSON}
            if call.on_progress is None:
                return _document(await self._http.request(*call.request, **sent))
            events = _Events(call.on_progress)
            async with self._http.stream(*call.request, **sent) as response:
                if response.is_error:
                    await response.aread()
                    raise _refusal(response)
                async for line in response.aiter_lines():
                    if (answer := events.hear(line)) is not None:
                        return answer
        raise ServiceError(GONE)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Answer]]:
        return partial(self.ask, _known(name))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def _sent(call: Call) -> Calls:
    """Yield a request and return its document."""
    return (yield call)


def _answer(document: dict[str, Any]) -> Answer:
    return Answer(document["answer"], document["text"], document)


@contextmanager
def _transport_errors() -> Iterator[None]:
    """Raise ServiceError if the service cannot be reached."""
    try:
        yield
    except _httpx().TransportError as error:
        reason = error or type(error).__name__
        raise ServiceError(f"the service cannot be reached ({reason}). Check its URL.") from error


def _document(response: "httpx.Response") -> dict[str, Any]:
    if not response.is_success:
        raise _refusal(response)
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        words = "the server at this URL is not a counterfolio service. Check the URL."
        raise ServiceError(words, response.status_code)
    return document


def _refusal(response: "httpx.Response") -> CounterfolioError:
    """Return the error of a response that has been read."""
    status = response.status_code
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the service responded with status {status}. See its log."
    wait = response.headers.get("retry-after", "")
    return _error(status, detail, float(wait) if wait.isdigit() else None)


def _error(status: int, detail: str, retry_after_s: float | None = None) -> CounterfolioError:
    return InputError(detail) if status == 422 else ServiceError(detail, status, retry_after_s)


class _Events:
    """A parser of the server-sent events that the service writes."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress, self._name = on_progress, ""

    def hear(self, line: str) -> dict[str, Any] | None:
        """Report bounds, return the document of an answer, or raise the error of a problem."""
        if line.startswith("event: "):
            self._name = line.removeprefix("event: ")
        if not line.startswith("data: "):
            return None
        event: dict[str, Any] = json.loads(line.removeprefix("data: "))
        if self._name == "answer":
            return event
        if self._name == "problem":
            raise _error(event["status"], event["detail"])
        if self._name != "bounds":
            return None
        upper, lower = (inf if event[bound] is None else event[bound] for bound in BOUNDS)
        self._on_progress(event["seconds"], upper, lower)
        return None


def _known(name: str) -> str:
    from portfolio.batch.questions import settings_of

    try:
        settings_of(name)
    except InputError as error:
        raise AttributeError(str(error)) from None
    return name


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise UnavailableBackendError(
            "the client needs httpx, which is not installed. Run "
            "pip install 'counterfolio[service]'."
        ) from error
    return httpx
