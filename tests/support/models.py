"""Random models of every library, and ways through their files.

Each maker draws a model at random and fits it; it says which formats it can be saved in.
"""

import io
import warnings

import joblib
import lightgbm
import skops.io
import xgboost

from tests.support.library_models import (
    forest_model,
    gradient_model,
    histogram_model,
    lightgbm_model,
    tree_model,
    xgboost_model,
)
from tests.support.member_models import (
    adaboost_model,
    bagging_model,
    calibrated_model,
    catboost_model,
    isolation_model,
    voting_model,
)

MAKERS = (
    xgboost_model,
    lightgbm_model,
    forest_model,
    tree_model,
    gradient_model,
    histogram_model,
    bagging_model,
    adaboost_model,
    voting_model,
    isolation_model,
    calibrated_model,
    catboost_model,
)


def make(rng, maker, X, y):
    """A fitted model; libraries warn about odd parameters, which is what they are for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maker(rng, X, y)


def saved_and_loaded(made, ending, folder):
    """The model after a way through a file of that format, loaded by its own library."""
    model, path = made.model, str(folder / f"model.{ending}")
    if ending == "joblib":
        kept = io.BytesIO()
        joblib.dump(model, kept)
        kept.seek(0)
        return joblib.load(kept)
    if ending == "skops":
        skops.io.dump(model, path)
        return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    if ending in ("cbm", "catboost.json"):
        made_of = ending.split(".")[-1]
        model.save_model(path, format=made_of)
        return type(model)().load_model(path, format=made_of)
    if ending == "txt":
        model.booster_.save_model(path)
        return lightgbm.Booster(model_file=path)
    if ending.startswith("booster"):
        model.get_booster().save_model(path)
        return xgboost.Booster(model_file=path)
    model.save_model(path)
    loaded = xgboost.XGBClassifier()
    loaded.load_model(path)
    return loaded
