"""Example request bodies for OpenAPI; each is valid for its model."""

from collections.abc import Mapping
from typing import Any

from portfolio.api.explainer import Explainer
from portfolio.service.catalogue import Model
from portfolio.service.kserve_bodies import body_of_kserve, is_of_kserve
from portfolio.service.messages import EXPLAIN, GROUP
from portfolio.service.questions import GROUP_QUESTIONS, QUESTIONS, ServedQuestion

OWN = "region"  # its target must be reached by the row itself


def examples_of(path: str, models: Mapping[str, Model]) -> dict[str, Any]:
    """Return the OpenAPI examples of a path: a valid body for each model that supports it."""
    name = path.removesuffix("/stream").rpartition("/")[2]

    def body_of(model: Model) -> dict[str, Any] | None:
        if name == "batch":
            return body_of_a_batch(model)
        if name in GROUP_QUESTIONS:
            return body_about_rows(name, model)
        if name == "predict":
            return {"x": model.example} if model.example else None
        body = body_about_a_row(QUESTIONS.get(name, QUESTIONS[EXPLAIN]), model)
        return body if body is None or not is_of_kserve(name) else body_of_kserve(name, body)

    bodies = {model.name: body_of(model) for model in models.values()}
    return {name: {"value": body} for name, body in bodies.items() if body is not None}


def body_about_a_row(question: ServedQuestion, model: Model) -> dict[str, Any] | None:
    """Return a request body for a question; None if the model does not support it or has no row."""
    if not model.example:
        return None
    explainer, members = model.explainer, question.body.model_fields
    body = {"x": model.example, **question.example}
    if "feature" in members:
        body["feature"] = explainer.features.features[0].name
    if explainer.outputs:
        return None if "y" in members or "against" in members else body | {"target": aimed(model)}
    if explainer.classes:
        if "y" not in members:
            return body
        return None if model.another is None else body | {"y": model.another}
    if "y" in members:  # a regressor has no classes to compare
        return None
    if "target" in members:
        body["target"] = reached(model, already=question.name == OWN)
    if "against" in members:  # Retraining needs classes
        body["against"] = _around(explainer)
    return body


def body_about_rows(question: str, model: Model) -> dict[str, Any]:
    """Return an example body of a group or an audit."""
    explainer = model.explainer
    target: Any = next((str(label) for label in explainer.classes), None)
    if explainer.outputs:
        target = aimed(model)
    elif target is None:
        target = reached(model)
    more = {"budget": 1.0} if question == GROUP else {"by": explainer.features.features[0].name}
    return {"rows": [model.example], "target": target, **more}


def body_of_a_batch(model: Model) -> dict[str, Any]:
    """Return an example body of a batch that explains each row."""
    body = body_about_a_row(QUESTIONS[EXPLAIN], model) or {}
    settings = {name: value for name, value in body.items() if name != "x"}
    return {"question": EXPLAIN, "settings": settings, "rows": [model.example]}


def aimed(model: Model) -> dict[str, Any]:
    """Return a target for the first output of several: its prediction for the example."""
    predicted = model.explainer.predict(model.example)
    name, labels = next(iter(model.explainer.outputs.items()))
    return {str(name): predicted[name] if labels else [predicted[name], None]}


def reached(model: Model, already: bool = False) -> list[float | None]:
    """Return a target [low, high] that the example misses, or that it reaches if ``already``."""
    if not model.example:
        return [None, None]
    prediction, other = model.explainer.predict(model.example), model.another
    limit = prediction + 1.0 if other is None else (prediction + model.explainer.predict(other)) / 2
    return [limit, None] if (limit > prediction) != already else [None, limit]


def _around(explainer: Explainer) -> dict[str, Any]:
    """Return an ``against`` argument: a tolerance for the first numeric feature."""
    for feature in explainer.features.features:
        if feature.kind == "numeric":
            return {"Around": {feature.name: 0.01 * (feature.upper - feature.lower)}}
    return {"Around": {explainer.features.features[0].name: 1}}
