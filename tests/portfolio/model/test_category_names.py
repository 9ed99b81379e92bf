"""Categories of XGBoost whose names are not ASCII text are read as its own predict takes them."""

import numpy as np
import pandas as pd
import pytest

from counterfolio import Explainer
from portfolio import checker
from portfolio.model.categories import typed_as_trained
from portfolio.model.files import load_model

pytestmark = pytest.mark.usefixtures("forked_children")

xgboost = pytest.importorskip("xgboost")

NAMES = {
    "umlauts": ["Zürich", "Genève", "Łódź", "Bern"],
    "wide": ["東京", "😀", "x"],
    "quotes": ['a"b', "c\\d", "e\nf"],
    "cut alike": ["üü", "aa", "c"],  # XGBoost's own predict takes the second for the first
    "nothing": ["", "a", "b"],
    "controls": ["\x01", "\x1b[31m", "\x7f"],
    "of two directions": ["\u202eabc", "a", "b"],
    "long": ["é" * 300, "b" * 300, "c"],
}
LESS = ("umlauts", "wide", "cut alike", "nothing")  # written to files in large runs only


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "ending"),
    [
        *(
            pytest.param(names, "json", marks=[pytest.mark.large] * (kind in LESS), id=kind)
            for kind, names in NAMES.items()
        ),
        pytest.param(NAMES["umlauts"], "ubj", id="umlauts in ubj"),
    ],
)
def test_a_file_and_the_checker_read_names_of_any_letters(
    names, ending, tmp_path, capsys, monkeypatch
):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"c": rng.choice(names, 60), "n": rng.integers(0, 5, 60).astype(float)})
    frame["c"] = pd.Categorical(frame["c"], categories=names)
    y = ((frame.c == names[0]) ^ (frame.n > 2)).astype(int)
    chosen = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1, "enable_categorical": True}
    model = xgboost.XGBClassifier(**chosen).fit(frame, y)
    path = tmp_path / f"model.{ending}"
    model.save_model(path)
    explainer = Explainer(load_model(path, False), frame, model_file=path)
    for i in range(3):
        here, there = (
            Explainer(model, frame).explain(frame[i : i + 1]),
            explainer.explain(frame[i : i + 1]),
        )
        assert here.distance == there.distance and there.status == "optimal"
    there.record(0).write(tmp_path / "record.json")
    words = ["counterfolio-check", "--model", str(path), str(tmp_path / "record.json")]
    monkeypatch.setattr("sys.argv", words)
    assert checker.main() == 1  # it has no proof
    told = capsys.readouterr()
    assert "verified" in told.out and "Unicode" not in told.out + told.err


@pytest.mark.parametrize("names", [["Bern", "Genève", "Zürich"], ["b", "é", "éé"]])
def test_sorted_names_of_a_file_without_categories_are_completed(names):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"c": rng.choice(names, 90), "n": rng.normal(size=90)})
    frame["c"] = pd.Categorical(frame["c"], categories=names)
    y = ((frame.c == names[-1]) ^ (frame.n > 0)).astype(int)
    model = xgboost.XGBClassifier(n_estimators=3, enable_categorical=True).fit(frame, y)
    typed = typed_as_trained(model, frame.astype({"c": object}))
    assert typed.c.cat.categories.tolist() == names
