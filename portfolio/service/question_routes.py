"""Routes of each question, with and without streaming, and a middleware that skips routing."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from portfolio.service.answer_schemas import ANSWER
from portfolio.service.bodies import header, read_json
from portfolio.service.content import QuestionContent
from portfolio.service.example_bodies import body_about_a_row
from portfolio.service.problems import MEDIA_TYPE, SCHEMA, Problem, respond
from portfolio.service.questions import QUESTIONS, ServedQuestion
from portfolio.service.service import Service

MODELS = "/v1/models/"
EVENTS = "text/event-stream"
PROBLEMS = {
    400: "The body is not valid JSON.",
    401: "An API key is needed.",
    404: "No such model.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request is invalid; the detail says why.",
    429: "The queue is full; Retry-After says when to retry.",
    503: "The worker crashed, or the service is not ready or is shutting down.",
}
Handler = Callable[[str, Request], Awaitable[Response]]


class Shortcut:
    """ASGI middleware that answers questions without the routing of the framework.

    The routes exist nevertheless: for OpenAPI, and for requests that are not plain POST requests.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._handlers = {
            name + ending: _handler(service, question, bool(ending))
            for name, question in QUESTIONS.items()
            for ending in ("", "/stream")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        name, _, question = scope.get("path", "").removeprefix(MODELS).partition("/")
        handler = self._handlers.get(question)
        plain = scope.get("method") == "POST" and not scope.get("root_path")
        if handler is None or not plain or not name or not scope["path"].startswith(MODELS):
            await self._app(scope, receive, send)
            return
        try:
            response = await handler(name, Request(scope, receive, send))
        except Problem as problem:
            await respond(problem, send)
        else:
            await response(scope, receive, send)


def question_routes(service: Service) -> APIRouter:
    """Return the routes of all questions."""
    router = APIRouter(prefix=MODELS + "{name}", tags=["questions"])
    for question in QUESTIONS.values():
        for path, streams in ((f"/{question.name}", False), (f"/{question.name}/stream", True)):
            router.add_api_route(
                path,
                _handler(service, question, streams),
                methods=["POST"],
                name=path[1:].replace("/", "-"),
                summary=question.summary + (" Server-sent events." if streams else ""),
                responses=_responses(streams),
                openapi_extra={"requestBody": request_body(service, question)},
                response_class=Response,
            )
    return router


def _handler(service: Service, question: ServedQuestion, streams: bool) -> Handler:
    async def ask(name: str, request: Request) -> Response:
        model = service.model(name)
        content = await read_json(request, service.settings.largest_body)
        arguments = await service.reader.read(QuestionContent(content, question.name))
        if streams or EVENTS in header(request.scope, b"accept"):
            events = await service.stream(request, model, question, arguments)
            fresh = {"Cache-Control": "no-store"}
            return StreamingResponse(events, headers=fresh, media_type=EVENTS)
        answer = await service.ask(request, model, question, arguments)
        return Response(answer, media_type="application/json")

    return ask


def _responses(streams: bool) -> dict[int | str, dict[str, Any]]:
    problems: dict[int | str, dict[str, Any]] = {
        code: {"description": words, "content": {MEDIA_TYPE: {"schema": SCHEMA}}}
        for code, words in PROBLEMS.items()
    }
    kind = EVENTS if streams else "application/json"
    words = "Events named bounds, then one named answer or problem." if streams else "The answer."
    media: dict[str, Any] = {} if streams else {"schema": ANSWER}
    return {200: {"description": words, "content": {kind: media}}, **problems}


def request_body(service: Service, question: ServedQuestion) -> dict[str, Any]:
    """Return the OpenAPI request body of a question, with an example for each model."""
    models = service.catalogue.models.values()
    bodies = {model.name: body_about_a_row(question, model) for model in models}
    examples = {name: {"value": body} for name, body in bodies.items() if body is not None}
    schema = question.body.model_json_schema()
    return {
        "required": True,
        "content": {"application/json": {"schema": schema, "examples": examples}},
    }
