"""Steps that bin a number and give its bins numbers in any order, compared with brute force."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

from portfolio import Explainer, InputError, UnsupportedModelError
from tests.support.binned import borrowers, check_bins
from tests.support.few import few_of

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 60))]
FINAL = {
    "forest": lambda: RandomForestClassifier(4, max_depth=4, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4),
    "logistic": LogisticRegression,
    "ridge": RidgeClassifier,
    "svc": LinearSVC,
}
STEP = "columntransformer__binned"


class Binned(TransformerMixin, BaseEstimator):
    """Numbers of the bins of a column, in any order."""

    def __init__(self, cuts, numbers, right=False, copies=1):
        self.cuts, self.numbers, self.right, self.copies = cuts, numbers, right, copies

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        values = np.asarray(X, dtype=float)[:, 0]
        outputs = np.asarray(self.numbers)[np.digitize(values, self.cuts, self.right)]
        outputs = np.where(np.isnan(values), 9.0, outputs)
        return np.stack([outputs * (1 + at) for at in range(self.copies)], axis=1)


def any_bins(X, rng):
    """Return a step over the incomes, each of whose bins contains a training row."""
    cuts = np.sort(rng.choice(X.income.dropna().unique(), 6, replace=False))
    return Binned(
        cuts, rng.integers(0, 4, 7) / 3, bool(rng.random() < 0.5), int(rng.integers(1, 3))
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("final", FINAL)
def test_declared_bins_are_found(final, seed):
    X, y = borrowers(seed, gaps=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    step = any_bins(X, rng)
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer(
        (step, ["income"]), (filled, ["job"]), (KBinsDiscretizer(4, encode="ordinal"), ["age"])
    )
    model = make_pipeline(columns, FINAL[final]()).fit(X, y)
    tried = check_bins(model, X, {"income": step.cuts, "age": ()}, seed, steps={STEP: "by bin"})
    assert tried == 3


ENCODERS = {
    "target": lambda: TargetEncoder(cv=2),
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "scaled": lambda: make_pipeline(TargetEncoder(cv=2), StandardScaler()),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("strategy", "encoder"), few_of(["uniform", "quantile"], ENCODERS))
def test_codes_of_known_bins_are_followed(strategy, encoder, seed):
    X, y = borrowers(seed, gaps=seed % 2 == 1)
    bins = KBinsDiscretizer(
        9, encode="ordinal", strategy=strategy, dtype=[np.float64, np.float32][seed % 3 == 2]
    )
    numbers = make_pipeline(SimpleImputer(), bins, ENCODERS[encoder]())
    columns = make_column_transformer((numbers, ["income", "age"]), (TargetEncoder(cv=2), ["job"]))
    final = list(FINAL.values())[(seed + len(encoder)) % len(FINAL)]
    model = make_pipeline(columns, final()).fit(X, y)
    fitted = model[0].named_transformers_["pipeline"][1]
    limits = dict(zip(("income", "age"), fitted.bin_edges_, strict=True))
    some = X.iloc[: 150 - 40 * (seed % 2)]  # bins may have no rows here
    assert check_bins(model, some, limits, seed) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_bins_may_be_categories_of_the_model(seed):
    X, y = borrowers(seed)
    columns = make_column_transformer(
        (KBinsDiscretizer(6, encode="ordinal"), ["income", "age"]), (OrdinalEncoder(), ["job"])
    )
    final = HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=4, categorical_features=[0, 2]
    )
    model = make_pipeline(columns, final).fit(X, y)
    limits = dict(zip(("income", "age"), model[0].transformers_[0][1].bin_edges_, strict=True))
    assert check_bins(model, X, limits, seed) == 3


def wave(values):
    return np.sin(np.asarray(values, dtype=float))


def sloped_bin(values):
    values = np.asarray(values, dtype=float)
    return np.where(values > 6000, values, np.digitize(values, [900, 2000]))


@pytest.mark.parametrize("function", [wave, sloped_bin])
def test_steps_that_do_not_bin_are_refused(function):
    X, y = borrowers(1)
    columns = make_column_transformer((FunctionTransformer(function), ["income"]))
    model = make_pipeline(columns, RandomForestClassifier(3, random_state=0)).fit(X, y)
    name = "columntransformer__functiontransformer"
    with pytest.raises(UnsupportedModelError, match="for 'income' is not constant between a few"):
        Explainer(model, X, steps={name: "by bin"})


def test_a_bin_that_slopes_between_training_values_is_refused():
    X, y = borrowers(2)
    first, second = np.sort(X.income.unique())[70:72]
    gap = (second - first) / 3

    def sloped(values):
        values = np.asarray(values, dtype=float)
        outputs = np.digitize(values, [900.0, 2500.0]).astype(float)
        inside = (values > first + gap) & (values < second - gap)
        return np.where(inside, values, outputs)

    columns = make_column_transformer((FunctionTransformer(sloped), ["income"]))
    model = make_pipeline(columns, RandomForestClassifier(3, random_state=0)).fit(X, y)
    name = "columntransformer__functiontransformer"
    with pytest.raises(UnsupportedModelError, match="is not constant between"):
        Explainer(model, X, steps={name: "by bin"})


def test_queries_stay_in_the_range_of_declared_bins():
    X, y = borrowers(3)
    step = any_bins(X, np.random.default_rng(3))
    columns = make_column_transformer((step, ["income"]), ("passthrough", ["age"]))
    model = make_pipeline(columns, RandomForestClassifier(3, random_state=0)).fit(X, y)
    explainer = Explainer(model, X, steps={STEP: "by bin"})
    with pytest.raises(InputError, match="outside the range in which the pipeline can be analysed"):
        explainer.explain(X.iloc[[0]].assign(income=X.income.max() + 1))


@pytest.mark.slow
@pytest.mark.parametrize("final", FINAL)
def test_bins_of_weighted_columns(final):
    """Limits of bins are those of the weighted column, so only training values are used."""
    X, y = borrowers(4)
    X = X[["age", "income"]].assign(income=X.income // 500 * 500)
    weighted = make_column_transformer(("passthrough", ["age", "income"]))
    weighted.set_params(transformer_weights={"passthrough": 3.0})
    bins = KBinsDiscretizer(9, encode="ordinal", strategy="uniform")
    encoder = TargetEncoder(cv=2, random_state=0)
    model = make_pipeline(weighted, bins, encoder, FINAL[final]()).fit(X, y)
    explainer = Explainer(model, X)
    assert all(feature.coded for feature in explainer.features.features)
    every = pd.MultiIndex.from_product([X.age.unique(), X.income.unique()], names=X.columns)
    predicted = model.predict(every.to_frame(index=False))
    for place in range(3):
        row = X.iloc[[place]]
        result = explainer.explain(row)
        reachable = bool(np.any(predicted != model.predict(row)[0]))
        assert result.status == ("optimal" if reachable else "infeasible")
        assert result.counterfactual is None or result.counterfactual.income.isin(X.income).all()
