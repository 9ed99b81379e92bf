"""Problem documents (RFC 9457): the error responses of the service."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from encoders.core.errors import CounterfolioError, InputError
from encoders.core.visible_text import visible
from portfolio.service.messages import CODES

LONGEST = 2000  # characters of a sentence, which may quote values that a client sent
LONGEST_ARGUMENT = 200  # characters of a name or a value
MEDIA_TYPE = "application/problem+json"
INVALID = 422  # KServe responds with 400 in its place


class ProblemDocument(BaseModel):
    """The body of an error response."""

    type: str
    title: str
    status: int
    detail: str = Field(description="The problem and the remedy.")
    code: str = Field(default="", description="Identifier of the detail, for other languages.")
    arguments: dict[str, str | float] = Field(
        default_factory=dict, description="Names and values in the detail, if it has a code."
    )


class Problem(HTTPException):
    """An error response: HTTP status code, the problem and the remedy, and further headers.

    Attributes
    ----------
    code : str, identifier of the detail for programs that word it themselves, "" without one
    arguments : dict, names and values in the detail
    """

    def __init__(
        self,
        status_code: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        code: str = "",
        **arguments: str | float,
    ) -> None:
        super().__init__(status_code, detail, headers)
        self.code, self.arguments = code or CODES.get(detail, ""), arguments

    def document(self) -> dict[str, Any]:
        """Return the response body as a dict."""
        return ProblemDocument(
            type="about:blank",
            title=HTTPStatus(self.status_code).phrase,
            status=self.status_code,
            detail=clipped(self.detail),
            code=self.code,
            arguments=clipped_arguments(self.arguments),
        ).model_dump(exclude_defaults=True)

    def response(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse(self.document(), self.status_code, self.headers, MEDIA_TYPE)


def error_response(path: str, problem: Problem) -> JSONResponse:
    """Return the response of a path: the error of KServe's protocols, or a problem document."""
    if not (path == "/v2" or path.startswith("/v2/") or ":" in path.rpartition("/")[2]):
        return problem.response()
    status = 400 if problem.status_code == INVALID else problem.status_code
    return JSONResponse({"error": clipped(problem.detail)}, status, problem.headers)


def invalid(error: CounterfolioError) -> Problem:
    """Return the problem that reports an error of the input."""
    if isinstance(error, InputError):
        return Problem(INVALID, str(error), None, error.code, **error.arguments)
    return Problem(INVALID, str(error))


def fault(number: str) -> Problem:
    """Return the problem that reports an internal error of a request."""
    words = f"internal error (request id {number}). See the server log."
    return Problem(500, words, None, "internal-error", number=number)


def clipped(sentence: str, longest: int = LONGEST) -> str:
    """Return a text without control characters; cut the middle of a very long one."""
    sentence = visible(sentence)
    if len(sentence) <= longest:
        return sentence
    return f"{sentence[: longest // 2]} [...] {sentence[-longest // 2 :]}"


def clipped_arguments(arguments: Mapping[str, str | float]) -> dict[str, str | float]:
    """Return names and values without control characters; cut long ones."""
    return {
        name: clipped(value, LONGEST_ARGUMENT) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def described(problems: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route for these status codes."""
    schema = ProblemDocument.model_json_schema()
    return {
        code: {"description": words, "content": {MEDIA_TYPE: {"schema": schema}}}
        for code, words in problems.items()
    }
