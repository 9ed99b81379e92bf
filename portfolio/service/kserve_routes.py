"""Routes of KServe: ``:explain`` of the V1 protocol, and the Open Inference Protocol V2."""

import asyncio
import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from portfolio.service.bodies import StrictRoute
from portfolio.service.kserve_bodies import InferBody, InstancesBody, datatype_of, question_of
from portfolio.service.problems import Problem
from portfolio.service.service import Service

AT_ONCE = 8  # rows of a request that are queued at the same time
EXPLANATIONS = "explanations"


def kserve_routes(service: Service) -> APIRouter:
    """Return the routes of both protocols."""
    router = APIRouter(tags=["KServe"])
    router.include_router(_question_routes(service))
    router.include_router(_state_routes(service))
    return router


def _question_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=StrictRoute)

    @router.post("/v1/models/{name}:explain", summary="Explain rows (KServe V1).")
    async def explain_rows(name: str, request: Request, body: InstancesBody) -> Response:
        answers = await _answers(service, request, name, body.parameters, body.instances)
        return JSONResponse({EXPLANATIONS: answers})

    @router.post("/v2/models/{name}/infer", summary="Explain rows (Open Inference Protocol V2).")
    async def infer(name: str, request: Request, body: InferBody) -> Response:
        answers = await _answers(service, request, name, body.parameters, body.rows())
        texts = [json.dumps(answer) for answer in answers]
        output = {"name": EXPLANATIONS, "shape": [len(texts)], "datatype": "BYTES", "data": texts}
        reply = {"model_name": name, "outputs": [output]}
        return JSONResponse(reply if body.id is None else reply | {"id": body.id})

    return router


async def _answers(
    service: Service, request: Request, name: str, parameters: dict[str, Any], rows: Sequence[Any]
) -> list[Any]:
    """Return the answers to a question about some rows; the first invalid row fails all."""
    service.model(name)
    question, arguments = question_of(parameters, rows)
    room = asyncio.Semaphore(max(1, min(AT_ONCE, service.settings.most_waiting)))

    async def answer(each: dict[str, Any]) -> Any:
        async with room:
            pending = service.request_of(request, name, question, each)
            return json.loads(await service.answer(request, pending))["answer"]

    tasks = [asyncio.create_task(answer(each)) for each in arguments]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _state_routes(service: Service) -> APIRouter:
    """Return the routes of health, and of the descriptions of server and models."""
    router = APIRouter()

    def check_ready() -> None:
        if service.draining or not service.pool.ready:
            raise Problem(503, service.pool.why, {"Retry-After": "1"})

    @router.get("/v2/health/live", summary="Check that the process is alive.")
    async def live() -> dict[str, bool]:
        return {"live": True}

    @router.get("/v2/health/ready", summary="Check that a worker is ready.")
    async def ready() -> dict[str, bool]:
        check_ready()
        return {"ready": True}

    @router.get("/v2", summary="Describe the server.")
    async def server() -> dict[str, Any]:
        return {"name": "counterfolio", "version": version("counterfolio"), "extensions": []}

    @router.get("/v2/models/{name}/ready", summary="Check that a model is ready.")
    async def model_ready(name: str) -> dict[str, Any]:
        service.model(name)
        check_ready()
        return {"name": name, "ready": True}

    @router.get("/v2/models/{name}", summary="Describe the tensors of a model.")
    async def model(name: str) -> dict[str, Any]:
        example = service.model(name).example
        inputs = [
            {"name": column, "datatype": datatype_of(value), "shape": [-1]}
            for column, value in example.items()
        ]
        output = {"name": EXPLANATIONS, "datatype": "BYTES", "shape": [-1]}
        return {"name": name, "platform": "counterfolio", "inputs": inputs, "outputs": [output]}

    return router
