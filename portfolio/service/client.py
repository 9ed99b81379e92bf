"""Asks a service as one asks an explainer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from encoders.errors import CounterfolioError, InputError, UnavailableBackendError
from encoders.query.constraints import Constraint
from encoders.query.cost import Norm
from portfolio.result import Result
from portfolio.service.bodies_sent import body_of
from portfolio.service.client_jobs import Call, Calls, JobQuestions, run_calls
from portfolio.service.received import Answer, result_of
from portfolio.solving.progress import OnProgress

if TYPE_CHECKING:
    import httpx

GONE = "the service went before its answer was there."
BOUNDS = ("upper", "lower")
JSON = {"content-type": "application/json"}
LONGEST_S = 600.0  # seconds that a client waits for the service, which has limits of its own


class ServiceError(CounterfolioError, RuntimeError):
    """A service that does not answer a question that could be asked.

    Parameters
    ----------
    message : one sentence
    status : of HTTP, 0 where there was no answer at all
    retry_after_s : seconds after which to ask again, None where it does not say
    """

    def __init__(self, message: str, status: int = 0, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after_s = status, retry_after_s


class _Asks:
    """What both clients share: how a question is put, and how an answer is read."""

    def __init__(self, url: str, model: str, key: str | None, transport: Any) -> None:
        self._path = f"/v1/models/{model}"
        self._options: dict[str, Any] = {"base_url": url, "timeout": LONGEST_S}
        if key is not None and not key.isascii():
            raise InputError("an API key is ASCII text.")
        if key is not None:
            self._options["headers"] = {"authorization": f"Bearer {key}"}
        if transport is not None:
            self._options["transport"] = transport

    def _where(self, question: str) -> str:
        return f"{self._path}/{question.removeprefix('explain_').replace('_', '-')}"


class Client(_Asks, JobQuestions):
    """Asks one model of a service.

    Questions are methods with the names and arguments of an Explainer's: ``client.reasons(x)``,
    ``client.several(x, k=3)``. :meth:`explain` gives a :class:`Result`, the others an
    :class:`Answer`, whose members are those of their ``to_dict()``.

    Parameters
    ----------
    url : of the service, such as "http://127.0.0.1:8000"
    model : its name there
    key : an API key, if the service wants one
    transport : of httpx, None for the network

    Raises
    ------
    UnavailableBackendError
        The package httpx is not installed.
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
        """The cheapest change; see :meth:`Explainer.explain`.

        Parameters
        ----------
        x, target, norm, scale, weights, constraints, margin : as for :meth:`Explainer.explain`
        time_limit_s : seconds; None for what is usual at the service
        on_progress : called with (seconds, upper bound, lower bound)
        text : whether sentences are to come with it; without them ``str`` has all digits
        rounded : whether the same in fewer digits is to come with it; without it
            :attr:`Result.rounded` is None, and the answer comes sooner
        **more : strategy, tie_break, second, threads, seed, metric

        Raises
        ------
        InputError
            What the service says of the question.
        ServiceError
            It does not answer.
        """
        limit = {} if time_limit_s is None else {"time_limit_s": time_limit_s}
        given = {"target": target, "norm": norm, "scale": scale, "weights": weights,
                 "constraints": constraints, "margin": margin, "text": text,
                 "rounded": rounded, **limit, **more}  # fmt: skip
        body = body_of(x, given)
        if on_progress is None:
            return result_of(self._post("explain", body), x, target)
        where = self._where("explain") + "/stream"
        try:
            with self._http.stream("POST", where, content=body, headers=JSON) as response:
                if response.is_error:
                    response.read()
                    raise _refusal(response.status_code, response.content, response.headers)
                events = _Events(on_progress)
                for line in response.iter_lines():
                    if (answer := events.hear(line)) is not None:
                        return result_of(answer, x, target)
        except _httpx().TransportError as error:
            raise _unreached(error) from error
        raise ServiceError(GONE)

    def record(self, x: Any, **arguments: Any) -> Any:
        """The record of the cheapest change, with a proof; see :meth:`Result.record`.

        Parameters
        ----------
        x, **arguments : as for :meth:`explain`
        """
        from portfolio.proofs.record import Record

        return Record(self._post("explain", body_of(x, arguments | {"record": True}))["record"])

    def ask(self, question: str, x: Any, **arguments: Any) -> Answer:
        """Any question by name.

        Parameters
        ----------
        question : a method of :class:`Explainer` about a row, such as "reasons"
        x : the row
        **arguments : of that method, by name

        Raises
        ------
        InputError
            What the service says of the question.
        ServiceError
            It does not answer.
        """
        document = self._post(question, body_of(x, arguments))
        return Answer(document["answer"], document["text"], document)

    def described(self) -> dict[str, Any]:
        """The model: classes, columns, features, digest, and an example of a row."""
        try:
            return _document(self._http.get(self._path))
        except _httpx().TransportError as error:
            raise _unreached(error) from error

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _run(self, calls: Calls) -> Any:
        return run_calls(calls, self._send)

    def _send(self, call: Call) -> dict[str, Any]:
        try:
            return _document(
                self._http.request(call.method, call.path, content=call.body, headers=JSON)
            )
        except _httpx().TransportError as error:
            raise _unreached(error) from error

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        return partial(self.ask, _known(name))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _post(self, question: str, body: bytes) -> dict[str, Any]:
        try:
            return _document(self._http.post(self._where(question), content=body, headers=JSON))
        except _httpx().TransportError as error:
            raise _unreached(error) from error


class AsyncClient(_Asks, JobQuestions):
    """The same as :class:`Client`, to be awaited.

    Parameters
    ----------
    url, model, key, transport : as for :class:`Client`
    """

    def __init__(self, url: str, model: str, key: str | None = None, transport: Any = None) -> None:
        super().__init__(url, model, key, transport)
        self._http = _httpx().AsyncClient(**self._options)

    async def explain(
        self, x: Any, target: Any = None, on_progress: OnProgress | None = None, **more: Any
    ) -> Result:
        """The cheapest change; see :meth:`Client.explain`.

        Parameters
        ----------
        x, target, on_progress, **more : as for :meth:`Client.explain`
        """
        body = body_of(x, {"target": target, "text": True} | more)
        if on_progress is None:
            return result_of(await self._post("explain", body), x, target)
        where, events = self._where("explain") + "/stream", _Events(on_progress)
        try:
            async with self._http.stream("POST", where, content=body, headers=JSON) as response:
                if response.is_error:
                    content = await response.aread()
                    raise _refusal(response.status_code, content, response.headers)
                async for line in response.aiter_lines():
                    if (answer := events.hear(line)) is not None:
                        return result_of(answer, x, target)
        except _httpx().TransportError as error:
            raise _unreached(error) from error
        raise ServiceError(GONE)

    async def ask(self, question: str, x: Any, **arguments: Any) -> Answer:
        """Any question by name; see :meth:`Client.ask`.

        Parameters
        ----------
        question, x, **arguments : as for :meth:`Client.ask`
        """
        document = await self._post(question, body_of(x, arguments))
        return Answer(document["answer"], document["text"], document)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._http.aclose()

    async def _run(self, calls: Calls) -> Any:
        try:
            call = next(calls)
            while True:
                try:
                    await asyncio.sleep(call.after_s)
                    told = await self._send(call)
                except BaseException as error:
                    call = calls.throw(error)
                else:
                    call = calls.send(told)
        except StopIteration as end:
            return end.value

    async def _send(self, call: Call) -> dict[str, Any]:
        try:
            return _document(
                await self._http.request(call.method, call.path, content=call.body, headers=JSON)
            )
        except _httpx().TransportError as error:
            raise _unreached(error) from error

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Answer]]:
        return partial(self.ask, _known(name))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _post(self, question: str, body: bytes) -> dict[str, Any]:
        try:
            return _document(
                await self._http.post(self._where(question), content=body, headers=JSON)
            )
        except _httpx().TransportError as error:
            raise _unreached(error) from error


def _document(response: "httpx.Response") -> dict[str, Any]:
    if not response.is_success:
        raise _refusal(response.status_code, response.content, response.headers)
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        words = "what answers there is no service of counterfolio; look at the address."
        raise ServiceError(words, response.status_code)
    return found


def _refusal(status: int, content: bytes, headers: Mapping[str, str]) -> CounterfolioError:
    try:
        detail = str(json.loads(content)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the service answered with status {status}."
    if status == 422:
        return InputError(detail)
    wait = headers.get("retry-after", "")
    return ServiceError(detail, status, float(wait) if wait.isdigit() else None)


class _Events:
    """Server-sent events, as the service writes them."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress, self._name = on_progress, ""

    def hear(self, line: str) -> dict[str, Any] | None:
        """Pass on bounds; the answer's document once it is there; raises what was refused."""
        if line.startswith("event: "):
            self._name = line.removeprefix("event: ")
        if not line.startswith("data: "):
            return None
        event: dict[str, Any] = json.loads(line.removeprefix("data: "))
        if self._name == "answer":
            return event
        if self._name == "problem":
            raise _refusal(event["status"], json.dumps(event).encode(), {})
        if self._name != "bounds":
            return None
        upper, lower = (inf if event[own] is None else event[own] for own in BOUNDS)
        self._on_progress(event["seconds"], upper, lower)
        return None


def _known(name: str) -> str:
    from portfolio.questions.batch_job import settings_of

    try:
        settings_of(name)
    except InputError as error:
        raise AttributeError(str(error)) from None
    return name


def _unreached(error: Exception) -> ServiceError:
    return ServiceError(f"the service was not reached: {error or type(error).__name__}.")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise UnavailableBackendError(
            "asking a service needs httpx, which is not installed: "
            "pip install 'counterfolio[service]'."
        ) from error
    return httpx
