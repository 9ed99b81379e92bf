"""The ten benchmark data sets: about 300 queries, every returned row predicted as asked."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from portfolio import Explainer
from portfolio.data.datasets import read_dataset
from portfolio.data.trained_models import train
from tests.support.parts import few_and_large

FOLDER = Path(__file__).parents[4] / "shared" / "datasets"
NAMES = ("AD", "BC", "CC", "CP", "GC", "ON", "PH", "SE", "SP", "ST")
QUERIES, LARGE, TREES, DEPTH, TIME_LIMIT_S = 5, 40, 15, 4, 4.0
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared data sets are absent")


def dataset(name):
    return read_dataset(next(FOLDER.glob(f"{name}.csv*")))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_header_lines_are_read(name):
    data = dataset(name)
    path = next(FOLDER.glob(f"{name}.csv*"))
    raw = pd.read_csv(path, nrows=2)
    types, actions = (raw.iloc[i].to_list() for i in (0, 1))
    letters = {"numeric": "N", "ordinal": "D", "categorical": "C", "binary": "B"}
    assert [letters[f.kind] for f in data.space.features] == types[:-1]
    words = {"free": "FREE", "increase": "INC", "fixed": "FIXED"}
    assert [words[f.action] for f in data.space.features] == actions[:-1]
    for feature in data.space.features:
        if feature.kind == "categorical":
            assert (data.X.iloc[:, list(feature.columns)].sum(axis=1) == 1).all()


def l1(data, x, row):
    """Range-scaled L1, straight from the columns."""
    total = 0.0
    for f in data.space.features:
        old, new = x[list(f.columns)], row[list(f.columns)]
        if f.kind in ("categorical", "binary"):
            total += float((old != new).any())
        else:
            values = data.X.iloc[:, f.columns[0]]
            total += abs(new[0] - old[0]) / (values.max() - values.min())
    return total


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", "hard-forest", "xgboost"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", few_and_large(1, LARGE // QUERIES))
def test_every_answer_is_what_the_model_predicts(part, name, kind):
    data = dataset(name)
    model = train(data, kind, TREES, DEPTH, seed=1)
    explainer = Explainer(model, data.X, data.space)
    rng = np.random.default_rng([1, part])
    answered = 0
    rows = rng.choice(len(data.X), QUERIES, replace=False)
    for index in rows:
        x = data.X.iloc[index]
        current = model.predict(data.X.iloc[[index]])[0]
        target = int(rng.choice([c for c in explainer.classes if c != current]))
        result = explainer.explain(x, target=target, time_limit_s=TIME_LIMIT_S, threads=1)
        row = result.counterfactual
        if row is None:
            assert result.status in ("infeasible", "unknown") and not result.verified
            continue
        answered += 1
        assert result.verified
        assert model.predict(row.to_frame().T)[0] == target
        again = l1(data, x.to_numpy(), row.to_numpy())
        assert again == pytest.approx(result.distance, rel=1e-9)
        assert result.lower_bound <= result.distance * (1 + 1e-12)
        for feature in data.space.features:
            columns = list(feature.columns)
            if feature.action == "fixed":
                assert (row.iloc[columns] == x.iloc[columns]).all()
            elif feature.action == "increase":
                assert (row.iloc[columns] >= x.iloc[columns]).all()
    assert answered >= QUERIES // 2
