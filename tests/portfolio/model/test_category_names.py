"""Categories of XGBoost whose names are not ASCII text are read as its own predict takes them."""

import numpy as np
import pandas as pd
import pytest

from counterfolio import Explainer

xgboost = pytest.importorskip("xgboost")

NAMES = {
    "umlauts": ["Zürich", "Genève", "Łódź", "Bern"],
    "wide": ["東京", "😀", "x"],
    "quotes": ['a"b', "c\\d", "e\nf"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_of_any_letters_are_answered_as_by_enumeration(names):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(names, 90), "n": rng.integers(0, 5, 90).astype(float)})
    frame["c"] = pd.Categorical(frame["c"], categories=names)
    y = ((frame.c == names[0]) ^ (frame.n > 2)).astype(int)
    chosen = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "enable_categorical": True}
    model = xgboost.XGBClassifier(**chosen).fit(frame, y)
    explainer = Explainer(model, frame)
    every = pd.DataFrame([(c, float(n)) for c in names for n in range(5)], columns=["c", "n"])
    every["c"] = pd.Categorical(every["c"], categories=names)
    given = model.predict(every)
    for i in range(4):
        row = frame.iloc[[i]]
        cost = (every.c.astype(str) != str(row.c.iloc[0])) + (every.n - row.n.iloc[0]).abs() / 4
        other = 1 - model.predict(row)[0]
        result = explainer.explain(row)
        assert result.status == "optimal"
        assert model.predict(typed_row(result, frame))[0] == other
        assert result.distance <= cost[given == other].min() + 1e-9


def typed_row(result, frame):
    """The answer, in the frame's own types."""
    return pd.DataFrame(result.counterfactual)[list(frame.columns)].astype(frame.dtypes.to_dict())
