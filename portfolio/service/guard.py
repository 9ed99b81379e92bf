"""Middleware around every request: request id, authentication, headers, access log, faults."""

import logging
import os
import re
import time
from collections.abc import Iterator

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portfolio.service.identity import ApiKeys
from portfolio.service.log_lines import log_request
from portfolio.service.messages import READING
from portfolio.service.problems import Problem, error_response, fault
from portfolio.service.service import Service
from portfolio.service.settings import is_local

log = logging.getLogger("counterfolio.service")
REQUEST_ID = "x-request-id"
GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Open without a key: health checks, and the page, which contains nothing about a model.
ALIVE = ("/health", "/v2/health/live")
OPEN = ("/", "/ready", "/v2/health/ready", *ALIVE)
OPEN_FILES = "/page/"
KEY_DIGITS = 12  # of the digest of an API key, in the log
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Guard:
    """ASGI middleware for what comes before the body is read, and after the response.

    It checks the host or the API key, adds a request id and security headers, turns exceptions into
    problem documents, and logs the request.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._keys, self._tokens = ApiKeys(service.settings.keys), None
        if service.settings.tokens is not None:
            from portfolio.service.tokens import TokenVerifier  # an extra

            self._tokens = TokenVerifier(service.settings.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, headers = time.perf_counter(), Headers(scope=scope)
        requested = headers.get(REQUEST_ID, "")
        number = requested if GIVEN_ID.fullmatch(requested) else os.urandom(16).hex()
        about: dict[str, str] = {}  # what routes add to the log
        tracing = self._service.tracing if scope["path"] not in OPEN else None
        span = None if tracing is None else tracing.start_request(scope, headers, number)
        scope.setdefault("state", {}).update(request_id=number, about=about, span=span)
        status, ended = 0, False

        async def answer(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *self._headers(message, number)]
            await send(message)
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            problem = await self._refusal(scope, headers)
            response = error_response(scope["path"], problem) if problem else self._app
            await response(scope, receive, answer)
        except Exception:
            log.exception("request %s failed", number)
            if status and not ended:
                raise
            if not ended:
                response = error_response(scope["path"], fault(number))
                await response(scope, receive, answer)
        finally:
            self._service.metrics.requested(status)
            if tracing is not None and span is not None:
                tracing.end_request(span, scope, status)
            line = {"request": number, "method": scope["method"], "path": scope["path"],
                    "key": scope["state"].get("owner", "")[:KEY_DIGITS], **about,
                    "status": status, "seconds": round(time.perf_counter() - began, 6)}  # fmt: skip
            log_request(log, line)

    def _headers(self, message: Message, number: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the headers to add to a response."""
        yield REQUEST_ID.encode(), number.encode()
        yield b"x-content-type-options", b"nosniff"
        if all(name != POLICY[0] for name, _ in message.get("headers", ())):
            yield POLICY
        if self._service.draining:
            yield b"connection", b"close"

    async def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        """Return the reason why a request is refused before its body is read, if there is one."""
        try:
            await self._admit(scope, headers)
        except Problem as problem:
            return problem
        if self._service.loading and scope["path"] not in ALIVE:
            return Problem(503, READING, {"Retry-After": "1"})
        return None

    async def _admit(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem if the host, the API key or the rate of requests is refused."""
        path, owner, settings = scope["path"], None, self._service.settings
        is_open = path in OPEN or path.startswith(OPEN_FILES)
        if not (settings.guarded or settings.behind_gateway):
            host = headers.get("host", "").lower()
            name = host.partition("]")[0] + "]" if host[:1] == "[" else host.partition(":")[0]
            if not is_local(name):
                words = "the server has no API keys, so host"
                raise Problem(421, f"{words} {name[:80]!r} is refused. Use localhost.")
        elif settings.guarded and not is_open:
            scope["state"]["owner"] = owner = await self._owner_of(headers)
        if not is_open:
            await self._service.requests.take(owner)

    async def _owner_of(self, headers: Headers) -> str:
        """Return the digest that identifies a client; raise Problem if it is unknown."""
        scheme, _, credential = headers.get("authorization", "").partition(" ")
        credential = credential.strip() if scheme.lower() == "bearer" else ""
        owner = self._keys.owner_of(credential)
        if owner is None and self._tokens is not None and credential.count(".") == 2:
            owner = await self._tokens.owner_of(credential)
        if owner is None:
            words = "the API key is missing or wrong. Send it as Authorization: Bearer KEY."
            raise Problem(401, words, {"WWW-Authenticate": "Bearer"}, "no-key")
        return owner
