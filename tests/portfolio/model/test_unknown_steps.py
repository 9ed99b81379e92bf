"""Steps of unknown classes: the declarations of users, and checks of single values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from portfolio import Explainer, InputError, UnsupportedModelError
from portfolio.api.variants import asker_of
from portfolio.model.tabular import read_rows
from tests.support.pipelines import check, loans

FUNCTION = "columntransformer__functiontransformer"


class Letters(TransformerMixin, BaseEstimator):
    """Two numbers of a column of text."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        words = [str(value) for value in np.asarray(X, dtype=object)[:, 0]]
        return np.array([[len(word), "i" in word] for word in words], dtype=float)


def forest(*steps):
    columns = make_column_transformer(*steps, remainder="drop")
    return make_pipeline(columns, RandomForestClassifier(5, max_depth=4, random_state=0))


def clipped(values):
    return np.clip(values, 1000, 4000) ** 3


def fallen(values):
    return 5 - np.sqrt(np.abs(values)) * 3


def jittered(values):
    """Rises, but for its last bits."""
    values = np.asarray(values, dtype=float)
    noise = (values.view(np.int64) * 2654435761 % 23).astype(float)
    return values + noise * np.spacing(values)


@pytest.mark.slow
@pytest.mark.parametrize("function", [clipped, fallen])
def test_a_function_is_followed_that_is_said_to_be_monotone(function):
    X, y = loans(31, gaps=False)
    model = forest((FunctionTransformer(function), ["age", "income"]), (OneHotEncoder(), ["job"]))
    assert check(model, X, y, 31, steps={FUNCTION: "monotone"}) >= 2


def test_by_value_only_the_training_values_count():
    X, y = loans(32, gaps=False)
    X = X.assign(age=X.age // 8 * 8)
    wave = FunctionTransformer(lambda values: np.sin(values))
    model = forest((wave, ["age"]), (StandardScaler(), ["income"]))
    assert check(model, X, y, 32, by_value=["age"], steps={FUNCTION: "by value"}) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True])
def test_one_column_of_text_is_asked_value_by_value(gaps):
    X, y = loans(33, gaps)
    turned = make_pipeline(OneHotEncoder(sparse_output=False), PCA(2))
    assert check(forest((Letters(), ["job"]), (StandardScaler(), ["age"])), X, y, 33) >= 2
    assert check(forest((turned, ["job"]), ("passthrough", ["age", "owns"])), X, y, 33) >= 2


def jittery(seed):
    X, y = loans(seed, gaps=False)
    steps = make_column_transformer((FunctionTransformer(jittered), ["income", "age"]))
    # Thresholds of histograms are float64, so that the last bits matter.
    model = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=4))
    model.fit(X, y)
    return model, X, Explainer(model, X, steps={FUNCTION: "monotone"})


def test_no_answer_uses_last_bits_that_cross_to_and_fro():
    model, X, explainer = jittery(34)
    ensemble = asker_of(explainer).model.ensemble
    unsure = ensemble.unsure[1]
    assert unsure.after.size >= 5
    cuts = np.unique(ensemble.last_left[ensemble.column == 1])
    rows = asker_of(explainer).model.native.table.numbers(X.iloc[:1], "")
    near = (cuts.view(np.int64) + np.arange(-80, 80)[:, None]).view(np.float64).ravel()
    rows = np.repeat(rows, near.size, axis=0)
    rows[:, 1] = near
    inputs = X.iloc[[0] * near.size].assign(income=near)
    same = model.predict_proba(inputs)[:, 1] > 0.5
    ours = ensemble.scores(rows)[:, 1] > ensemble.scores(rows)[:, 0]
    held = unsure.hold(near)
    assert (same == ours)[~held].all() and held.sum() < 60 * cuts.size
    for place in range(12):
        result = explainer.explain(X.iloc[[place]])
        assert result.status in ("optimal", "infeasible")
        if result.row is not None:
            assert not unsure.hold(np.array([float(result.counterfactual["income"].iloc[0])])).any()


def test_a_query_among_such_last_bits_is_told():
    _, X, explainer = jittery(34)
    row = X.iloc[[0]].assign(income=asker_of(explainer).model.ensemble.unsure[1].until[:1])
    with pytest.raises(InputError, match=r"income is .*, within rounding error of a split"):
        explainer.explain(row)
    model = asker_of(explainer).model
    _, _, rows = read_rows(
        pd.concat([row, X.iloc[[1]]]), model.space, model.ensemble.dtype, model.native.table
    )
    assert "within rounding error of a split" in rows[0] and rows[1].tolist() == [
        X.age[1],
        X.income[1],
        0.0,
        X.owns[1],
    ]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ({FUNCTION: "monotone"}, "output is not monotone in 'income', .* 'by value'"),
        ({}, f"calls <lambda>, .* declare it with steps={{'{FUNCTION}': 'monotone'}}"),
        ({"job": "monotone"}, "the pipeline has no step 'job'"),
        ({FUNCTION: "up"}, "must be 'monotone', 'by value' or 'by bin', got 'up'"),
    ],
)
def test_what_is_said_wrongly_is_told(steps, words):
    X, y = loans(35, gaps=False)
    wave = FunctionTransformer(lambda values: np.sin(values / 500))
    model = forest((wave, ["income"])).fit(X, y)
    with pytest.raises((InputError, UnsupportedModelError), match=words):
        Explainer(model, X, steps=steps)


def test_steps_that_look_at_other_rows_or_mix_columns_are_refused():
    X, y = loans(36, gaps=False)
    rank = forest((FunctionTransformer(lambda frame: frame.rank()), ["income"])).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="depends on the other rows"):
        Explainer(rank, X, steps={FUNCTION: "monotone"})
    both = forest(
        (FunctionTransformer(lambda frame: frame.sum(axis=1).to_frame()), ["age", "income"])
    )
    with pytest.raises(UnsupportedModelError, match="gives 1 columns for 2"):
        Explainer(both.fit(X, y), X, steps={FUNCTION: "by value"})
    with pytest.raises(InputError, match="the model is not a Pipeline"):
        Explainer(both[-1], X[["age"]], steps={FUNCTION: "by value"})


class DataFrameMapper(Letters):
    """Step of the same name as that of sklearn-pandas."""


def test_a_mapper_of_columns_is_refused_with_a_remedy():
    X, y = loans(37, gaps=False)
    model = make_pipeline(DataFrameMapper(), RandomForestClassifier(3, random_state=0)).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="replace it by a ColumnTransformer"):
        Explainer(model, X)
