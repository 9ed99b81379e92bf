"""Problem documents (RFC 9457): the error responses of the service."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.types import Message

from encoders.visible_text import visible

LONGEST = 2000  # characters of a sentence, which may quote values that a client sent
MEDIA_TYPE = "application/problem+json"


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818
    """An error response.

    Attributes
    ----------
    status : int, HTTP status code
    detail : str, the problem and the remedy
    headers : dict, additional response headers
    more : dict, additional members of the document
    """

    status: int
    detail: str
    headers: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the response body as a dict."""
        title = HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "detail": clipped(self.detail),
            **self.more,
        }


def fault(number: str) -> Problem:
    """Return the problem that reports an internal error of a request."""
    return Problem(500, f"internal error (request id {number}). See the server log.")


def clipped(sentence: str) -> str:
    """Return a text without control characters; cut the middle of a very long one."""
    sentence = visible(sentence)
    if len(sentence) <= LONGEST:
        return sentence
    return f"{sentence[: LONGEST // 2]} [...] {sentence[-LONGEST // 2 :]}"


SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "The problem and the remedy."},
    },
}


async def respond(problem: Problem, send: Callable[[Message], Awaitable[None]]) -> None:
    """Send a problem document as the response."""
    body = json.dumps(problem.document()).encode()
    sent = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
