"""Model files of MLflow: addresses such as ``models:/credit/1``, and folders with ``MLmodel``."""

from os.path import isfile  # False for names that are too long
from pathlib import Path
from typing import Any

from encoders.core.errors import CounterfolioError, InputError, UnavailableBackendError
from encoders.readers.refusals import first_line

SCHEMES = "models:/", "runs:/", "mlflow-artifacts:/"
CONTENTS = "MLmodel"
FLAVOR, DATA = "counterfolio", "explainer"  # name of our flavour, and its folder
# Flavours of libraries, and the members that name the file of the model.
FLAVORS = FLAVOR, "xgboost", "lightgbm", "catboost", "sklearn"
FILES = "data", "pickled_model"


def resolved(path: str | Path) -> Path:
    """Return the model file, or the saved explainer, of a model of MLflow; others as they are."""
    text = str(path)
    if not text.startswith(SCHEMES):
        folder = Path(path)
        return _model_in(folder) if isfile(folder / CONTENTS) else folder
    try:
        from mlflow.artifacts import download_artifacts
    except ImportError as error:
        raise _uninstalled(text) from error
    try:
        return _model_in(Path(download_artifacts(text)))
    except CounterfolioError:
        raise
    except Exception as error:  # stores raise errors of many libraries
        raise InputError(
            f"MLflow cannot load {text} ({first_line(error)}). Check the address, and the variable "
            "MLFLOW_TRACKING_URI."
        ) from error


def _uninstalled(text: str) -> UnavailableBackendError:
    return UnavailableBackendError(
        f"{text} needs the package mlflow. Install it with: pip install 'counterfolio[mlflow]'"
    )


def _model_in(folder: Path) -> Path:
    """Return the part of a model of MLflow that an explainer can be made of."""
    try:
        import yaml
    except ImportError as error:
        raise _uninstalled(str(folder)) from error
    flavors: dict[str, Any] = yaml.safe_load((folder / CONTENTS).read_text())["flavors"]
    for name in FLAVORS:
        for member in FILES:
            if isinstance(file := flavors.get(name, {}).get(member), str):
                return folder / file
    raise InputError(
        f"the MLflow model {folder} has the flavours {', '.join(sorted(flavors))}. Use one of "
        f"{', '.join(FLAVORS)}."
    )
