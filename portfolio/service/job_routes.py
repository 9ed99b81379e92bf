"""Routes of jobs: send rows, get a job id, follow its progress, cancel and resume it."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.constants import REF_TEMPLATE
from fastapi.responses import JSONResponse

from encoders.core.close_names import close_names
from portfolio.api.explainer import Explainer
from portfolio.service.bodies import RowsContent, media_type, parsed, read_bytes
from portfolio.service.catalogue import Model
from portfolio.service.identity import owner_of
from portfolio.service.job import Batch
from portfolio.service.job_answers import Limit, Offset, add_answers, add_segments, known
from portfolio.service.jobs import AskJobs, Jobs
from portfolio.service.messages import EXPLAIN
from portfolio.service.problems import Problem
from portfolio.service.question_routes import INVALID
from portfolio.service.questions import (
    GROUP_QUESTIONS,
    QUESTIONS,
    BatchBody,
    RowsBody,
    ServedQuestion,
    validated,
)
from portfolio.service.schemas import JobList, JobState
from portfolio.service.service import Service
from portfolio.service.settings import Settings

FILES = {
    "application/json": "rows.json",
    "text/csv": "rows.csv",
    "application/vnd.apache.parquet": "rows.parquet",
}
NO_JOBS = (
    "this service does not accept jobs, such as batches, groups and audits. Start it with "
    "--jobs FOLDER."
)
ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"description": "The job that was accepted.", "model": JobState}
}


def job_routes(service: Service) -> APIRouter:
    """Return the routes that create, follow and read jobs."""
    router = APIRouter(prefix="/v1", tags=["batches"], responses=INVALID)
    jobs = AskJobs(lambda: service.jobs)

    @router.post(
        "/models/{name}/batch",
        status_code=202,
        summary="Start a job that answers a question for many rows.",
        responses=ACCEPTED,
        openapi_extra={"requestBody": _body_of_rows(BatchBody.model_json_schema())},
    )
    async def batch(
        name: str, request: Request, question: str = EXPLAIN, settings: str = "{}"
    ) -> JSONResponse:
        model = service.model(name)
        members, file, content = await _received(service, request, settings, model)
        if file == FILES["application/json"]:
            whole = validated(BatchBody, members | {"rows": [{}]})
            question, members = whole.get("question", EXPLAIN), whole.get("settings", {})
        job = _batch(service, model, question, members, file)
        return await _begun(service, jobs, job, content, request)

    for group_question in GROUP_QUESTIONS.values():
        schema = _schema_with_rows(group_question)
        router.add_api_route(
            f"/models/{{name}}/{group_question.method}",
            _group_handler(service, jobs, group_question),
            methods=["POST"],
            status_code=202,
            name=group_question.method,
            summary=group_question.summary,
            responses=ACCEPTED,
            openapi_extra={"requestBody": _body_of_rows(schema)},
        )
    _follow(router, jobs)
    add_answers(router, jobs)
    add_segments(router, service, jobs)
    return router


def routes_without_jobs() -> APIRouter:
    """Return routes that say how to enable jobs, at the paths of :func:`job_routes`."""
    router = APIRouter(prefix="/v1", include_in_schema=False)

    async def refuse() -> None:
        raise Problem(404, NO_JOBS)

    for question in ("batch", *GROUP_QUESTIONS):
        router.add_api_route(f"/models/{{name}}/{question}", refuse, methods=["POST"])
    for path in ("/jobs", "/jobs/{rest:path}"):
        router.add_api_route(path, refuse, methods=["GET", "POST", "DELETE"])
    return router


def _follow(router: APIRouter, jobs: AskJobs) -> None:
    """Add the routes that list, show, cancel and resume jobs."""

    @router.get("/jobs", summary="List jobs, oldest first.", response_model=JobList)
    async def every(request: Request, offset: Offset = 0, limit: Limit = 100) -> JSONResponse:
        return JSONResponse(await jobs(Jobs.every, owner_of(request), offset, limit))

    @router.get("/jobs/{number}", summary="Return the state of a job.", response_model=JobState)
    async def one(number: str, request: Request) -> JSONResponse:
        # Clients poll this, so the response is not validated against its model.
        return JSONResponse(known(number, await jobs.state(number, owner_of(request))))

    @router.delete(
        "/jobs/{number}",
        summary="Cancel a job, or delete one that has ended.",
        response_model=JobState,
    )
    async def cancel(number: str, request: Request) -> dict[str, Any]:
        state, done = await jobs(Jobs.cancel, number, owner_of(request))
        summary = known(number, state)
        if not done:
            raise Problem(409, "the job is about to end. Retry in a second.")
        return summary

    @router.post(
        "/jobs/{number}/resume",
        status_code=202,
        summary="Resume a job that failed for lack of disk space; its answers are kept.",
        response_model=JobState,
        responses=ACCEPTED,
    )
    async def resume(number: str, request: Request) -> dict[str, Any]:
        state, resumed = await jobs(Jobs.resume, number, owner_of(request))
        summary = known(number, state)
        if not resumed:
            words = (
                f"the job is {summary['state']}. Resume only jobs that failed for lack of disk "
                "space."
            )
            raise Problem(409, words)
        return summary


def _group_handler(
    service: Service, jobs: AskJobs, question: ServedQuestion
) -> Callable[..., Awaitable[JSONResponse]]:
    async def ask(name: str, request: Request, settings: str = "{}") -> JSONResponse:
        model = service.model(name)
        members, file, content = await _received(service, request, settings, model)
        arguments = validated(question.body, members)
        _limit(arguments, service.settings)
        batch = Batch(model.name, model.digest, question.method, arguments, file)
        return await _begun(service, jobs, batch, content, request)

    return ask


def _limit(arguments: dict[str, Any], limits: Settings) -> None:
    """Apply the limits of the server to the arguments of a group or an audit."""
    longest_s = limits.longest_job_s
    arguments["threads"] = min(arguments.get("threads") or limits.threads, limits.threads)
    limit_s = arguments.get("time_limit_s", limits.default_s)
    if "by" in arguments:
        arguments["time_limit_s"] = min(limit_s, limits.longest_s)
        arguments["deadline_s"] = min(arguments.get("deadline_s") or longest_s, longest_s)
    else:
        arguments["time_limit_s"] = min(limit_s, longest_s)


async def _received(
    service: Service, request: Request, settings: str, model: Model
) -> tuple[Any, str, bytes]:
    """Return (settings, name of the rows file, its content) of a request."""
    kind = media_type(request)
    if kind not in FILES:
        words = f"rows of type {kind[:80]!r} are not supported. Send {' or '.join(FILES)}."
        raise Problem(415, words)
    async with service.uploads:
        content = await read_bytes(request, service.settings.largest_upload)
        if kind != "application/json":
            return parsed(settings.encode(), "settings"), FILES[kind], content
        columns, most = model.explainer.features.columns, service.settings.most_rows
        more, rows = await service.reader.read(RowsContent(content, columns, most))
        return more, FILES[kind], rows


async def _begun(
    service: Service, jobs: AskJobs, batch: Batch, content: bytes, request: Request
) -> JSONResponse:
    owner = owner_of(request)
    request.state.about.update(model=batch.model, question=batch.question)
    async with service.queries.one(owner):
        try:
            state = await jobs(Jobs.add, replace(batch, owner=owner or ""), content)
        except OSError as error:
            words = f"cannot store the rows ({error.strerror}). Free disk space, then retry."
            raise Problem(507, words) from error
    return JSONResponse(state, 202, {"Location": f"/v1/jobs/{state['id']}"})


def _schema_with_rows(question: ServedQuestion) -> dict[str, Any]:
    """Return the JSON schema of a question about many rows."""
    schema = question.body.model_json_schema(ref_template=REF_TEMPLATE)
    del schema["$defs"]  # questions about a row have the same
    schema["properties"]["rows"] = RowsBody.model_json_schema()["properties"]["rows"]
    schema["required"] = ["rows", *schema.get("required", ())]
    return schema


def _body_of_rows(schema: dict[str, Any]) -> dict[str, Any]:
    media: dict[str, Any] = {kind: {} for kind in FILES}
    return {"required": True, "content": media | {"application/json": {"schema": schema}}}


def _batch(service: Service, model: Model, question: str, members: Any, rows: str) -> Batch:
    """Return the batch, with its settings validated like a request about one row."""
    if question not in QUESTIONS:
        close = close_names(question[:80], QUESTIONS)
        names = ", ".join(QUESTIONS)
        raise Problem(422, f"unknown question {question[:80]!r}.{close} Use one of {names}.")
    if not isinstance(members, dict):
        raise Problem(422, "settings must be an object. Send the members of the question.")
    served = QUESTIONS[question]
    arguments = validated(served.body, served.example | members | {"x": model.example})
    del arguments["x"]
    if arguments.pop("record", False):
        arguments["records"] = True  # the parameter of explain_batch
    service.limits(arguments)
    parameters = inspect.signature(Explainer.explain_batch).parameters
    if question == EXPLAIN and (strange := arguments.keys() - parameters.keys()):
        raise Problem(422, f"a batch does not support {min(strange)!r}. Remove it.")
    return Batch(model.name, model.digest, question, arguments, rows)
