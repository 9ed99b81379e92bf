"""Relations between features: what they ask of a row, and words for what does not fit."""

import itertools

import pytest

from portfolio import (
    Becomes,
    Changes,
    Explainer,
    Fixed,
    Forbidden,
    Implies,
    InputError,
    JointCost,
    Linear,
    Precedence,
    Rises,
    Together,
    Within,
)


def test_categories_do_not_go_back(credit, refused):
    model, X = credit
    explainer = Explainer(model, X)
    for order in itertools.permutations(["free", "own", "rent"]):
        constraints = [Precedence("home", order)]
        result = explainer.explain(refused, target="granted", constraints=constraints)
        moved = [c for c in result.changed if c.feature == "home"]
        assert all(order.index(c.after) > order.index(c.before) for c in moved)


def test_a_row_that_breaks_a_relation_does_not_stay(credit):
    model, X = credit
    explainer = Explainer(model, X)
    row = X[model.predict(X) == "granted"].iloc[0]
    assert explainer.explain(row, target="granted").distance == 0
    limit = float(row["income"]) - 1
    result = explainer.explain(
        row, target="granted", constraints=[Linear({"income": 1.0}, "<=", limit)]
    )
    assert result.status == "optimal" and result.counterfactual["income"] <= limit


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Linear({"rooms": 1}, "<=", 3), "unknown feature 'rooms'. The features are"),
        (Precedence("rooms", [1]), "unknown feature 'rooms'. The features are"),
        (Linear({"home": 1}, "<=", 3), "home is categorical, and categories have no sum"),
        (Linear({"age": 1}, "<", 3), "sign must be '<=', '>=' or '==', got '<'"),
        (Linear({"age": 0}, "<=", 3), "a factor that is not 0"),
        (Linear({"age": "1"}, "<=", 3), "'1' is not a finite number"),
        (Together("age"), "needs two different features"),
        (Implies(Rises("home"), Changes("age")), "categories have no order"),
        (Implies("age", Changes("age")), "is not a condition"),
        (Forbidden(Becomes("home", "castle")), "no category 'castle'"),
        (Forbidden(Rises("age", by=-1)), "by must be a finite number of at least 0, got -1"),
        (Forbidden(Within("age", 3, 1)), r"lower \(3\) is above upper \(1\)"),
        (Precedence("age", [1, 2]), "age is ordinal, not categorical"),
        (JointCost("age", "age", {(1, 1): 1}), "both features are 'age'"),
        (JointCost("age", "home", {(30, "own"): -1}), "a cost must be from 0"),
    ],
)
def test_what_does_not_fit_is_told(explainer, refused, relation, words):
    with pytest.raises(InputError, match=words):
        explainer.explain(refused, target="granted", constraints=[relation])


def test_numbers_that_may_be_any_go_with_plain_norms(explainer, refused):
    relation = Linear({"income": 1, "age": 1}, "<=", 100)
    with pytest.raises(InputError, match="income may be any number"):
        explainer.explain(refused, target="granted", norm=2, constraints=[relation])


def test_batches_take_relations(credit, explainer):
    model, X = credit
    rows = X[model.predict(X) == "refused"].iloc[:4]
    relations = [Linear({"income": 1, "age": 0.5}, "<=", 90), Together("age", "employed")]
    table = explainer.explain_batch(rows, target="granted", constraints=relations)
    for at, (_, row) in enumerate(rows.iterrows()):
        alone = explainer.explain(row, target="granted", constraints=relations)
        assert table["status"].iloc[at] == alone.status
        if alone.status == "optimal":
            assert table["distance"].iloc[at] == pytest.approx(alone.distance)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "search", "cp", "milp", "maxsat", "plain-cp"])
def test_what_no_row_keeps_is_infeasible(credit, trades, refused, strategy):
    model, X = credit
    explainer = Explainer(model, X)
    broken = [
        [Forbidden(Within("age", 0, 200))],
        [Forbidden(Becomes("home", str(own))) for own in ("free", "own", "rent")],
    ]
    for constraints in broken:
        result = explainer.explain(refused, "granted", constraints=constraints, strategy=strategy)
        assert result.status == "infeasible", (constraints, result)
    model, X = trades
    own = X["trade"].iloc[0]
    constraints = [Forbidden(Becomes("trade", own)), Fixed("trade")]
    result = Explainer(model, X).explain(X.iloc[[0]], constraints=constraints, strategy=strategy)
    assert result.status == "infeasible"
