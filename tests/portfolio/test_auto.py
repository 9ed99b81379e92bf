"""A diagram in use: what auto asks, and what it says of it."""

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from selector.diagram import Diagram, Leaf
from selector.schedule import alone


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    forest = RandomForestClassifier(9, max_depth=4, random_state=0)
    return forest.fit(data.data, data.target), data.data


@pytest.fixture(scope="module")
def always_cp(tmp_path_factory):
    path = tmp_path_factory.mktemp("diagrams") / "mine.json"
    path.write_text(Diagram((Leaf(alone("cp")),)).to_json())
    return path


@pytest.fixture(scope="module", params=["given", "shipped"])
def answers(request, tumours, always_cp):
    """Three answers by a diagram, and its name."""
    model, frame = tumours
    diagram = always_cp if request.param == "given" else None
    explainer = Explainer(model, frame, diagram=diagram)
    rows = [row for _, row in frame.head(40).iterrows() if explainer.predict(row) == 0][:3]
    results = [
        explainer.explain(row, 1, metric="solver", time_limit_s=300, threads=1) for row in rows
    ]
    return request.param, results


def test_auto_is_optimal_and_says_why_it_asked_whom(answers):
    for result in answers[1]:
        assert result.status == "optimal"
        assert bool(result.decision) == (result.backend != "reduce")
        assert result.to_dict()["decision"] == result.decision


def test_the_diagram_given_is_followed(answers):
    if answers[0] == "given":
        assert {result.backend for result in answers[1]} <= {"cp", "reduce"}
        assert "CP" in {result.decision for result in answers[1]}


def test_sessions_tell_their_decision(tumours, always_cp):
    model, frame = tumours
    explainer = Explainer(model, frame, diagram=always_cp)
    row = next(row for _, row in frame.iterrows() if explainer.predict(row) == 0)
    with explainer.session(1, strategy="auto", threads=1) as session:
        result = session.explain(row, time_limit_s=1.0)
    assert result.decision == "CP"
    assert result.verified or result.stop_reason == "time_limit"


def test_metrics_that_do_not_exist_are_refused(tumours, always_cp):
    model, frame = tumours
    with pytest.raises(InputError, match="metric must be"):
        Explainer(model, frame, diagram=always_cp).explain(frame.iloc[0], metric="money")


def test_a_diagram_that_is_not_there_is_told(tumours, tmp_path):
    with pytest.raises(InputError, match="cannot read the diagram"):
        Explainer(*tumours, diagram=tmp_path / "nothing.json")
