"""Routes of a model's own predictions, and of the training rows that clients may see."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from encoders.core.errors import InputError
from portfolio.service.bodies import StrictRoute
from portfolio.service.decisions import decide
from portfolio.service.problems import Problem, invalid
from portfolio.service.question_routes import INVALID
from portfolio.service.questions import PredictBody
from portfolio.service.schemas import FoundRows, PredictionAnswer
from portfolio.service.service import Service

MOST_TEXT = 200  # characters to search for


def row_routes(service: Service) -> APIRouter:
    """Return the routes of predictions and rows."""
    router = APIRouter(prefix="/v1/models/{name}", tags=["models"])

    async def predict(name: str, body: PredictBody) -> dict[str, Any]:
        model = service.model(name)
        try:
            decided = await asyncio.to_thread(decide, model.explainer, body.x)
        except InputError as error:
            raise invalid(error) from error
        return {"model": model.short(), **decided}

    router.add_api_route(
        "/predict",
        predict,
        methods=["POST"],
        summary="Return the model's own prediction for a row, and its probabilities.",
        response_model=PredictionAnswer,
        responses=INVALID,
        route_class_override=StrictRoute,
    )

    @router.get(
        "/rows",
        summary="Return training rows, if the operator allows it.",
        response_model=FoundRows,
        responses=INVALID,
    )
    async def rows(
        name: str,
        predicted: str | None = None,
        text: Annotated[str | None, Query(max_length=MOST_TEXT)] = None,
        order: Literal["index", "random", "boundary"] = "index",
        seed: Annotated[int, Query(ge=0)] = 0,
        offset: Annotated[int, Query(ge=0)] = 0,
        index: Annotated[int | None, Query(ge=0)] = None,
    ) -> dict[str, Any]:
        model = service.model(name)
        shown = model.shown
        if shown is None or not service.settings.shows_rows:
            raise Problem(
                404,
                f"rows of {name!r} are not shown. Start the server with --show-rows.",
                code="rows-hidden",
                name=name,
            )
        page = await asyncio.to_thread(shown.page, predicted, text, order, seed, offset, index)
        return {"model": model.short(), **page}

    return router
