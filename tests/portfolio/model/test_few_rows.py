"""Few rows wake no threads of a library, whatever it is; many may."""

import numpy as np
import pytest
import xgboost
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_info

from portfolio.model.native import FEW_ROWS, wrap_native

MODELS = [
    xgboost.XGBClassifier(n_estimators=3),
    LGBMClassifier(n_estimators=3, verbose=-1),
    HistGradientBoostingClassifier(max_iter=3),
    RandomForestClassifier(3),
]


def widths():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_few_rows_are_predicted_in_the_callers_thread(model, monkeypatch):
    X = np.random.default_rng(0).normal(size=(2 * FEW_ROWS, 3))
    model.fit(X, X[:, 0] > 0)
    before, during, own = widths(), [], type(model).predict
    assert before

    def predict(self, rows, **settings):
        during.append(widths())
        return own(self, rows, **settings)

    monkeypatch.setattr(type(model), "predict", predict)
    native = wrap_native(model, 2)
    few = native.predict(X[:FEW_ROWS])
    many = native.predict(X)
    assert set(during[0]) == {1} and during[1] == before == widths()
    assert (few == many[:FEW_ROWS]).all()


def test_threads_are_woken_again_after_an_error():
    X = np.zeros((4, 3))
    model = xgboost.XGBClassifier(n_estimators=1).fit(X, [0, 1, 0, 1])
    before = widths()
    with pytest.raises(ValueError, match="mismatch"):
        wrap_native(model, 2).predict(X[:, :2])
    assert widths() == before
