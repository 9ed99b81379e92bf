"""Inputs of rows that differ in columns of numbers are those of the whole pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from portfolio import Explainer
from portfolio.model import pipeline, pipeline_numbers

N = 120


def frame():
    random = np.random.default_rng(0)
    jobs = random.choice(["clerk", "cook", "nurse"], N)
    return pd.DataFrame(
        {"job": jobs, "age": random.normal(size=N), "debt": random.normal(size=N).round(2)}
    )


def fitted(parts, **settings):
    X = frame()
    steps = ColumnTransformer(parts, **settings)
    y = (X.age + (X.job == "cook") > 0.3).astype(int)
    return make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(X, y), X


@pytest.mark.parametrize(
    "parts, settings, narrows",
    [
        ([("c", OneHotEncoder(), ["job"]), ("n", StandardScaler(), ["age", "debt"])], {}, True),
        ([("n", StandardScaler(), ["debt"]), ("c", OneHotEncoder(), ["job"])], {}, True),
        ([("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["job"])],
         {"remainder": "passthrough", "sparse_threshold": 1}, True),
        ([("n", "passthrough", ["age"]), ("c", OneHotEncoder(), ["job"])],
         {"transformer_weights": {"n": 2.0}}, True),
        ([("n", StandardScaler(), ["age", "debt"])], {}, False),
    ],
)  # fmt: skip
def test_the_inputs_are_those_of_the_whole_pipeline(parts, settings, narrows, monkeypatch):
    compared = []

    def compare(steps, raw):
        inputs = pipeline_numbers.inputs_of_numbers(steps, raw)
        random = np.random.default_rng(1)
        rows = np.tile(raw.template, (50, 1))
        for at in set(range(raw.template.size)) - set(raw.n_codes):
            rows[:, at] = random.choice(raw.seen[:, at], 50) + random.normal(size=50)
        np.testing.assert_array_equal(inputs(rows, True), steps.inputs(rows, True))
        compared.append(inputs != steps.inputs)
        return inputs

    monkeypatch.setattr(pipeline, "inputs_of_numbers", compare)
    model, X = fitted(parts, **settings)
    row = X.iloc[0]
    result = Explainer(model, X).explain(row)
    assert compared == [narrows]
    assert result.status == "optimal"
    changed = result.counterfactual.to_frame().T.astype(X.dtypes)
    assert model.predict(changed)[0] != model.predict(X.iloc[:1])[0]
