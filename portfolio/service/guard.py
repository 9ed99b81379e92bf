"""Middleware around every request: request id, authentication, headers, access log, faults."""

import hashlib
import hmac
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portfolio.service.problems import Problem, fault
from portfolio.service.service import READING, Service
from portfolio.service.settings import is_local

log = logging.getLogger("counterfolio.service")
REQUEST_ID = "x-request-id"
GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Open without a key: health checks, and the page, which contains nothing about a model.
ALIVE = ("/health", "/v2/health/live")
OPEN = ("/", "/ready", "/v2/health/ready", *ALIVE)
OPEN_FILES = "/page/"
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


def owner_of(request: Request) -> str | None:
    """Return the digest of the API key of a request; None if the service needs no key."""
    owner: str | None = getattr(request.state, "owner", None)
    return owner


class Guard:
    """ASGI middleware for what comes before the body is read, and after the response.

    It checks the host or the API key, adds a request id and security headers, turns exceptions into
    problem documents, and logs the request.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._keys = [key.encode() for key in sorted(service.settings.keys)]
        self._owners = [hashlib.sha256(key).hexdigest()[:32] for key in self._keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, headers = time.perf_counter(), Headers(scope=scope)
        requested = headers.get(REQUEST_ID, "")
        number = requested if GIVEN_ID.fullmatch(requested) else os.urandom(16).hex()
        scope.setdefault("state", {})["request_id"] = number
        status, ended = 0, False

        async def answer(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *self._headers(message, number)]
            await send(message)
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            problem = self._refusal(scope, headers)
            await (problem.response() if problem else self._app)(scope, receive, answer)
        except Exception:
            log.exception("request %s failed", number)
            if status and not ended:
                raise
            if not ended:
                await fault(number).response()(scope, receive, answer)
        finally:
            self._service.metrics.requested(status)
            line = {"request": number, "method": scope["method"], "path": scope["path"],
                    "status": status, "seconds": round(time.perf_counter() - began, 6)}  # fmt: skip
            _line(line)

    def _headers(self, message: Message, number: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the headers to add to a response."""
        yield REQUEST_ID.encode(), number.encode()
        yield b"x-content-type-options", b"nosniff"
        if all(name != POLICY[0] for name, _ in message.get("headers", ())):
            yield POLICY
        if self._service.draining:
            yield b"connection", b"close"

    def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        path = scope["path"]
        if self._service.settings.behind_gateway:
            return self._while_loading(path)
        if not self._keys:
            host = headers.get("host", "").lower()
            name = host.partition("]")[0] + "]" if host[:1] == "[" else host.partition(":")[0]
            if not is_local(name):
                words = "the server has no API keys, so host"
                return Problem(421, f"{words} {name[:80]!r} is refused. Use localhost.")
        elif not (self._known(scope, headers) or path in OPEN or path.startswith(OPEN_FILES)):
            words = "the API key is missing or wrong. Send it as Authorization: Bearer KEY."
            return Problem(401, words, {"WWW-Authenticate": "Bearer"})
        return self._while_loading(path)

    def _while_loading(self, path: str) -> Problem | None:
        """Return the problem of requests that need the models, until these are loaded."""
        if self._service.loading and path not in ALIVE:
            return Problem(503, READING, {"Retry-After": "1"})
        return None

    def _known(self, scope: Scope, headers: Headers) -> bool:
        scheme, _, credential = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return False
        # Compare with every key, so that the time does not depend on the key.
        sent = credential.strip().encode()
        same = [hmac.compare_digest(sent, key) for key in self._keys]
        if any(same):
            scope["state"]["owner"] = self._owners[same.index(True)]
        return any(same)


def _line(members: dict[str, Any]) -> None:
    """Log a request, without the slow look-up of the calling function."""
    if log.isEnabledFor(logging.INFO):
        about = (log.name, logging.INFO, __file__, 0, "request", (), None)
        log.handle(log.makeRecord(*about, extra={"members": members}))


class JsonLines(logging.Formatter):
    """A formatter that writes one JSON object per line."""

    def __init__(self) -> None:
        super().__init__()
        self._last = 0, ""  # last second and its text, which lines share

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": self._time_of(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "members", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)

    def _time_of(self, record: logging.LogRecord) -> str:
        (second, text), now = self._last, int(record.created)
        if second != now:
            text = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
            self._last = now, text
        return text
