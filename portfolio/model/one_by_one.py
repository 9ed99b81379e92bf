"""Each model of an explainer separately, in the cells of all of them."""

from dataclasses import replace

import numpy as np

from encoders.arrays import frozen
from encoders.posing.starting_points import Reference
from encoders.trees.ensemble import Companion, Ensemble
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.oracle import Oracle


def one_by_one(model: ExplainedModel) -> tuple[ExplainedModel, ...]:
    """Return the model, and each of its further ones, as separate models.

    They share the cells of all, so that levels have the same meaning for each of them.
    """
    view = model.views[0]
    pairs = zip(view.ensemble.companions, view.companions, strict=True)
    return (
        model.without_also(),
        *(_alone(model, view, companion, oracle) for companion, oracle in pairs),
    )


def _alone(
    model: ExplainedModel, view: ClassView, companion: Companion, oracle: Oracle
) -> ExplainedModel:
    """Return a further model in which only its own leaves have scores."""
    every = view.ensemble
    score = np.zeros((every.column.size, companion.ensemble.score.shape[1]))
    score[companion.first : companion.first + companion.ensemble.column.size] = (
        companion.ensemble.score
    )
    ensemble: Ensemble = replace(
        companion.ensemble,
        root=every.root,
        column=every.column,
        last_left=every.last_left,
        left=every.left,
        right=every.right,
        score=frozen(score),
        dtype=every.dtype,
        default_left=every.default_left,
        sets=every.sets,
        unsure=every.unsure,
        companions=(),
    )
    cells = replace(view.cells, score_of_node=ensemble.score)
    classes = len(oracle.native.classes)
    # The further model's classes of these rows are not known yet, so each class gets all rows.
    rows = np.concatenate(view.reference.rows)
    sums = np.zeros((len(rows), score.shape[1]))
    alone = ClassView(ensemble, cells, Reference((rows,) * classes, (sums,) * classes))
    return ExplainedModel(ensemble, model.space, oracle.native, (alone,) * classes, 0.0)
