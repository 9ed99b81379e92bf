"""The FastAPI application of a service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from portfolio.service.catalogue import Model
from portfolio.service.example_bodies import examples_of
from portfolio.service.guard import Guard
from portfolio.service.job_routes import job_routes, routes_without_jobs
from portfolio.service.kserve_routes import kserve_routes
from portfolio.service.messages import CLOSING
from portfolio.service.page_routes import page_routes, selector_routes
from portfolio.service.problems import Problem, error_response
from portfolio.service.question_routes import INVALID, question_routes
from portfolio.service.questions import sentence_of
from portfolio.service.row_routes import row_routes
from portfolio.service.schemas import Health, ModelDescription, ModelList, Ready
from portfolio.service.service import Service
from portfolio.service.settings import Settings

ABOUT = (
    "Exact counterfactual explanations for tree ensembles: the smallest change to a row with which "
    "the model predicts something else, with a proof. Errors are problem documents (RFC 9457) "
    "whose `detail` states the problem and the remedy."
)
BEARER = {"type": "http", "scheme": "bearer", "description": "An API key, or a token."}


def create_app(settings: Settings, early: bool = False) -> FastAPI:
    """Return an application that explains predictions of models.

    Models are loaded at once, or after the start if ``early``; until then all paths except
    ``/health`` respond with status 503. Workers start with the application. Further routes can be
    added. They find the :class:`portfolio.service.service.Service` in ``app.state.service``.
    """
    service = Service(settings)
    if not early:
        service.load()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if service.loading:
            service.start_early()
        else:
            service.start()
        background = [asyncio.create_task(service.keep_fresh())]
        background.append(asyncio.create_task(service.log_start()))
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="counterfolio",
        version=version("counterfolio"),
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
    )
    app.state.service = service
    app.add_middleware(Guard, service=service)
    accepts_jobs = settings.jobs is not None
    app.include_router(question_routes(service))  # first, as routes are tried in order
    app.include_router(_state_routes(service, accepts_jobs))
    app.include_router(row_routes(service))
    app.include_router(kserve_routes(service))
    app.include_router(job_routes(service) if accepts_jobs else routes_without_jobs())
    app.include_router(page_routes(service))
    app.include_router(selector_routes(service))
    for error in (HTTPException, RequestValidationError):
        app.add_exception_handler(error, _respond)
    app.openapi = partial(_described, app, app.openapi)  # type: ignore[method-assign]
    return app


def _described(app: FastAPI, openapi: Any) -> dict[str, Any]:
    """Return the OpenAPI description of all paths, with the API key and examples of bodies."""
    if app.openapi_schema is None:
        service: Service = app.state.service
        schema = openapi()
        schema["components"]["securitySchemes"] = {"key": BEARER}
        schema["security"] = [{"key": []}] if service.settings.guarded else []
        for path, methods in schema["paths"].items():
            body = methods.get("post", {}).get("requestBody")
            if body is not None:
                examples = examples_of(path, service.catalogue.models)
                body["content"]["application/json"]["examples"] = examples
    assert app.openapi_schema is not None
    return app.openapi_schema


def _state_routes(service: Service, has_jobs: bool) -> APIRouter:
    """Return the routes for models, health, readiness and metrics."""
    router = APIRouter()

    def failed() -> list[dict[str, Any]]:
        return [each.summary() for each in service.catalogue.failures.values()]

    def described(model: Model) -> dict[str, Any]:
        settings = service.settings
        return model.described() | {
            "ready": service.pool.ready,
            "jobs": has_jobs,
            "rows": model.shown is not None and settings.shows_rows,
            "limits": {"time_limit_s": settings.longest_s, "usual_s": settings.usual_s},
        }

    @router.get("/health", tags=["state"], summary="Check that the process is alive.")
    async def health() -> Health:
        return Health()

    @router.get("/ready", tags=["state"], summary="Check that a worker is ready.")
    async def ready() -> Ready:
        if service.draining:
            raise Problem(503, CLOSING, {"Retry-After": "1"})
        if not service.pool.ready:
            raise Problem(503, service.pool.why, {"Retry-After": "1"})
        return Ready.model_validate({"failed": failed()})

    for path, handler in (("/health", health), ("/ready", ready)):  # load balancers send HEAD
        router.add_api_route(path, handler, methods=["HEAD"], include_in_schema=False)

    @router.get("/metrics", tags=["state"], summary="Return metrics for Prometheus.")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    @router.get("/v1/models", tags=["models"], summary="List all models.", response_model=ModelList)
    async def models() -> dict[str, Any]:
        every = [described(model) for model in service.catalogue.models.values()]
        return {"models": every, "failed": failed()}

    @router.get(
        "/v1/models/{name}",
        tags=["models"],
        summary="Return one model: classes, columns and features.",
        response_model=ModelDescription,
        responses=INVALID,
    )
    async def model(name: str) -> dict[str, Any]:
        return described(service.model(name))

    return router


async def _respond(request: Request, error: Exception) -> JSONResponse:
    """Return the response to an error of the framework, or to one of ours."""
    path = request.url.path
    return error_response(path, _problem_of(request.method, path[:80], error))


def _problem_of(method: str, path: str, error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return Problem(422, sentence_of(error.errors()))
    assert isinstance(error, HTTPException)
    remedy = "See GET /openapi.json for all paths."
    if error.status_code == 404:
        return Problem(404, f"unknown path {path!r}. {remedy}")
    if error.status_code == 405:
        return Problem(405, f"{path!r} does not support {method}. {remedy}", error.headers)
    return Problem(error.status_code, f"{error.detail}.", error.headers)
