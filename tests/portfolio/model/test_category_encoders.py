"""Encoders of category_encoders, compared with brute force over raw rows by the model's predict."""

import subprocess
import sys
import warnings

import category_encoders as encoders
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from portfolio import Explainer, UnsupportedModelError
from tests.support.few import few_of
from tests.support.pipelines import check_queries

KINDS = [
    *("OrdinalEncoder", "CountEncoder", "TargetEncoder", "WOEEncoder", "CatBoostEncoder"),
    *("JamesSteinEncoder", "LeaveOneOutEncoder", "MEstimateEncoder", "QuantileEncoder"),
    *("GLMMEncoder", "OneHotEncoder", "BinaryEncoder", "BaseNEncoder", "RankHotEncoder"),
    *("HelmertEncoder", "SumEncoder", "BackwardDifferenceEncoder", "PolynomialEncoder"),
]
MODELS = {
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4),
    "forest": lambda: make_pipeline(SimpleImputer(), RandomForestClassifier(4, max_depth=4)),
    "linear": lambda: make_pipeline(
        SimpleImputer(), KBinsDiscretizer(4, strategy="uniform"), LogisticRegression()
    ),
}
N = 120


def homes(seed, gaps):
    """Return a frame of whole numbers and categories, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "job": rng.choice(["cook", "nurse", "pilot", "smith"], N),
            "age": rng.integers(20, 35, N),
            "town": pd.Categorical(rng.choice(["Bath", "Hull", "York"], N)),
            "owns": rng.random(N) < 0.4,
        }
    )
    y = ((X.age > 27) ^ X.job.isin(["cook", "pilot"]) ^ (X.town == "Hull")).astype(int)
    y[rng.random(N) < 0.1] = 1
    if gaps:
        X.loc[rng.random(N) < 0.15, "job"] = None
        X.loc[rng.random(N) < 0.15, "town"] = np.nan
    return X, y


def options_of(seed):
    """Return one of the treatments of new and missing values, and whether values are missing."""
    treatments = [("value", "value"), ("return_nan", "return_nan"), ("error", "value")]
    treatments += [("value", "error"), ("return_nan", "value"), ("value", "return_nan")]
    unknown, missing = treatments[seed % len(treatments)]
    return {"handle_unknown": unknown, "handle_missing": missing}, missing != "error"


def encoder_of(kind, seed, **more):
    options, gaps = options_of(seed)
    own = {"random_state": seed, "sigma": 0.1} if "LeaveOneOut" in kind else {}
    return getattr(encoders, kind)(**options, **own, **more), gaps


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 16))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("kind", "final"), few_of(KINDS, MODELS))
def test_encoders_are_followed(kind, final, seed):
    encoder, gaps = encoder_of(kind, seed + KINDS.index(kind), drop_invariant=seed % 2 == 1)
    X, y = homes(seed, gaps)
    model = make_pipeline(encoder, *steps_of(MODELS[final]()))
    assert check_labels(model, X, y, seed) >= 1


def steps_of(model):
    return [step for _, step in getattr(model, "steps", [("", model)])]


def check_labels(model, X, y, seed, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = Explainer(model.fit(X, y), X)
        return check_queries(explainer, model, X, seed, 3, **options)


@pytest.mark.parametrize("kind", ["TargetEncoder", "OneHotEncoder", "CountEncoder"])
def test_numbers_and_new_categories_are_encoded(kind):
    X, y = homes(3, gaps=False)
    groups = {"min_group_size": 9} if kind == "CountEncoder" else {}
    encoder = getattr(encoders, kind)(cols=["age", "job"], **groups)
    rest = make_column_transformer((encoder, ["age", "job", "owns"]))
    model = make_pipeline(rest, RandomForestClassifier(4, max_depth=4, random_state=3)).fit(X, y)
    assert check_labels(model, X, y, 3, by_value=["age"]) == 3
    row = X.iloc[[0]].assign(job="baker")
    explainer = Explainer(model, X)
    answer = explainer.explain(row)
    assert answer.status == "optimal"
    assert model.predict(answer.counterfactual)[0] != model.predict(row)[0]


def test_encoders_of_an_array_are_followed():
    X, y = homes(4, gaps=True)
    if sklearn.__version__.startswith("1.6."):  # which does not fill in text of pandas 3
        X = X.astype({"job": object, "town": object})
    filled = SimpleImputer(strategy="most_frequent")
    encoder = encoders.OrdinalEncoder(cols=[0, 2], return_df=False)
    model = make_pipeline(filled, encoder, RandomForestClassifier(4, max_depth=4, random_state=4))
    assert check_labels(model, X, y, 4) >= 1


def test_other_encoders_are_refused():
    X, y = homes(5, gaps=False)
    pairs = encoders.TargetEncoder()
    pairs.composite_cols = [("job", "town")]  # a parameter since version 2.11
    hashed = encoders.HashingEncoder(cols=["job", "town"], max_process=1, n_components=3)
    lengths = encoders.OrdinalEncoder(handle_unknown=lambda value, mapping: -len(value))
    for encoder, words in (
        (pairs, "encodes pairs of columns"),
        (hashed, "cannot be read exactly"),
        (lengths, "computes codes of new categories by a function"),
    ):
        model = make_pipeline(encoder, RandomForestClassifier(3)).fit(X, y)
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model, X)


class Doubled(encoders.TargetEncoder):
    def transform(self, X, y=None, override_return_df=False):
        return super().transform(X, y, override_return_df) * 2


def test_a_subclass_is_not_known():
    X, y = homes(6, gaps=False)
    model = make_pipeline(Doubled(), RandomForestClassifier(3)).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="Doubled, cannot be read exactly"):
        Explainer(model, X)


def test_no_library_of_encoders_is_imported():
    names = ("category_encoders", "feature_engine", "optbinning")
    lines = "import sys, counterfolio, portfolio.model.explained_model, portfolio.model.pipeline\n"
    code = f"{lines}print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
