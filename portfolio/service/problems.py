"""What went wrong with a request: a document as of RFC 9457, with one sentence of ours."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.types import Message

from encoders.visible_text import visible

LONGEST = 2000  # characters of a sentence; those of who sends much are in it
MEDIA_TYPE = "application/problem+json"


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818
    """An answer that is an error.

    Attributes
    ----------
    status : of HTTP
    detail : one sentence: what, where, and what to do
    headers : to be sent with it
    more : further members of the document
    """

    status: int
    detail: str
    headers: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The body."""
        title = HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "detail": clipped(self.detail),
            **self.more,
        }


def fault(number: str) -> Problem:
    """What a bug of ours is told as."""
    words = f"a fault of the service, which its log tells under the request id {number}."
    return Problem(500, words)


def clipped(sentence: str) -> str:
    """Return the sentence without control characters, and its middle where it is very long."""
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
        "detail": {"type": "string", "description": "One sentence: what, where, what to do."},
    },
}


async def respond(problem: Problem, send: Callable[[Message], Awaitable[None]]) -> None:
    """Send a problem document."""
    body = json.dumps(problem.document()).encode()
    sent = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
