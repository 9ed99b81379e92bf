"""Routes of the web page, of its pictures and of reports."""

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
# Load nothing from other hosts, and run no inline scripts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

# Documents without scripts and with inline styles.
DOCUMENT = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
    )
}


def page_routes(service: Service) -> APIRouter:
    """Return the routes of the page, which needs no API key; the requests that it sends do."""
    router = APIRouter(tags=["page"])

    @router.get("/", summary="Return the web page.")
    async def page() -> Response:
        return FileResponse(FILES / "index.html", media_type="text/html", headers=HEADERS)

    @router.get(
        "/v1/models/{name}/diagram.svg",
        summary="Draw the decision diagram, with a path through it.",
    )
    async def diagram(name: str, decision: str = "") -> Response:
        if len(decision) > LONGEST_DECISION:
            raise Problem(422, f"decision has more than {LONGEST_DECISION} characters. Send fewer.")
        model_diagram = service.model(name).explainer.diagram
        drawn = as_svg(model_diagram, flow_of(model_diagram), decision)
        return Response(drawn, media_type="image/svg+xml", headers=DOCUMENT)

    @router.post(
        "/v1/models/{name}/report",
        summary="Return the answer as a report to keep and to print.",
        openapi_extra={"requestBody": request_body(service, QUESTIONS[EXPLAIN])},
    )
    async def document(name: str, request: Request) -> Response:
        model, question = service.model(name), QUESTIONS[EXPLAIN]
        content = await read_json(request, service.settings.largest_body)
        arguments = await service.reader.read(QuestionContent(content, EXPLAIN))
        answer = await service.ask(request, model, question, arguments | {"record": True})
        return HTMLResponse(report(json.loads(answer)["record"]), headers=DOCUMENT)

    router.routes.append(Mount("/page", StaticFiles(directory=FILES), name="page files"))
    return router
