"""Routes of each question about a row, with and without streaming."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import create_model

from portfolio.service.bodies import StrictRoute
from portfolio.service.messages import EXPLAIN
from portfolio.service.problems import described
from portfolio.service.questions import QUESTIONS, Body, ServedQuestion
from portfolio.service.record_schemas import answer_types, model_of
from portfolio.service.schemas import QuestionAnswer
from portfolio.service.service import Service

EVENTS = "text/event-stream"
STREAMED = {"description": "Events named bounds, then one named answer or problem."}
PROBLEMS = described(
    {
        400: "The body is not valid JSON.",
        401: "An API key is needed.",
        404: "No such model.",
        413: "The body is too large.",
        415: "The body is not application/json.",
        422: "The request is invalid; the detail says why.",
        429: "The queue is full; Retry-After says when to retry.",
        503: "The worker crashed, or the service is not ready or is shutting down.",
    }
)
INVALID: dict[int | str, dict[str, Any]] = {422: PROBLEMS[422]}


def question_routes(service: Service) -> APIRouter:
    """Return the routes of all questions."""
    router = APIRouter(prefix="/v1/models/{name}", tags=["questions"], route_class=StrictRoute)
    types = answer_types()
    events: dict[str, Any] = STREAMED | {"content": {EVENTS: {}}}
    # Routes are tried in order: the usual question comes first.
    for question in sorted(QUESTIONS.values(), key=lambda each: each.name != EXPLAIN):
        name, kind = question.body.__name__.replace("Question", "Answer"), types[question.method]
        members: dict[str, Any] = {"answer": (model_of(kind), ...)}
        model = create_model(name, __base__=QuestionAnswer, __doc__=question.summary, **members)
        answer: dict[str, Any] = {"description": "The answer.", "model": model}
        for path, streams in ((f"/{question.name}", False), (f"/{question.name}/stream", True)):
            router.add_api_route(
                path,
                _handler(service, question, streams),
                methods=["POST"],
                name=path[1:].replace("/", "-"),
                summary=question.summary + (" Server-sent events." if streams else ""),
                responses={200: events if streams else answer, **PROBLEMS},
                response_class=StreamingResponse if streams else Response,
            )
    return router


def _handler(
    service: Service, question: ServedQuestion, streams: bool
) -> Callable[[str, Request, Body], Awaitable[Response]]:
    async def ask(name: str, request: Request, body: Body) -> Response:
        pending = service.request_of(request, name, question, body.arguments())
        if streams or EVENTS in request.headers.get("accept", ""):
            events = await service.stream(pending)
            return StreamingResponse(
                events, headers={"Cache-Control": "no-store"}, media_type=EVENTS
            )
        return Response(await service.answer(request, pending), media_type="application/json")

    ask.__annotations__["body"] = question.body
    return ask
