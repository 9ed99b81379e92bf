"""Copies of a model whose isolation forests require another score."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.trees.ensemble import Companion
from encoders.trees.from_isolation import at_threshold
from encoders.trees.isolation import longest
from encoders.trees.wrappers import is_pipeline, last_step
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.oracle import Oracle


def least_score(model: ExplainedModel) -> float:
    """Return the score that rows need in a model's isolation forests, the largest of several."""
    if not model.plausible:
        raise InputError(
            "a front by plausibility needs isolation forests. Pass a Plausibility to the Explainer."
        )
    if not all(view.forests for view in model.views):
        raise InputError(
            "a front by plausibility needs isolation forests that score rows differently, but that "
            "of one class gives all rows the same score. Fit it on more rows."
        )
    return max(float(_forest(oracle).offset_) for view in model.views for oracle in view.forests)


def requiring(model: ExplainedModel, score: float) -> ExplainedModel:
    """Return a copy of the model whose isolation forests accept rows of at least this score.

    Trees and cells stay. scikit-learn compares scores with a forest's ``offset_``, which is
    replaced in a copy of the user's object.
    """
    forests = {
        id(oracle): _with_offset(oracle, score) for view in model.views for oracle in view.forests
    }
    views = {id(view): _view(view, forests) for view in model.views}
    return replace(model, views=tuple(views[id(view)] for view in model.views))


def score_of(model: ExplainedModel, target: int, row: FloatArray) -> float:
    """Return the least native score of a row in the isolation forests of a class."""
    natives = [oracle.native for oracle in model.views[target].forests]
    scores = [native.isolation(row[None, :])[0] for native in natives]
    return float(min(scores))


def _forest(oracle: Oracle) -> Any:
    model = oracle.native.model
    return last_step(model) if is_pipeline(model) else model


def _with_offset(oracle: Oracle, score: float) -> Oracle:
    forest = copy.copy(_forest(oracle))
    forest.offset_ = np.float64(score)
    model = forest
    if is_pipeline(oracle.native.model):
        model = copy.copy(oracle.native.model)
        model.steps = [*model.steps[:-1], (model.steps[-1][0], forest)]
    assert longest(forest) > 0  # forests with equal scores for all rows are not companions
    ensemble = at_threshold(oracle.ensemble, forest)
    return replace(oracle, ensemble=ensemble, native=replace(oracle.native, model=model))


def _view(view: ClassView, forests: dict[int, Oracle]) -> ClassView:
    oracles = tuple(forests.get(id(oracle), oracle) for oracle in view.companions)
    pairs = zip(view.ensemble.companions, oracles, strict=True)
    companions: tuple[Companion, ...] = tuple(
        replace(companion, ensemble=oracle.ensemble) for companion, oracle in pairs
    )
    return replace(view, ensemble=replace(view.ensemble, companions=companions), companions=oracles)
