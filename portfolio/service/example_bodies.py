"""Example request bodies for OpenAPI; each is valid for its model."""

from typing import Any

from portfolio.explainer import Explainer
from portfolio.service.catalogue import Model
from portfolio.service.messages import GROUP
from portfolio.service.questions import EXPLAIN, QUESTIONS, ServedQuestion

OWN = "region"  # its target must be reached by the row itself


def body_about_a_row(question: ServedQuestion, model: Model) -> dict[str, Any] | None:
    """Return a request body for a question; None if the model does not support it or has no row."""
    if not model.example:
        return None
    explainer, members = model.explainer, question.body.model_fields
    found = {"x": model.example, **question.example}
    if explainer.classes:
        if "y" not in members:
            return found
        return None if model.another is None else found | {"y": model.another}
    if "y" in members:  # a regressor has no classes to compare
        return None
    if "target" in members:
        found["target"] = reached(model, already=question.name == OWN)
    if "against" in members:  # Retraining needs classes
        found["against"] = _around(explainer)
    return found


def body_about_rows(question: str, model: Model) -> dict[str, Any]:
    """Return an example body of a group or an audit."""
    explainer = model.explainer
    target: Any = next((str(own) for own in explainer.classes), None)
    if target is None:
        target = reached(model)
    more = {"budget": 1.0} if question == GROUP else {"by": explainer.features.features[0].name}
    return {"rows": [model.example], "target": target, **more}


def body_of_a_batch(model: Model) -> dict[str, Any]:
    """Return an example body of a batch that explains each row."""
    asked = body_about_a_row(QUESTIONS[EXPLAIN], model) or {}
    settings = {name: own for name, own in asked.items() if name != "x"}
    return {"question": EXPLAIN, "settings": settings, "rows": [model.example]}


def reached(model: Model, already: bool = False) -> list[float | None]:
    """Return a target [low, high] that the example misses, or that it reaches if ``already``."""
    if not model.example:
        return [None, None]
    own, other = model.explainer.predict(model.example), model.another
    limit = own + 1.0 if other is None else (own + model.explainer.predict(other)) / 2
    return [limit, None] if (limit > own) != already else [None, limit]


def _around(explainer: Explainer) -> dict[str, Any]:
    """Return an ``against`` argument: a tolerance for the first numeric feature."""
    for feature in explainer.features.features:
        if feature.kind == "numeric":
            return {"Around": {feature.name: 0.01 * (feature.upper - feature.lower)}}
    return {"Around": {explainer.features.features[0].name: 1}}
