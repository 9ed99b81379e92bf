"""The ASGI application: routes of a service, with errors as problem documents."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from portfolio.service import answer_schemas
from portfolio.service.guard import Guard
from portfolio.service.job_routes import job_routes
from portfolio.service.jobs_asked import AskJobs, JobsHere
from portfolio.service.page_routes import page_routes
from portfolio.service.pool import CLOSING
from portfolio.service.problems import MEDIA_TYPE, Problem, fault
from portfolio.service.question_routes import Shortcut, question_routes
from portfolio.service.selector_routes import selector_routes
from portfolio.service.service import Service
from portfolio.service.settings import Settings

ABOUT = (
    "Exact counterfactual explanations for tree ensembles: the smallest change to a row with which "
    "the model predicts something else, with a proof. Errors are problem documents (RFC 9457) "
    "whose `detail` states the problem and the remedy."
)


def create_app(
    settings: Settings, jobs: AskJobs | None = None, warm_early: bool = False
) -> "Application":
    """Return an ASGI application that explains predictions of models.

    Models are loaded at once; workers start with the application. Further routes can be added.
    They find the :class:`portfolio.service.service.Service` in ``app.state.service``.
    """
    service = Service(settings, warm_early)
    if jobs is None and service.jobs is not None:
        jobs = JobsHere(service.jobs)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        beside = [
            asyncio.create_task(task) for task in (service.keep_fresh(), service.tell_start())
        ]
        try:
            yield
        finally:
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await asyncio.to_thread(service.close)

    app = Application(
        title="counterfolio",
        version=version("counterfolio"),
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
    )
    app.keyed = bool(settings.keys)
    app.state.service = service
    app.include_router(_state_routes(service))
    app.include_router(question_routes(service))
    if jobs is not None:
        app.include_router(job_routes(service, jobs))
    app.include_router(page_routes(service))
    app.include_router(selector_routes(service))
    app.add_exception_handler(Problem, _as_problem)
    app.add_exception_handler(HTTPException, _as_problem)
    app.add_exception_handler(RequestValidationError, _as_problem)
    app.add_exception_handler(Exception, _as_fault)
    app.front = Guard(Shortcut(app.routed, service), service)
    return app


class Application(FastAPI):
    """A FastAPI application whose guard runs before the framework sees a request.

    Attributes
    ----------
    front : ASGIApp, the guard
    keyed : bool, True if requests need an API key
    error : None, for the protocol :class:`portfolio.service.starting.Served`
    """

    front: ASGIApp
    keyed: bool
    error: Exception | None = None

    @property
    def service(self) -> Service:
        """The service that the application exposes."""
        service: Service = self.state.service
        return service

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description of all paths, with the API key if one is needed."""
        described = super().openapi()
        schemes = described.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["key"] = {"type": "http", "scheme": "bearer", "description": "An API key."}
        described["security"] = [{"key": []}] if self.keyed else []
        return described

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.front(scope, receive, send)

    async def routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the framework's routes."""
        await super().__call__(scope, receive, send)


def _state_routes(service: Service) -> APIRouter:
    """Return the routes for models, health, readiness and metrics."""
    router = APIRouter()

    def failed() -> dict[str, Any]:
        return {"failed": [each.summary() for each in service.catalogue.failures.values()]}

    @router.get(
        "/health",
        tags=["state"],
        summary="Check that the process is alive.",
        responses=answer_schemas.described(answer_schemas.HEALTH),
    )
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @router.get(
        "/ready",
        tags=["state"],
        summary="Check that a worker is ready.",
        responses=answer_schemas.described(answer_schemas.READY),
    )
    async def ready() -> dict[str, Any]:
        if service.draining:
            raise Problem(503, CLOSING, {"Retry-After": "1"})
        if not service.pool.ready:
            raise Problem(503, service.pool.why, {"Retry-After": "1"})
        return {"status": "ready"} | failed()

    for path, handler in (("/health", health), ("/ready", ready)):  # load balancers send HEAD
        router.add_api_route(path, handler, methods=["HEAD"], include_in_schema=False)

    @router.get("/metrics", tags=["state"], summary="Return metrics for Prometheus.")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    @router.get(
        "/v1/models",
        tags=["models"],
        summary="List all models.",
        responses=answer_schemas.described(answer_schemas.MODELS),
    )
    async def models() -> dict[str, Any]:
        described = [model.described() for model in service.catalogue.models.values()]
        return {"models": described} | failed()

    @router.get(
        "/v1/models/{name}",
        tags=["models"],
        summary="Return one model: classes, columns and features.",
        responses=answer_schemas.described(answer_schemas.MODEL),
    )
    async def model(name: str) -> JSONResponse:
        return JSONResponse(service.model(name).described())

    return router


async def _as_fault(request: Request, error: Exception) -> Response:
    return await _as_problem(request, fault(request.state.request_id))


async def _as_problem(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == 404:
        path = request.url.path[:80]
        error = Problem(404, f"unknown path {path!r}. See GET /openapi.json for all paths.")
    if isinstance(error, HTTPException):
        error = Problem(error.status_code, f"{error.detail}.", dict(error.headers or {}))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        error = Problem(422, f"{first['loc'][-1]}: {first['msg']}.")
    assert isinstance(error, Problem)
    body = json.dumps(error.document())
    return Response(body, error.status, error.headers, MEDIA_TYPE)
