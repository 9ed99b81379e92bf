"""One Explainer, many threads: right answers, quietly, with nothing global touched."""

import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from portfolio import Explainer

MODELS = (
    RandomForestClassifier(50, max_depth=4, random_state=0, n_jobs=2),
    GradientBoostingClassifier(random_state=0),
)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_threads_answer_alike_and_leave_the_filters_of_warnings_alone(model, caplog):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    explainer = Explainer(model.fit(X, y), X)
    rows = range(100)
    alone = [explainer.explain(X.iloc[row], threads=1).distance for row in rows[:20]]
    before = list(warnings.filters)
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda row: explainer.explain(X.iloc[row], threads=1), rows))
    assert list(warnings.filters) == before and not caplog.records
    assert {result.status for result in results} == {"optimal"}
    assert [result.distance for result in results[:20]] == pytest.approx(alone, rel=1e-9)
