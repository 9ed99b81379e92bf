"""Small models that several tests share."""

import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from encoders.warm_up import warm_up
from portfolio import Explainer, targets


@pytest.fixture(scope="session", autouse=True)
def _as_from_a_terminal():
    """What a script starts in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _compiled():
    """No test waits for the compiler within a time limit of its own."""
    warm_up()


@pytest.fixture(scope="session")
def credit():
    """A frame with every kind of feature, string classes, and a forest on it."""
    rng = np.random.default_rng(7)
    n = 200
    housing = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "income": np.round(rng.lognormal(3, 0.5, n), 3),
            "employed": rng.integers(0, 2, n).astype(float),
            "home_free": (housing == 0).astype(float),
            "home_own": (housing == 1).astype(float),
            "home_rent": (housing == 2).astype(float),
        }
    )
    score = X["income"] / 20 + X["employed"] + (housing == 1) + rng.normal(0, 0.3, n)
    y = np.where(score > 2.2, "granted", "refused")
    model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    return model, X


@pytest.fixture(scope="session")
def explainer(credit):
    return Explainer(*credit)


@pytest.fixture(scope="session")
def refused(credit):
    model, X = credit
    return X[model.predict(X) == "refused"].iloc[0]


@pytest.fixture
def lawful_problems(monkeypatch):
    """Every problem that is posed keeps the laws that proofs rest on."""
    pose = targets.pose

    def checked(*arguments):
        posed = pose(*arguments)
        posed.problem.check()
        return posed

    monkeypatch.setattr(targets, "pose", checked)
