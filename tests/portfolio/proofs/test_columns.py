"""What a record says of columns is what was asked of features: the same rows at the same costs."""

import json
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

from portfolio import Allowed, Explainer
from portfolio.checker import check
from tests.support.brute import all_rows, distances, thresholds
from tests.support.proofs import ROWS, admitted, asked


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 48, 2))
def test_columns_admit_the_rows_that_were_asked_for_and_cost_as_much(seed):
    result, model, _, specs, keeps, norm, weights = asked(seed)
    question = json.loads(result.record().to_json())["question"]
    x = np.array(result.record().to_dict()["query"])
    cuts, dtype = thresholds(model, x.size)
    rows = all_rows(specs, x, model, dtype, cuts, ROWS)
    if rows is None:
        pytest.skip("too many rows")
    wanted = np.all([np.ones(len(rows), dtype=bool), *(keep(rows) for keep in keeps)], axis=0)
    kept, cost = admitted(question, x, rows)
    assert (kept == wanted).all()
    columns = question["columns"]
    units = [columns[spec.columns[0]]["unit"] for spec in specs]
    expected = distances(specs, x, rows, float(norm), units, weights)
    np.testing.assert_allclose(cost[kept], expected[kept], rtol=1e-12)
    for spec in specs:
        if spec.kind == "categorical":  # two categories at once, or none
            odd = np.array([x, x])
            odd[0, spec.columns], odd[1, spec.columns] = 0, 1
            assert not admitted(question, x, odd)[0].any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("norm", ["table", "inf"])
def test_categories_may_cost_what_they_like(seed, norm):
    rng = np.random.default_rng(seed)
    job, age = rng.integers(0, 5, 400), rng.integers(18, 60, 400)
    X = pd.get_dummies(pd.Series(job).map("job={}".format)).astype(float).assign(age=age * 1.0)
    y = np.isin(job, [1, 3]) & (age > 30) | (job == 4) & (age > 50)
    model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, y)
    explainer = Explainer(model, X)
    groups = [f.name for f in explainer.features.features if f.kind == "categorical"]
    assert groups
    labels = next(f.labels for f in explainer.features.features if f.kind == "categorical")
    prices = dict(zip(labels, rng.exponential(size=5).round(3).tolist(), strict=True))
    row = X.iloc[int(np.flatnonzero(~y)[seed])]
    costs = {groups[0]: prices} if norm == "table" else "inf"
    rules = [Allowed(groups[0], list(labels[1:4]))] if seed % 2 else []
    result = explainer.explain(row, norm=costs, constraints=rules)
    with patch("encoders.search.cover.MANY", 0 if seed < 3 else 256):
        record = result.record()
    assert record.proved, record.why_not
    assert check(json.loads(record.to_json()), model).startswith("verified")
