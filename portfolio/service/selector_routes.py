"""Route that reports the decision diagrams and their regret."""

import asyncio
from typing import Any

from fastapi import APIRouter

from portfolio.service.catalogue import Model
from portfolio.service.regret import Regrets
from portfolio.service.service import Service
from selector.diagram import load_diagram
from selector.diagram_places import SHIPPED
from selector.drawing import as_text, flow_of

MADE = ("made", "logs", "rows", "data_sets", "backends", "objective", "alpha", "cores")


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
