"""Predictions of a model for rows, with its probabilities, as JSON values."""

from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.readers.kinds import predictor
from encoders.readers.reader import reader_of
from portfolio.api.explainer import Explainer
from portfolio.api.variants import asker_of
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import own_number
from portfolio.results.codec import encode


def decide(explainer: Explainer, x: Any) -> dict[str, Any]:
    """Return ``prediction`` and ``probabilities`` of a row.

    ``probabilities`` are pairs of a label and its probability, or None if the model has none. For
    several outputs, both are objects with one of these by the name of each output.
    """
    asker = asker_of(explainer)
    values = asker.read(x).values[None, :]
    outputs = asker.model.outputs
    if not outputs:
        return _decided(asker.model, values)
    each = {str(name): _decided(output.model, values) for name, output in outputs.items()}
    return {
        part: {name: decided[part] for name, decided in each.items()}
        for part in ("prediction", "probabilities")
    }


def has_probabilities(model: ExplainedModel) -> bool:
    """Return whether goals may be probabilities of the model's classes."""
    if not model.native.classes:
        return False
    number = own_number(model, model.native.classes[0])
    return number is not None and number[0] == "probability"


def leads(model: ExplainedModel, rows: FloatArray) -> FloatArray:
    """Return how far predictions are from another class, float64 (n_rows,).

    It is the most probable class's lead over the second one. If the model applies a threshold, it
    is the distance of the probability, or of the score, from that threshold.
    """
    predicting = predictor(model.native.model)
    limit = reader_of(predicting).limit(predicting)
    if limit is not None and not limit.probable:
        score = model.native.values(rows, "raw", 1)
        return np.asarray(np.abs(limit.sign * score - limit.value))
    probabilities = model.native.probabilities(rows)
    if limit is not None:
        return np.asarray(np.abs(probabilities[:, limit.positive] - limit.value))
    ordered = np.sort(probabilities, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def _decided(model: ExplainedModel, values: FloatArray) -> dict[str, Any]:
    if model.ensemble.regression:
        prediction = model.native.values(values, "prediction", 0)[0]
        return {"prediction": encode(float(prediction)), "probabilities": None}
    classes = model.native.classes
    label = classes[int(model.native.predict(values)[0])]
    probabilities = None
    if has_probabilities(model):
        pairs = zip(classes, model.native.probabilities(values)[0].tolist(), strict=True)
        probabilities = [list(pair) for pair in pairs]
    return {"prediction": encode(label), "probabilities": encode(probabilities)}
