"""Steps of feature_engine, compared with brute force over raw rows by the model's predict."""

import warnings

import feature_engine.discretisation as discretisers
import feature_engine.encoding as encoders
import feature_engine.imputation as imputers
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from portfolio import Explainer, UnsupportedModelError
from tests.support.binned import borrowers, check_bins
from tests.support.few import few_of

FINAL = {
    "forest": lambda: RandomForestClassifier(4, max_depth=4, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4),
    "logistic": LogisticRegression,
    "svc": LinearSVC,
}
ENCODERS = {
    "ordinal": lambda: encoders.OrdinalEncoder(encoding_method="arbitrary"),
    "ordered": lambda: encoders.OrdinalEncoder(unseen="encode", missing_values="ignore"),
    "mean": lambda: encoders.MeanEncoder(smoothing="auto", unseen="encode"),
    "woe": lambda: encoders.WoEEncoder(fill_value=0.01),
    "count": lambda: encoders.CountFrequencyEncoder(unseen="raise"),
    "tree": lambda: encoders.DecisionTreeEncoder(regression=False, cv=2),
    "one-hot": lambda: encoders.OneHotEncoder(),
    "top": lambda: encoders.OneHotEncoder(top_categories=2),
    "dropped": lambda: encoders.OneHotEncoder(drop_last=True),
    "rare": lambda: make_pipeline(
        encoders.RareLabelEncoder(tol=0.25, n_categories=2), encoders.MeanEncoder()
    ),
}
NUMBERS = ["income", "age"]
LIMITS = {"income": [1000.0, 2500.5, 4000.0], "age": [30, 45, 50]}
DISCRETISERS = {
    "width": lambda **out: discretisers.EqualWidthDiscretiser(NUMBERS, bins=7, **out),
    "frequency": lambda **out: discretisers.EqualFrequencyDiscretiser(NUMBERS, q=5, **out),
    "geometric": lambda **out: discretisers.GeometricWidthDiscretiser(NUMBERS, bins=5, **out),
    "arbitrary": lambda **out: discretisers.ArbitraryDiscretiser(
        {name: [-np.inf, *limits, np.inf] for name, limits in LIMITS.items()}, **out
    ),
}
OUTPUTS = {
    "ranks": {},
    "objects": {"return_object": True},
    "texts": {"return_boundaries": True},
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 16))]


def filled(X):
    """Return steps that fill and mark missing values."""
    return (
        imputers.AddMissingIndicator(variables=["income"], missing_only=False),
        imputers.EndTailImputer(variables=["income"]),
        imputers.CategoricalImputer(variables=["job"]),
    )


def limits_of(step):
    """Return the limits of the bins of each column."""
    limits = {}
    for name in NUMBERS:
        binner = step.binner_dict_[name]
        if not isinstance(binner, list):
            tree = binner.best_estimator_.tree_
            binner = tree.threshold[tree.feature >= 0]
        limits[name] = [limit for limit in binner if np.isfinite(limit)]
    return limits


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("encoder", "final"), few_of(ENCODERS, FINAL))
def test_encoders_and_imputers_are_followed(encoder, final, seed):
    X, y = borrowers(seed, gaps=seed % 2 == 0)
    bins = discretisers.EqualFrequencyDiscretiser(NUMBERS, q=4)
    model = make_pipeline(*filled(X), bins, ENCODERS[encoder](), FINAL[final]())
    fitted(model, X, y)
    assert check_bins(model, X, limits_of(bins), seed) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("kind", "output"), few_of(DISCRETISERS, OUTPUTS))
def test_discretisers_are_followed(kind, output, seed):
    X, y = borrowers(seed, gaps=seed % 2 == 1)
    bins = DISCRETISERS[kind](**OUTPUTS[output])
    encoder = encoders.MeanEncoder(unseen="encode")
    final = list(FINAL.values())[(seed + len(kind + output)) % len(FINAL)]()
    model = fitted(make_pipeline(*filled(X), bins, encoder, final), X, y)
    assert check_bins(model, X.iloc[: 150 - 30 * (seed % 2)], limits_of(bins), seed) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("output", "final"), few_of(["prediction", "bin_number", "boundaries"], FINAL)
)
def test_bins_of_trees_are_followed(output, final, seed):
    X, y = borrowers(seed, gaps=seed % 2 == 1)
    precision = 3 if output == "boundaries" else None
    bins = discretisers.DecisionTreeDiscretiser(
        NUMBERS, bin_output=output, precision=precision, cv=2, regression=False
    )
    encoder = encoders.OrdinalEncoder(unseen="encode")
    model = fitted(make_pipeline(*filled(X), bins, encoder, FINAL[final]()), X, y)
    assert check_bins(model, X, limits_of(bins), seed) == 3


@pytest.mark.parametrize("output", ["prediction", "bin_number"])
def test_bins_of_scaled_numbers(output):
    """Trees of scaled numbers are known for training values only, ranks of bins for all numbers."""
    X, y = borrowers(3)
    X = X[NUMBERS].assign(income=X.income // 500 * 500)
    bins = discretisers.DecisionTreeDiscretiser(bin_output=output, cv=2, regression=False)
    scaled = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaled, bins, RandomForestClassifier(4, max_depth=4, random_state=0))
    explainer = Explainer(fitted(model, X, y), X)
    row = X.iloc[[0]].assign(income=250)
    income = next(each for each in explainer.features.features if each.name == "income")
    assert income.coded == (output == "prediction")
    if output == "bin_number":
        assert explainer.explain(row).status == "optimal"


def test_random_imputers_are_refused():
    X, y = borrowers(4, gaps=True)
    random = imputers.RandomSampleImputer(variables=["income"], random_state=1)
    model = make_pipeline(random, HistGradientBoostingClassifier(max_iter=2))
    X = X[NUMBERS]
    with pytest.raises(UnsupportedModelError, match="RandomSampleImputer, cannot be read exactly"):
        Explainer(fitted(model, X, y), X)
