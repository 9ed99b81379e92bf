"""Explainers in MLflow, which need the extra ``mlflow``: a flavour, also as a Python function.

The folder of a saved explainer is stored as it is, without pickles.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow import pyfunc
from mlflow.models import Model, ModelSignature
from mlflow.models.model import ModelInfo

from portfolio import Explainer
from portfolio.api.row_answers import LIMITS, QUERY, RowAnswers, job_of
from portfolio.model.mlflow_places import DATA, FLAVOR, resolved
from portfolio.questions.codec import decode_settings, encode_settings

LIBRARIES = (
    ("sklearn", "scikit-learn"),
    *((name, name) for name in ("xgboost", "lightgbm", "catboost")),
)
PLAIN = str, int, float, bool, type(None)

__all__ = ["load_model", "log_model", "save_model"]


def save_model(
    explainer: Explainer,
    path: str | Path,
    settings: dict[str, Any] | None = None,
    rows: bool = True,
    mlflow_model: Model | None = None,
    signature: ModelSignature | None = None,
    pip_requirements: list[str] | None = None,
) -> None:
    """Save an explainer to a folder as a model of MLflow.

    Parameters
    ----------
    explainer : Explainer
        Explainer to save.
    path : str or Path
        Folder to create.
    settings : dict, optional
        Settings of the Python function, as in :class:`counterfolio.ray.CounterfolioUDF`. Models
        without a ``target`` that need one can only be loaded as an explainer, or with a target.
    rows : bool, default True
        Whether to save about 200 training rows, as in :meth:`Explainer.save`.
    mlflow_model : Model, optional
        Description of the model, which MLflow passes.
    signature : ModelSignature, optional
        Signature of the Python function.
    pip_requirements : list of str, optional
        Requirements of the model; by default the installed versions of counterfolio and of the
        imported model libraries.

    Raises
    ------
    InputError
        If a setting is invalid or a function, or the explainer cannot be saved without a pickle.

    Examples
    --------
    >>> from counterfolio.mlflow import load_model, save_model
    >>> save_model(explainer, "mlflow-credit", settings={"target": "granted"})
    >>> load_model("mlflow-credit").digest == explainer.digest
    True
    """
    plain = encode_settings(settings or {})
    if "target" in plain or (explainer.classes and not explainer.outputs):  # others need one
        job_of(explainer, decode_settings(plain, explainer.classes))  # checks the settings
    folder = Path(path)
    explainer.save(folder / DATA, rows)
    model = mlflow_model or Model()
    if signature is not None:
        model.signature = signature
    model.add_flavor(FLAVOR, data=DATA, version=version("counterfolio"))
    requirements = pip_requirements or _requirements()
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n", encoding="utf-8")
    pyfunc.add_to_model(
        model,
        loader_module="counterfolio.mlflow",
        data=DATA,
        # MLflow ignores overrides of names that are missing here.
        model_config=dict.fromkeys((*QUERY, *LIMITS)) | plain,
    )
    model.save(str(folder / "MLmodel"))


def log_model(
    explainer: Explainer,
    name: str,
    settings: dict[str, Any] | None = None,
    registered_model_name: str | None = None,
    rows: bool = True,
    **details: Any,
) -> ModelInfo:
    """Log an explainer as a model of the current run.

    Parameters
    ----------
    explainer : Explainer
        Explainer to log.
    name : str
        Name of the model.
    settings : dict, optional
        Settings of the Python function, as in :func:`save_model`.
    registered_model_name : str, optional
        Name in the model registry, of which a new version is created.
    rows : bool, default True
        Whether to save about 200 training rows, as in :meth:`Explainer.save`.
    **details : object
        Further arguments of ``mlflow.models.Model.log`` and :func:`save_model`.

    Returns
    -------
    ModelInfo
        Description of the logged model, with its ``model_uri``.

    Raises
    ------
    InputError
        If a setting is invalid, or the explainer cannot be saved without a pickle.

    Examples
    --------
    >>> from counterfolio.mlflow import load_model, log_model
    >>> info = log_model(explainer, "credit")
    >>> load_model(info.model_uri).digest == explainer.digest
    True
    """
    return Model.log(
        None,
        sys.modules[__name__],
        registered_model_name=registered_model_name,
        name=name,
        explainer=explainer,
        settings=settings,
        rows=rows,
        **details,
    )


def load_model(model_uri: str) -> Explainer:
    """Load an explainer that :func:`log_model` or :func:`save_model` wrote.

    Parameters
    ----------
    model_uri : str
        Address of the model, such as ``models:/credit/1``, or its folder.

    Returns
    -------
    Explainer
        The explainer.

    Raises
    ------
    InputError
        If MLflow does not find the model, or it is not a saved explainer.

    Examples
    --------
    >>> from counterfolio.mlflow import load_model, save_model
    >>> save_model(explainer, "mlflow-loans")
    >>> load_model("mlflow-loans").classes == explainer.classes
    True
    """
    return Explainer.load(resolved(model_uri))


class _Answers:
    """Python function of a saved explainer: rows in, answers out."""

    def __init__(self, explainer: Explainer, settings: dict[str, Any]) -> None:
        self._explainer, self._answers = explainer, RowAnswers.of(explainer, settings)

    def get_raw_model(self) -> Explainer:
        """Return the explainer."""
        return self._explainer

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Return the answers to some rows, as :meth:`Explainer.explain_batch` does."""
        answers: pd.DataFrame = self._answers(rows, {}).to_pandas()
        return answers


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> _Answers:
    """Return the Python function in a folder; MLflow calls this."""
    explainer = Explainer.load(path)
    config = {name: value for name, value in (model_config or {}).items() if value is not None}
    saved = {name: value for name, value in config.items() if _is_plain(value)}
    return _Answers(explainer, config | decode_settings(saved, explainer.classes))


def _requirements() -> list[str]:
    """Return the versions of counterfolio and of the imported model libraries."""
    imported = [package for module, package in LIBRARIES if module in sys.modules]
    return [f"{package}=={version(package)}" for package in ("counterfolio", *imported)]


def _is_plain(value: Any) -> bool:
    """Return whether a value is one that YAML and JSON keep, as those of saved settings are."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return type(value) in PLAIN
