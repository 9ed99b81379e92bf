"""Routes of the answers of jobs that have ended: pages, files, results, and burden by segment."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response

from portfolio.results.codec import encode
from portfolio.service.identity import owner_of
from portfolio.service.job import OPEN
from portfolio.service.job_rows import RowsFile
from portfolio.service.job_segments import SegmentsOfJob
from portfolio.service.jobs import AskJobs, Jobs
from portfolio.service.messages import EXPLAIN
from portfolio.service.problems import Problem
from portfolio.service.schemas import GroupAnswer, JobAnswers, JobSegments
from portfolio.service.service import Service

# Files of all answers, by the media type that a client accepts: ending, and how they are made.
TABLES: dict[str, tuple[str, Callable[[pd.DataFrame], bytes]]] = {
    "text/csv": ("csv", lambda frame: frame.to_csv(index=False).encode()),
    "application/vnd.apache.parquet": ("parquet", lambda frame: frame.to_parquet(index=False)),
}
JSON_LINES = "application/jsonl"
MOST = 1000  # entries per page
Offset = Annotated[int, Query(ge=0, le=2**62)]
Limit = Annotated[int, Query(ge=1, le=MOST)]
By = Annotated[str | None, Query(max_length=1000)]
Bands = Annotated[int, Query(ge=2, le=20)]


def known(number: str, state: dict[str, Any] | None) -> dict[str, Any]:
    """Return the state of a job; raise Problem if there is none."""
    if state is None:
        raise Problem(404, f"unknown job {number[:80]!r}. List the jobs with GET /v1/jobs.")
    return state


async def _ended(jobs: AskJobs, number: str, request: Request) -> dict[str, Any]:
    """Return the state of a job; raise Problem unless it has ended."""
    state = known(number, await jobs(Jobs.state, number, owner_of(request)))
    if state["state"] in OPEN:
        raise Problem(409, f"the job is {state['state']}. Retry when it has ended.")
    return state


def add_answers(router: APIRouter, jobs: AskJobs) -> None:
    """Add the routes that return the answers of jobs that have ended."""

    async def page(number: str, offset: int, limit: int | None) -> pd.DataFrame:
        frame = await jobs(Jobs.page, number, offset, limit)
        if frame is None:
            raise Problem(409, "the job is about to end. Retry in a second.")
        return frame

    @router.get(
        "/jobs/{number}/results",
        summary="Return a page of answers, or all answers as a CSV or Parquet file.",
        response_model=JobAnswers,
        responses={200: {"content": {kind: {} for kind in TABLES}}},
    )
    async def results(number: str, request: Request, offset: Offset = 0, limit: Limit = 100) -> Any:
        state = await _ended(jobs, number, request)
        for kind, (ending, write) in TABLES.items():
            if kind in request.headers.get("accept", ""):
                frame = await page(number, 0, None)
                content = await asyncio.to_thread(write, frame)
                return Response(content, media_type=kind, headers=_named(f"{number}.{ending}"))
        rows = encode((await page(number, offset, limit)).to_dict("records"))
        return {"job": state, "offset": offset, "rows": rows}

    @router.get(
        "/jobs/{number}/records",
        summary="Return the answers of a batch with their records, one JSON document per line.",
        response_class=FileResponse,
        responses={200: {"content": {JSON_LINES: {}}}},
    )
    async def records(number: str, request: Request) -> FileResponse:
        await _ended(jobs, number, request)
        batch, files = await jobs(Jobs.batch, number), await jobs(Jobs.files, number)
        if batch is None or not batch.arguments.get("records"):
            raise Problem(404, 'the job has no records. Start a batch with "record": true.')
        await asyncio.to_thread(files.check)
        if not files.lines.exists():
            raise Problem(404, "the job has no records, because no row was answered.")
        return FileResponse(files.lines, media_type=JSON_LINES, filename=f"{number}.jsonl")

    @router.get(
        "/jobs/{number}/result",
        summary="Return the answer about a group of rows, or of an audit.",
        responses={200: {"description": "The answer.", "model": GroupAnswer}},
    )
    async def result(number: str, request: Request) -> Response:
        await _ended(jobs, number, request)
        answer = await jobs(Jobs.result, number)
        if answer is None:
            raise Problem(
                404, "the job has no single result. Get the answers of a batch from /results."
            )
        return Response(answer, media_type="application/json")


def add_segments(router: APIRouter, service: Service, jobs: AskJobs) -> None:
    """Add the route that returns the burden of recourse by segment of a batch."""

    @router.get(
        "/jobs/{number}/segments",
        summary="Return the cost of recourse of a batch for each value or band of a column.",
        response_model=JobSegments,
    )
    async def segments(
        number: str, request: Request, by: By = None, bands: Bands = 4
    ) -> dict[str, Any]:
        state = await _ended(jobs, number, request)
        batch = await jobs(Jobs.batch, number)
        if batch is None or batch.question != EXPLAIN or state["state"] != "done":
            words = "only completed batches that explain each row have segments."
            raise Problem(404, f"{words} Use /result for a group or an audit.")
        model = service.catalogue.models.get(batch.model)
        if model is None or model.digest != batch.digest:
            words = f"the model {batch.model!r} has changed. Send the rows again."
            raise Problem(409, words)
        files = await jobs(Jobs.files, number)
        await asyncio.to_thread(files.check)
        file = RowsFile.of(files.folder / batch.rows, model, service.settings.most_rows, by)
        if not (file.path.exists() and files.table.exists()):
            raise Problem(404, "the files of the job are not on this server. Send the rows again.")
        content = SegmentsOfJob(file, files.table, model.explainer.features, by, bands)
        read = await service.reader.read_in_child(content)
        return {"job": state, "settings": batch.arguments, **read}


def _named(file: str) -> dict[str, str]:
    """Return the header that names a file to save."""
    return {"Content-Disposition": f'attachment; filename="{file}"'}
