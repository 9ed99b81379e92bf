"""What the tests of records share."""

import json

import pytest
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

from portfolio import Explainer


@pytest.fixture
def tumours_record():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X.iloc[:, :6], y)
    result = Explainer(model, X.iloc[:, :6]).explain(X.iloc[0, :6], norm=2)
    return json.loads(result.record().to_json()), model
