"""The page for people, and the pictures and documents in it."""

import json
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Mount

from portfolio.proofs.report import report
from portfolio.service.bodies import read_json
from portfolio.service.content import QuestionContent
from portfolio.service.problems import Problem
from portfolio.service.question_routes import request_body
from portfolio.service.questions import EXPLAIN, QUESTIONS
from portfolio.service.service import Service
from selector.drawing import as_svg, flow_of

FILES = Path(__file__).parent / "page"
LONGEST_DECISION = 10_000
# Nothing is fetched from elsewhere, and no text becomes a script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

# Documents without scripts, which bring their own styles.
DOCUMENT = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
    )
}


def page_routes(service: Service) -> APIRouter:
    """Routes of the page, which needs no key itself; what it asks for does."""
    router = APIRouter(tags=["page"])

    @router.get("/", summary="A page to ask from.")
    async def page() -> Response:
        return FileResponse(FILES / "index.html", media_type="text/html", headers=HEADERS)

    @router.get("/v1/models/{name}/diagram.svg", summary="The decision diagram, and a way in it.")
    async def diagram(name: str, decision: str = "") -> Response:
        if len(decision) > LONGEST_DECISION:
            raise Problem(422, f"decision has more than {LONGEST_DECISION} characters.")
        own = service.model(name).explainer.diagram
        drawn = as_svg(own, flow_of(own), decision)
        return Response(drawn, media_type="image/svg+xml", headers=DOCUMENT)

    @router.post(
        "/v1/models/{name}/report",
        summary="The answer as a page to keep and to print.",
        openapi_extra={"requestBody": request_body(service, QUESTIONS[EXPLAIN])},
    )
    async def document(name: str, request: Request) -> Response:
        model, question = service.model(name), QUESTIONS[EXPLAIN]
        content = await read_json(request, service.settings.largest_body)
        arguments = await service.reader.read(QuestionContent(content, EXPLAIN))
        told = await service.ask(request, model, question, arguments | {"record": True})
        return HTMLResponse(report(json.loads(told)["record"]), headers=DOCUMENT)

    router.routes.append(Mount("/page", StaticFiles(directory=FILES), name="page files"))
    return router
