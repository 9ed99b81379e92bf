"""The page for people, and the pictures and documents in it."""

import json
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Mount

from portfolio.proofs.report import report
from portfolio.service.bodies import read_json
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
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes(service: Service) -> APIRouter:
    """Routes of the page, which needs no key itself; what it asks for does.

    Parameters
    ----------
    service : that it asks
    """
    router = APIRouter(tags=["page"])

    @router.get("/", summary="A page to ask from.")
    async def page() -> Response:
        return FileResponse(FILES / "index.html", media_type="text/html", headers=HEADERS)

    @router.get("/v1/models/{name}/diagram.svg", summary="The decision diagram, and a way in it.")
    async def diagram(name: str, decision: str = "") -> Response:
        if len(decision) > LONGEST_DECISION:
            raise Problem(422, f"decision has more than {LONGEST_DECISION} characters.")
        own = service.model(name).explainer.diagram
        return Response(as_svg(own, flow_of(own), decision), media_type="image/svg+xml")

    @router.post(
        "/v1/models/{name}/report",
        summary="The answer as a page to keep and to print.",
        openapi_extra={"requestBody": request_body(service, QUESTIONS[EXPLAIN])},
    )
    async def document(name: str, request: Request) -> Response:
        model, question = service.model(name), QUESTIONS[EXPLAIN]
        body = await read_json(request, service.settings.largest_body)
        if not isinstance(body, dict):
            raise Problem(422, "the body: a question is an object.")
        told = await service.ask(request, model, question, body | {"record": True})
        return HTMLResponse(report(json.loads(told)["record"]))

    router.routes.append(Mount("/page", StaticFiles(directory=FILES), name="page files"))
    return router
