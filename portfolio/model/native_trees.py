"""Leaf indices and raw scores that a model's own library computes."""

from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.trees.from_calibrated import calibrated_threshold
from encoders.trees.from_catboost import catboost_threshold
from encoders.trees.from_sklearn import starting_trees
from encoders.trees.from_xgboost import xgboost_booster, xgboost_missing
from encoders.trees.isolation import least_length, longest
from encoders.trees.kinds import kind_of
from encoders.trees.read import read_ensemble
from encoders.trees.wrappers import is_pipeline, last_step, unwrapped
from portfolio.model.input_tables import as_bagging_passes, inputs_of

SUMS = (
    *("AdaBoostClassifier", "BaggingClassifier", "BaggingRegressor"),
    *("IsolationForest", "VotingClassifier", "VotingRegressor"),
)


def native_leaves(model: Any, rows: Any) -> IntArray | None:
    """Return the library's own leaf index of each row in each tree, int64 (n_rows, n_trees).

    None if the library does not provide them (histogram gradient boosting).
    """
    model = unwrapped(model)
    name = kind_of(model).name
    if name == "HardVotingClassifier":
        return native_leaves(model.forest_, rows)
    if is_pipeline(model):
        return native_leaves(last_step(model), inputs_of(model, rows))
    if name == "TransformedTargetRegressor":
        return native_leaves(model.regressor_, rows)
    if name == "CalibratedClassifierCV":
        parts = [native_leaves(pair.estimator, rows) for pair in model.calibrated_classifiers_]
        leaves_of_parts = [part for part in parts if part is not None]
        return (
            np.concatenate(leaves_of_parts, axis=1) if len(leaves_of_parts) == len(parts) else None
        )
    if name in SUMS:
        return _leaves_of_members(model, rows)
    package = kind_of(model).library
    if package == "xgboost":
        leaves = _xgboost_leaves(model, rows)
    elif package == "lightgbm":
        leaves = model.predict(rows, pred_leaf=True)
    elif package == "catboost":
        leaves = model.calc_leaf_indexes(rows, thread_count=1)
    elif hasattr(model, "estimators_") or hasattr(model, "tree_"):
        # Tree by tree, as the estimators' own apply checks for names that they do not have.
        trees = np.ravel(getattr(model, "estimators_", model)).tolist()
        if name.startswith("GradientBoosting"):
            trees = starting_trees(model) + trees
        numbers = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows).astype(
            np.float32
        )
        leaves = np.empty((len(trees), numbers.shape[0]), dtype=np.int64)
        for row, tree in zip(leaves, trees, strict=True):
            row[:] = tree.tree_.apply(numbers)
        leaves = leaves.T
    else:
        return None
    return np.asarray(leaves).astype(np.int64, copy=False).reshape(rows.shape[0], -1)


def _leaves_of_members(model: Any, rows: Any) -> IntArray | None:
    """Return the leaves of all members, each called with the columns that it was fitted on."""
    features = getattr(model, "estimators_features_", None)
    # Only voting passes frames on unchanged; pipelines may return sparse matrices.
    table = rows
    if features is None and not (kind_of(model).name.startswith("Voting") or _is_sparse(rows)):
        table = np.asarray(rows)
    parts = []
    for index, member in enumerate(_members(model)):
        columns = table if features is None else as_bagging_passes(table, features[index])
        part = native_leaves(member, columns)
        if part is None:
            return None
        parts.append(part)
    return np.concatenate(parts, axis=1)


def _is_sparse(rows: Any) -> bool:
    return hasattr(rows, "toarray")


def _members(model: Any) -> list[Any]:
    members: list[Any] = list(model.estimators_)
    return members[: model.n_estimators] if kind_of(model).name.startswith("Bagging") else members


def native_scores(model: Any, rows: Any, margin_unit: float) -> FloatArray:
    """Return the sums that the library compares, in units of leaf scores, (n_rows, n_classes).

    If there is one raw score, class 0 has score 0.
    """
    model = unwrapped(model)
    if is_pipeline(model):
        return native_scores(last_step(model), inputs_of(model, rows), margin_unit)
    name, package = kind_of(model).name, kind_of(model).library
    if name in OWN_SCORES:
        return OWN_SCORES[name](model, rows, margin_unit)
    if package == "xgboost":
        scores = _xgboost_scores(model, rows)
    elif package == "lightgbm":
        scores = model.predict(rows, raw_score=True)  # never averaged, also for random forests
    elif package == "catboost":
        scores = np.asarray(model.predict(rows, prediction_type="RawFormulaVal", thread_count=1))
        scores = scores - catboost_threshold(model) if scores.ndim == 1 else scores
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(rows) * margin_unit
    elif name == "HardVotingClassifier":
        scores = np.rint(model.predict_proba(rows) * len(model.forest_.estimators_))
    else:
        scores = model.predict_proba(rows) * margin_unit
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    if package == "xgboost" and getattr(model, "objective", "") == "binary:logitraw":
        scores[:, 1] -= 0.5  # its predict compares the raw score with 0.5
    return scores


def _of_isolation(model: Any, rows: Any, margin_unit: float) -> FloatArray:
    """Return path lengths derived from the forest's own scores, less the least length."""
    lengths = -longest(model) * np.log2(-model.score_samples(rows))
    return np.column_stack([np.zeros(len(lengths)), lengths - least_length(model)])


def _of_voting(model: Any, rows: Any, margin_unit: float) -> FloatArray:
    """Return probabilities, or the weighted votes of the members."""
    if model.voting == "soft":
        return np.asarray(model.predict_proba(rows), dtype=np.float64) * margin_unit
    votes = np.zeros((rows.shape[0], len(model.classes_)))
    weights = model._weights_not_none or [1.0] * len(model.estimators_)
    for predicted, weight in zip(model.transform(rows).T, weights, strict=True):
        votes[np.arange(len(votes)), predicted] += weight
    return votes


def _of_calibrated(model: Any, rows: Any, margin_unit: float) -> FloatArray:
    """Return the score of the calibrated model beyond its calibrated threshold."""
    member, threshold = calibrated_threshold(model, read_ensemble)
    below = model.calibrated_classifiers_[0].estimator
    scores = native_scores(below, rows, member.margin_unit)
    leads = threshold.response.leads
    score = scores[:, 1] - scores[:, 0] if leads else scores[:, 1]
    beyond = threshold.sign * score - threshold.at
    return np.column_stack([np.zeros(len(score)), beyond])


OWN_SCORES = {
    "CalibratedClassifierCV": _of_calibrated,
    "IsolationForest": _of_isolation,
    "VotingClassifier": _of_voting,
}


def _xgboost_leaves(model: Any, rows: Any) -> Any:
    import xgboost

    matrix = xgboost.DMatrix(rows, missing=xgboost_missing(model), enable_categorical=True)
    return xgboost_booster(model).predict(matrix, pred_leaf=True)


def _xgboost_scores(model: Any, rows: Any) -> Any:
    """Return the raw scores of the model's own predict.

    An estimator predicts arrays in place. With dart this rounds differently from predict of its
    booster.
    """
    import xgboost

    if isinstance(model, xgboost.Booster):
        return model.predict(xgboost.DMatrix(rows, enable_categorical=True), output_margin=True)
    return model.predict(rows, output_margin=True)
