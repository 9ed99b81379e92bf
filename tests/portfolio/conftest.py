"""What the tests of this package share."""

import numpy as np
import pandas as pd
import pytest
import xgboost

from portfolio.engine.logbook import Logbook


@pytest.fixture(scope="session")
def real_logs(explainer, credit, tmp_path_factory):
    """Logs of solo runs, races, sessions and whole problems."""
    made = tmp_path_factory.mktemp("logs")
    rows = [row for _, row in credit[1].iterrows() if explainer.predict(row) == "refused"][:6]
    for row in rows:
        for backend in ("search", "cp"):
            explainer.explain(row, "granted", strategy=backend, log=Logbook(made, "credit"))
            explainer.explain(row, "granted", strategy=f"plain-{backend}", log=made)
        explainer.explain(row, "granted", strategy=["search", "cp"], log=made)
    with explainer.session("granted", strategy="cp") as session:
        for row in rows:
            session.explain(row, log=made)
    return made


@pytest.fixture(scope="session")
def trades():
    """A model with native categories, and its frame."""
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "region": pd.Categorical(random.choice(["n", "s", "e", "w"], 300)),
            "trade": pd.Categorical(random.choice([f"t{i}" for i in range(8)], 300)),
            "size": random.integers(1, 9, 300).astype(float),
        }
    )
    y = (X["trade"].cat.codes % 3 == 0) ^ (X["region"].isin(["n", "w"])) & (X["size"] > 3)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=3, enable_categorical=True)
    return model.fit(X, y.astype(int)), X
