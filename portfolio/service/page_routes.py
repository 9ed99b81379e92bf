"""Routes of the web page, of its pictures, of reports, and of the selector's state."""

import asyncio
import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Mount

from portfolio.proofs.report import report
from portfolio.service.bodies import StrictRoute
from portfolio.service.catalogue import Model
from portfolio.service.messages import EXPLAIN
from portfolio.service.problems import Problem
from portfolio.service.question_routes import INVALID
from portfolio.service.questions import QUESTIONS, Body
from portfolio.service.regret import Regrets
from portfolio.service.service import Service
from selector.diagram import load_diagram
from selector.diagram_places import SHIPPED
from selector.drawing import as_svg, as_text, flow_of

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
MADE = ("made", "logs", "rows", "data_sets", "backends", "objective", "alpha", "cores")


def page_routes(service: Service) -> APIRouter:
    """Return the routes of the page, which needs no API key; the requests that it sends do."""
    router = APIRouter(tags=["page"])

    @router.get("/", summary="Return the web page.")
    async def page() -> Response:
        return FileResponse(FILES / "index.html", media_type="text/html", headers=HEADERS)

    @router.get(
        "/v1/models/{name}/diagram.svg",
        summary="Draw the decision diagram, with a path through it.",
        responses=INVALID,
    )
    async def diagram(name: str, decision: str = "") -> Response:
        if len(decision) > LONGEST_DECISION:
            raise Problem(422, f"decision has more than {LONGEST_DECISION} characters. Send fewer.")
        model_diagram = service.model(name).explainer.diagram
        drawn = as_svg(model_diagram, flow_of(model_diagram), decision)
        return Response(drawn, media_type="image/svg+xml", headers=DOCUMENT)

    async def document(name: str, request: Request, body: Body) -> Response:
        arguments = body.arguments() | {"record": True}
        pending = service.request_of(request, name, QUESTIONS[EXPLAIN], arguments)
        answer = json.loads(await service.answer(request, pending))
        return HTMLResponse(report(answer["record"]), headers=DOCUMENT)

    document.__annotations__["body"] = QUESTIONS[EXPLAIN].body
    router.add_api_route(
        "/v1/models/{name}/report",
        document,
        methods=["POST"],
        summary="Return the answer as a report to keep and to print.",
        responses=INVALID,
        route_class_override=StrictRoute,
    )
    router.routes.append(Mount("/page", StaticFiles(directory=FILES), name="page files"))
    return router


def selector_routes(service: Service) -> APIRouter:
    """Return the route of the selector's state."""
    router = APIRouter(tags=["state"])
    settings = service.settings
    regrets = None if settings.logs is None else Regrets(settings.logs, settings.threads)
    shipped = load_diagram(SHIPPED).digest

    @router.get(
        "/v1/selector",
        summary="Return the decision diagrams, their decisions, and their regret in the logs.",
    )
    async def selector() -> dict[str, Any]:
        models = service.catalogue.models
        diagrams = {name: model.explainer.diagram for name, model in models.items()}
        by_model = {} if regrets is None else await asyncio.to_thread(regrets.of, diagrams)
        return {
            **service.learning.state(),
            "models": [
                {
                    "name": name,
                    "digest": model.digest,
                    "diagram": _described(model, shipped),
                    "decided": service.learning.decided(name),
                    "regret": by_model.get(name),
                }
                for name, model in models.items()
            ],
        }

    return router


def _described(model: Model, shipped: str) -> dict[str, Any]:
    diagram = model.explainer.diagram
    followed = "shipped" if model.diagram_digest == shipped else "promoted"
    return {
        "digest": model.diagram_digest,
        "origin": followed if model.explainer.follows_default else "the model's own",
        "made": {key: diagram.manifest[key] for key in MADE if key in diagram.manifest},
        "text": as_text(diagram, flow_of(diagram)),
    }
