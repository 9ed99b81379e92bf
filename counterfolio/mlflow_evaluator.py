"""Evaluator of MLflow that logs the cost of recourse in the groups of an attribute.

``mlflow.models.evaluate`` finds it by the name ``counterfolio``, see ``docs/how-to/mlflow.md``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from mlflow import MlflowClient
from mlflow.models import EvaluationResult
from mlflow.models.evaluation.base import ModelEvaluator

from portfolio import Explainer, InputError
from portfolio.api.row_answers import check_names
from portfolio.questions.codec import decode_settings

if TYPE_CHECKING:
    from portfolio.questions.groups.audit import Audit, AuditGroup

ESTIMATES = "adverse_share", "without", "mean", "median"
STRANGE = re.compile(r"[^\w\-. :]")  # characters that names of metrics cannot have
REPORT = "recourse.json"


class RecourseEvaluator(ModelEvaluator):  # type: ignore[misc]
    """Evaluator that logs :meth:`Explainer.audit` of the data of ``mlflow.models.evaluate``.

    ``evaluator_config`` has the arguments of the audit: at least ``by`` and ``target``. The data
    may have the column ``by`` in addition to those of the model. ``explainer`` is the address or
    the folder of an explainer; it is needed if the evaluated model is not one.

    Examples
    --------
    >>> from counterfolio.mlflow_evaluator import RecourseEvaluator
    >>> config = {"by": "sex", "target": "granted"}
    >>> RecourseEvaluator.can_evaluate(model_type="recourse", evaluator_config=config)
    True
    """

    @classmethod
    def can_evaluate(
        cls, *, model_type: str | None, evaluator_config: dict[str, Any] | None, **details: Any
    ) -> bool:
        """Return whether an attribute is named, as MLflow calls all evaluators by default.

        Parameters
        ----------
        model_type : str or None
            Type of the model, which is not used.
        evaluator_config : dict or None
            Arguments of :meth:`evaluate`.
        **details : object
            Further arguments that MLflow passes, which are not used.

        Returns
        -------
        bool
            True if ``evaluator_config`` has ``by``.

        Examples
        --------
        >>> from counterfolio.mlflow_evaluator import RecourseEvaluator
        >>> RecourseEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
        False
        """
        return "by" in (evaluator_config or {})

    def evaluate(
        self,
        *,
        model_type: str | None,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any],
        model: Any = None,
        **details: Any,
    ) -> EvaluationResult:
        """Audit the rows of a dataset, and log metrics and the report to a run.

        Parameters
        ----------
        model_type : str or None
            Type of the model, which is not used.
        dataset : mlflow.data.evaluation_dataset.EvaluationDataset
            Rows, with or without labels.
        run_id : str
            Run to log to.
        evaluator_config : dict
            Arguments of :meth:`Explainer.audit`, and ``explainer``.
        model : PyFuncModel, optional
            Python function of an explainer.
        **details : object
            Further arguments that MLflow passes, which are not used.

        Returns
        -------
        EvaluationResult
            The metrics.

        Raises
        ------
        InputError
            If an argument is missing or invalid.

        Examples
        --------
        >>> import mlflow
        >>> from counterfolio.mlflow import log_model
        >>> from counterfolio.mlflow_evaluator import RecourseEvaluator
        >>> address = log_model(explainer, "credit").model_uri
        >>> config = {"by": "sex", "target": "granted", "explainer": address}
        >>> dataset = mlflow.data.from_pandas(X_train[:40]).to_evaluation_dataset()
        >>> with mlflow.start_run() as run:
        ...     result = RecourseEvaluator().evaluate(
        ...         model_type=None,
        ...         dataset=dataset,
        ...         run_id=run.info.run_id,
        ...         evaluator_config=config,
        ...     )
        >>> result.metrics["recourse/0/adverse"]
        17
        """
        settings = dict(evaluator_config)
        explainer = _explainer_of(model, settings.pop("explainer", None))
        if "target" not in settings:
            raise InputError("evaluator_config has no 'target'. Set it to the favourable outcome.")
        columns, rows = explainer.features.columns, dataset.features_data
        by = settings.pop("by")
        check_names("column", [by], rows.columns)
        if by not in columns:  # an attribute that the model does not use
            by, rows = rows[by].tolist(), rows.drop(columns=by)
        audit = explainer.audit(rows, by, **decode_settings(settings, explainer.classes))
        metrics = _metrics_of(audit)
        client = MlflowClient()
        for name, value in metrics.items():
            client.log_metric(run_id, name, value)
        client.log_dict(run_id, audit.to_dict(), REPORT)
        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)


def _explainer_of(model: Any, address: str | None) -> Explainer:
    """Return the explainer at an address, or that of the evaluated model."""
    if address is not None:
        return Explainer.load(address)
    explainer = model.get_raw_model() if hasattr(model, "get_raw_model") else None
    if not isinstance(explainer, Explainer):
        raise InputError(
            "the evaluated model is not an explainer. Set 'explainer' in evaluator_config to the "
            "address of one, such as models:/credit/1."
        )
    return explainer


def _metrics_of(audit: Audit) -> dict[str, float]:
    """Return the numbers of all groups by the name of their metric."""
    metrics: dict[str, float] = {}
    for group in audit.groups:
        name = STRANGE.sub("_", str(group.name))
        for key, value in _numbers_of(group).items():
            metrics[f"recourse/{name}/{key}"] = value
    return metrics


def _numbers_of(group: AuditGroup) -> dict[str, float]:
    """Return counts, and both ends of each estimate that is known; they are equal if proved."""
    numbers: dict[str, float] = {
        name: getattr(group, name) for name in ("rows", "adverse", "unproved")
    }
    for name in ESTIMATES:
        estimate = getattr(group, name)
        for end in ("low", "high"):
            value = None if estimate is None else getattr(estimate, end)
            if value is not None and math.isfinite(value):
                numbers[f"{name}_{end}"] = value
    return numbers
