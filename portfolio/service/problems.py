"""Problem documents (RFC 9457): the error responses of the service."""

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from encoders.core.visible_text import visible

LONGEST = 2000  # characters of a sentence, which may quote values that a client sent
MEDIA_TYPE = "application/problem+json"
INVALID = 422  # KServe responds with 400 in its place


class ProblemDocument(BaseModel):
    """The body of an error response."""

    type: str
    title: str
    status: int
    detail: str = Field(description="The problem and the remedy.")


class Problem(HTTPException):
    """An error response: HTTP status code, the problem and the remedy, and further headers."""

    def document(self) -> dict[str, Any]:
        """Return the response body as a dict."""
        return ProblemDocument(
            type="about:blank",
            title=HTTPStatus(self.status_code).phrase,
            status=self.status_code,
            detail=clipped(self.detail),
        ).model_dump()

    def response(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse(self.document(), self.status_code, self.headers, MEDIA_TYPE)


def error_response(path: str, problem: Problem) -> JSONResponse:
    """Return the response of a path: the error of KServe's protocols, or a problem document."""
    if not (path == "/v2" or path.startswith("/v2/") or ":" in path.rpartition("/")[2]):
        return problem.response()
    status = 400 if problem.status_code == INVALID else problem.status_code
    return JSONResponse({"error": clipped(problem.detail)}, status, problem.headers)


def fault(number: str) -> Problem:
    """Return the problem that reports an internal error of a request."""
    return Problem(500, f"internal error (request id {number}). See the server log.")


def clipped(sentence: str) -> str:
    """Return a text without control characters; cut the middle of a very long one."""
    sentence = visible(sentence)
    if len(sentence) <= LONGEST:
        return sentence
    return f"{sentence[: LONGEST // 2]} [...] {sentence[-LONGEST // 2 :]}"


def described(problems: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route for these status codes."""
    schema = ProblemDocument.model_json_schema()
    return {
        code: {"description": words, "content": {MEDIA_TYPE: {"schema": schema}}}
        for code, words in problems.items()
    }
