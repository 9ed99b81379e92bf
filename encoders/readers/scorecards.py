"""Scorecards of optbinning as pipelines of their binning process and their linear model."""

from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

BY_NAME = "counterfolio_by_name"  # attribute of a process that always gets a frame
_PIPELINES: "WeakKeyDictionary[Any, Any]" = WeakKeyDictionary()


def pipeline_of(scorecard: Any) -> Any:
    """Return a pipeline that predicts as a fitted scorecard, the same one in every call.

    A scorecard passes the metrics of special and missing values to its binning process
    (``optbinning/scorecard/scorecard.py``, Scorecard.predict). Its pipeline has them as parameters
    of each variable, where the process has none.
    """
    from sklearn.pipeline import Pipeline

    cached = _PIPELINES.get(scorecard)
    if cached is not None and cached[-1] is scorecard.estimator_:
        return cached
    process = copy(scorecard.binning_process_)
    metrics = {
        "metric_special": scorecard._metric_special,
        "metric_missing": scorecard._metric_missing,
    }
    params = process.binning_transform_params or {}
    process.binning_transform_params = {
        name: metrics | params.get(name, {}) for name in process.variable_names
    }
    setattr(process, BY_NAME, True)  # Scorecard selects its columns by name
    pipeline = Pipeline([("binning_process", process), ("estimator", scorecard.estimator_)])
    _PIPELINES[scorecard] = pipeline
    return pipeline
