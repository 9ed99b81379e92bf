"""What the page of a record says where there is no class, and rules and goals in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from counterfolio import AtLeast, Explainer, Fixed, Increase, MaxChanges, Probability, Range
from portfolio.proofs.report import _allowed, report
from tests.support.claims import column

X = pd.DataFrame({"size": np.arange(8.0) * 10, "old": [0.0, 1.0] * 4})
RULES = [
    Fixed("old"),
    Increase("size"),
    Range("size", 0, 60),
    MaxChanges(1),
    MaxChanges(1, among=["size", "old"]),
]
IN_WORDS = [
    "old must stay at 0",
    "size may not fall below 20",
    "size must be from 0 to 60",
    "at most 1 feature may change",
    "at most 1 of size, old may change",
]


def test_a_predicted_number_is_told_and_no_class():
    model = DecisionTreeRegressor(random_state=0).fit(X, X["size"] * 2)
    result = Explainer(model, X).explain(X.iloc[2], AtLeast(100), constraints=RULES)
    record = result.record().to_dict()
    assert record["question"]["target"] == record["answer"]["class"]
    assert record["question"]["constraints"] == IN_WORDS
    page = report(record)
    assert "<dd>a prediction of at least 100</dd>" in page
    rows = pd.DataFrame([[*X.iloc[2]], record["answer"]["row"]], columns=X.columns)
    before, after = model.predict(rows)
    assert f"a prediction of at least 100: {after:g} instead of {before:g}." in page
    assert "None" not in page and "decision</dt>" not in page


def test_a_probability_is_asked_for_in_words(credit, refused):
    result = Explainer(*credit).explain(refused, Probability("granted", at_least=0.7))
    record = result.record().to_dict()
    assert record["question"]["target"] == "a probability of 'granted' of at least 0.7"
    page = report(record)
    assert "<dd>refused</dd>" in page
    assert "The model then predicts" not in page
    assert "The model then reaches a probability of &#x27;granted&#x27; of at least 0.7: 0." in page


@pytest.mark.parametrize(
    ("kind", "others", "told"),
    [
        ("categorical", [{"values": [0.5, 1]}], "b"),
        ("categorical", [{"values": [1, 7, -1]}], "b"),
        ("categorical", [{"values": [0, 1]}, {"values": [0]}, {"values": [1, 0]}], "a, c"),
        ("categorical", [{"values": [0]}, {"values": [0]}, {"values": [1]}], "stays as it is"),
        ("numeric", [{"values": [1, 2, 3], "lower": 2}], "2, 3"),
        ("numeric", [{"lower": 2}], "at least 2"),
        ("ordinal", [{"upper": 7, "step": 1}], "a whole number at most 7"),
    ],
)
def test_only_what_the_checker_takes_for_admissible_is_allowed(kind, others, told):
    labels = ["a", "b", "c"] if kind == "categorical" else []
    feature = {"kind": kind, "labels": labels, "columns": list(range(len(others)))}
    columns = [column(**other) for other in others]
    assert _allowed(feature, {"question": {"columns": columns}}, 2) == told


def test_the_title_names_the_class_that_was_reached(credit, refused):
    explainer = Explainer(*credit)
    page = report(explainer.explain(refused).record(0).to_dict())
    assert "<title>A decision, and what would have changed it: granted</title>" in page
    assert "<dd>any class other than refused</dd>" in page
    names = [feature.name for feature in explainer.features.features]
    none = explainer.explain(refused, constraints=list(map(Fixed, names)))
    assert none.status == "infeasible"
    assert "changed it: any class other than refused</title>" in report(none.record(0).to_dict())
