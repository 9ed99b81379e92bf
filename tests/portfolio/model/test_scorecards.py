"""Linear models of bins and codes, compared with all rows by the model's own predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

from encoders.core.errors import UnsupportedModelError
from portfolio import AtLeast, Explainer, Probability
from tests.support.few import few_of
from tests.support.whole_grids import (
    check_classes,
    check_gaps,
    check_predictions,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 25))]
NUMBERS = {
    "sparse bins": lambda: KBinsDiscretizer(3),
    "bins": lambda: KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    "ranks": lambda: KBinsDiscretizer(3, encode="ordinal"),
    "flags": lambda: Binarizer(threshold=2.5),
    "scaled": lambda: make_pipeline(KBinsDiscretizer(3, encode="ordinal"), StandardScaler()),
}
TEXT = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "ordinal": OrdinalEncoder,
    "target": lambda: TargetEncoder(cv=2),
    "scaled": lambda: make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
}
CLASSIFIERS = (LogisticRegression, RidgeClassifier, LinearSVC, SGDClassifier)
REGRESSORS = (LinearRegression, Ridge, lambda: Lasso(alpha=0.01))


def steps(numbers, text):
    encoders = (NUMBERS[numbers](), list("abc")), (TEXT[text](), ["kind"])
    return make_column_transformer(*encoders)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("numbers", "text"), few_of(NUMBERS, TEXT))
def test_scorecards_are_sums_of_steps(numbers, text, seed):
    X, score = whole_table(seed, categories=True)
    at = list(NUMBERS).index(numbers) + list(TEXT).index(text) + seed
    final = CLASSIFIERS[at % len(CLASSIFIERS)]()
    limits = [3] if at % 2 else [1, 5]
    model = make_pipeline(steps(numbers, text), final).fit(X, np.digitize(score, limits))
    assert check_classes(model, X, seed, 2) == 2 * len(limits)
    model = make_pipeline(steps(numbers, text), REGRESSORS[at % len(REGRESSORS)]())
    assert check_predictions(model.fit(X, score), X, seed, 1, blur=1e-9) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_are_those_of_the_logistic_function(seed):
    X, score = whole_table(seed, categories=True)
    model = make_pipeline(steps("bins", "one-hot"), LogisticRegression()).fit(X, score > 3)
    explainer, rows = Explainer(model, X), every_row(X)
    shares, cost = model.predict_proba(rows)[:, 1], costs(rows, X.iloc[3])
    limit = float(np.quantile(shares, 0.9, method="nearest"))
    goal = Probability(True, at_least=limit)
    compare(explainer.explain(X.iloc[[3]], target=goal), cost[shares >= limit].min())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_scorecards_are_parts_of_other_models(seed):
    X, score = whole_table(seed, categories=True)
    y = (score > 3).astype(int)
    card = make_pipeline(steps("sparse bins", "one-hot"), LogisticRegression())
    forest = make_pipeline(steps("sparse bins", "one-hot"), RandomForestClassifier(3, max_depth=3))
    models = (
        VotingClassifier([("card", card), ("forest", forest)], voting="soft"),
        make_pipeline(steps("ranks", "target"), BaggingClassifier(LogisticRegression(), 3)),
        FixedThresholdClassifier(card, threshold=0.4),
        make_pipeline(
            steps("bins", "one-hot"), FixedThresholdClassifier(LogisticRegression(), threshold=0.4)
        ),
        make_pipeline(steps("bins", "one-hot"), OneVsRestClassifier(LogisticRegression())),
        OneVsRestClassifier(FixedThresholdClassifier(card, threshold=0.4)),
        make_pipeline(
            steps("ranks", "one-hot"), CalibratedClassifierCV(LinearSVC(), cv=2, ensemble=False)
        ),
        FixedThresholdClassifier(make_pipeline(steps("bins", "scaled"), RidgeClassifier())),
        GridSearchCV(card, {"logisticregression__C": [0.1, 1.0]}, cv=2),
    )
    for model in models if seed else models[::2]:
        assert check_classes(model.fit(X, y), X, seed, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("indicator", [False, True])
def test_gaps_are_filled_or_marked(indicator):
    X, score = whole_table(5)
    X = with_gaps(X, 5)
    filled = SimpleImputer(strategy="median", add_indicator=indicator)
    binned = make_column_transformer(
        (make_pipeline(filled, KBinsDiscretizer(3, encode="ordinal")), ["a", "b", "c"])
    )
    model = make_pipeline(binned, LogisticRegression()).fit(X, (score > 3).astype(int))
    assert check_gaps(model, X) == 2


def test_edges_of_bins_of_decimal_numbers_are_exact():
    """Values below an edge and on it are in different bins, up to the last bit."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    model = make_pipeline(KBinsDiscretizer(6), LogisticRegression()).fit(X, X.a + X.b > 0.5)
    query = X[~model.predict(X)].iloc[[0]]
    result = Explainer(model, X).explain(query)
    assert result.status == "optimal" and model.predict(result.counterfactual)[0]
    values = result.counterfactual.iloc[0]
    moved = [name for name in X if values[name] != query[name].iloc[0]]
    assert moved and set(values[moved]) <= set(np.concatenate(model[0].bin_edges_))


def test_answers_are_verified_as_single_rows():
    """Predictions of a linear model differ in the last bit from those of the row among others."""
    X, score = whole_table(0, categories=True)
    model = make_pipeline(steps("flags", "target"), Lasso(alpha=0.01)).fit(X, score)
    rows, explainer = every_row(X), Explainer(model, X)
    for row in rows.iloc[::100].index:
        limit = float(model.predict(rows.loc[[row]])[0])
        query = X.iloc[[7]]
        result = explainer.explain(query, target=AtLeast(limit))
        assert result.status == "optimal"
        assert result.distance <= costs(rows.loc[[row]], query.iloc[0])[0] + 1e-9
        assert model.predict(result.counterfactual)[0] >= limit


@pytest.mark.slow
def test_a_batch_of_many_rows_answers_as_single_rows_do():
    X, score = whole_table(0, categories=True)
    model = make_pipeline(steps("flags", "target"), Lasso(alpha=0.01)).fit(X, score)
    explainer = Explainer(model, X)
    limit = float(max(model.predict(X.iloc[[place]])[0] for place in range(20)))
    batch = explainer.explain_batch(X, target=AtLeast(limit))
    assert len(batch) > 64
    for place in range(0, len(X), 7):
        result = explainer.explain(X.iloc[[place]], target=AtLeast(limit))
        assert batch["status"].iloc[place] == result.status == "optimal"
        assert batch["distance"].iloc[place] == pytest.approx(result.distance)


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(5)])
@pytest.mark.parametrize("n_bins", [2, 5])
def test_columns_of_a_one_hot_group_may_be_binned(model, n_bins):
    rng = np.random.default_rng(n_bins)
    home = rng.integers(0, 3, 150)
    X = pd.DataFrame({"age": rng.integers(0, 7, 150)} | {f"home_{k}": home == k for k in range(3)})
    y = (X.age > 3) ^ X.home_1
    model = make_pipeline(KBinsDiscretizer(n_bins, strategy="uniform"), model)
    X = X.astype(int)
    explainer = Explainer(model.fit(X, y), X)
    homes = pd.DataFrame(np.eye(3, dtype=int), columns=X.columns[1:])
    rows = pd.DataFrame({"age": range(7)}).merge(homes, how="cross")
    spread = X.age.max() - X.age.min()
    for place in range(6):
        query, predicted = X.iloc[place], model.predict(rows)
        cost = (rows.age - query.age).abs() / spread
        cost += (rows.iloc[:, 1:] != query.iloc[1:]).any(axis=1)
        best = cost[predicted != model.predict(X.iloc[[place]])[0]].min()
        compare(explainer.explain(X.iloc[[place]]), best)


def test_raw_numbers_are_refused():
    X, score = whole_table(5)
    bins = make_pipeline(KBinsDiscretizer(3), LogisticRegression())
    for model, words in (
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "reads 'a' as a number that is not",
        ),
        (LogisticRegression(), "a linear model of raw columns .LogisticRegression. is not"),
        (BaggingClassifier(LogisticRegression(), 2), "a linear model of raw columns"),
    ):
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model.fit(X, score > 3), X)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(bins, X)
    one = KBinsDiscretizer(4, encode="ordinal")
    boosted = make_pipeline(one, AdaBoostClassifier(LogisticRegression(), n_estimators=2))
    with pytest.raises(UnsupportedModelError, match="a linear model of raw columns"):
        Explainer(boosted.fit(X[["a"]], score > 3), X[["a"]])
