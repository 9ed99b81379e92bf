"""A diagram in use: what is planned, raced and told."""

import math
from dataclasses import replace

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from encoders.errors import InputError, UnavailableBackendError
from portfolio.explainer import Explainer
from selector import Case, Selector
from selector.diagram import Diagram, Leaf, alone, diagram_of
from tests.test_reduce import random_problem
from tests.test_training import ENSEMBLE


def case(metric="total"):
    return Case(ENSEMBLE, "1", False, metric)


def planned(leaf, threads=2, problem=None, **more):
    problem = problem or random_problem(0)
    return Selector(Diagram((leaf,))).plan(case(), problem, math.inf, threads, **more)


def names(plan):
    return [[choice.backend.name for choice in choices] for choices in plan.rounds]


def test_a_plan_follows_the_schedule():
    plan = planned(Leaf(((("search",), 0.5), (("milp",), math.inf))))
    assert names(plan) == [["search"], ["milp"]]
    assert plan.rounds[0][0].seconds == 0.5
    assert plan.why == "search for 0.5 s, then milp"


def test_racers_need_a_core_each():
    leaf = Leaf(((("search",), 0.1), (("search", "cp"), math.inf)))
    plan = planned(leaf)
    assert names(plan) == [["search", "cp"]]  # search goes on, cp joins it
    assert [choice.after for choice in plan.rounds[0]] == [0.0, 0.1]
    assert plan.why == "search for 0.1 s, then search with cp"
    single = planned(leaf, threads=1)
    assert single.why.endswith("; one thread, so the first of them")
    assert names(single) == [["search"]] and single.rounds[0][0].seconds == math.inf
    apart = planned(Leaf(((("search",), 0.1), (("milp", "cp"), math.inf))))
    assert names(apart) == [["search"], ["milp", "cp"]]


def test_backends_that_cannot_be_had_are_passed_over():
    leaf = Leaf(((("nothing",), 1.0), (("unheard", "of"), math.inf)))
    plan = planned(leaf)
    assert names(plan) == [["search"]] and "not to be had" in plan.why
    gone = planned(Leaf(((("cp",), 1.0), (("unheard",), math.inf))))
    assert names(gone) == [["cp"]] and gone.rounds[0][0].seconds == math.inf
    kept = planned(Leaf(alone("search")), keep=True)
    assert names(kept) == [["cp"]]
    with pytest.raises(UnavailableBackendError, match="no median objective"):
        planned(leaf, problem=replace(random_problem(0), aggregate="median"))


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    forest = RandomForestClassifier(9, max_depth=4, random_state=0)
    return forest.fit(data.data, data.target), data.data


def test_auto_uses_the_diagram_given(tumours, tmp_path):
    model, frame = tumours
    path = tmp_path / "mine.json"
    path.write_text(Diagram((Leaf(alone("cp")),)).to_json())
    told = set()
    for diagram in (path, None):
        explainer = Explainer(model, frame, diagram=diagram)
        rows = [row for _, row in frame.head(40).iterrows() if explainer.predict(row) == 0][:3]
        for row in rows:
            result = explainer.explain(row, 1, metric="solver", time_limit_s=300, threads=1)
            assert result.status == "optimal"
            assert bool(result.decision) == (result.backend != "reduce")
            assert result.to_dict()["decision"] == result.decision
            if diagram:
                assert result.backend in ("cp", "reduce")
            told.add(result.decision)
        with explainer.session(1, backend="auto", threads=1) as session:
            kept = session.explain(rows[0], time_limit_s=1.0)
            assert kept.decision
            assert kept.verified or kept.stop_reason == "time_limit"
    assert "cp" in told
    with pytest.raises(InputError, match="metric must be"):
        explainer.explain(rows[0], metric="money")
    with pytest.raises(InputError, match="can't read the diagram"):
        Explainer(model, frame, diagram=tmp_path / "nothing.json")


def test_the_shipped_diagram_names_what_there_is():
    diagram = diagram_of(None)
    leaves = [node for node in diagram.nodes if isinstance(node, Leaf)]
    named = {name for leaf in leaves for names, _ in leaf.schedule for name in names}
    assert named <= {"search", "cp", "milp", "maxsat"}
    assert diagram.manifest.get("rows", 1) > 0
