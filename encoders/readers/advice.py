"""Remedies for models that cannot be read, as the last sentence of an error message."""

import sys
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from encoders.readers.kinds import kind_of, predictor

SUPPORTED = (
    "scikit-learn's trees, forests and gradient boosting, bagging, voting, AdaBoost, calibration "
    "and thresholds of these, TransformedTargetRegressor, IsolationForest, HardVotingClassifier, "
    "models of XGBoost, LightGBM, CatBoost, InterpretML, scikit-survival and "
    "quantile-forest, and pipelines of these"
)
SURVIVAL = (
    "Use SurvivalTree, RandomSurvivalForest, ExtraSurvivalTrees or GradientBoostingSurvivalAnalysis"
)

SUBSTITUTES = {"PLSRegression": "LinearRegression", "SGDOneClassSVM": "IsolationForest"}
ROLES = ("Classifier", "Regressor", "Ranker")  # ends of class names
SIMILAR = 0.6  # least similarity of names, as in difflib


def advice_for(model: Any, library_of: Mapping[str, str]) -> str:
    """Return a remedy for a model of an unsupported type, a sentence without its full stop.

    ``library_of`` contains the supported classes with the packages of their libraries.
    """
    kind = kind_of(model)
    if kind.library == "sksurv":
        return SURVIVAL
    nearest = nearest_kind(type(model), library_of)
    if nearest is None:
        return f"Use {SUPPORTED}"
    library = library_of[nearest]
    return f"Use {nearest} of {library}, or another model that `counterfolio models` lists"


def nearest_kind(cls: type, library_of: Mapping[str, str]) -> str | None:
    """Return the supported class nearest to another one: by base class, library, name or module."""
    if not hasattr(cls, "predict"):
        return None
    top, _, rest = cls.__module__.partition(".")
    inside = [kind for kind, library in library_of.items() if top == library != "sklearn"]
    stem, role = _stem_and_role(cls.__name__)
    fitting = [kind for kind in library_of if not role or _stem_and_role(kind)[1] == role]
    similar = [kind for kind in fitting if _likeness(stem, kind) >= SIMILAR]
    # Public packages such as sklearn.linear_model contain the classes of their modules.
    package = sys.modules.get(f"{top}.{rest.partition('.')[0]}")
    beside = [kind for kind in fitting if role and hasattr(package, kind)]
    bases = [each.__name__ for each in cls.__mro__ if each.__name__ in library_of]
    bases += [SUBSTITUTES[cls.__name__]] if cls.__name__ in SUBSTITUTES else []

    def order(kind: str) -> tuple[float, bool, bool, int, str]:
        its_role = _stem_and_role(kind)[1]
        return _likeness(stem, kind), its_role == role, its_role == ROLES[0], -len(kind), kind

    return max(bases[:1] or inside or similar or beside, key=order, default=None)


def _stem_and_role(name: str) -> tuple[str, str]:
    """Return the name of a class without its role, and the role."""
    role = next((each for each in ROLES if name.removesuffix("CV").endswith(each)), "")
    return name.removesuffix("CV").removesuffix(role), role


def _likeness(stem: str, kind: str) -> float:
    """Return the similarity of a name without its role to a supported class, from 0 to 1."""
    other = _stem_and_role(kind)[0].lower()
    return 1.0 if other in stem.lower() else SequenceMatcher(None, stem.lower(), other).ratio()


def other_objectives(model: Any, classifying: str, predicting: str) -> str:
    """Return the objectives that a model of its class may be trained with."""
    name = kind_of(predictor(model)).name
    if name.endswith("Regressor"):
        return predicting
    return classifying if name.endswith("Classifier") else f"{classifying}, {predicting}"
