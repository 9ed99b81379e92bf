"""Why not, regions and robust answers: what oracles on small models do not see."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from typer.testing import CliRunner

from portfolio import (
    AllowMissing,
    Around,
    AtLeast,
    Explainer,
    Fixed,
    InputError,
    Linear,
    Plausibility,
    Probability,
    Range,
    Retraining,
    UnsupportedModelError,
)
from portfolio.cli.app import app
from portfolio.results.printing import unwrapped


@pytest.fixture(scope="module")
def trades():
    """A model with native categories and gaps, and its frame."""
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "trade": pd.Categorical(random.choice([f"t{i}" for i in range(8)], 300)),
            "size": random.integers(1, 9, 300).astype(float),
            "age": random.normal(40, 9, 300).round(1),
        }
    )
    X.loc[::7, "age"] = np.nan
    y = (X["trade"].cat.codes % 3 == 0) ^ (X["size"] > 3) & ~(X["age"] > 45)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=3, enable_categorical=True)
    return model.fit(X, y.astype(int)), X


def test_implausible_rows_are_to_blame(credit, refused):
    model, X = credit
    nothing = IsolationForest(n_estimators=20, random_state=0).fit(X)
    nothing.offset_ = -0.3  # no row is an inlier
    explainer = Explainer(model, X, plausibility=Plausibility(nothing))
    found = explainer.why_not(refused, "granted")
    assert [member.kind for member in found.conflict] == ["plausibility"]
    best = Explainer(model, X).explain(refused, "granted")
    assert found.cheapest.distance == pytest.approx(best.distance)


OTHERS = [Fixed("employed"), Fixed("home"), Fixed("age")]


@pytest.fixture(scope="module")
def poor(credit, explainer):
    """A row that is refused for its income alone."""
    model, X = credit
    rows = [row for _, row in X[model.predict(X) == "refused"].iterrows()]
    return next(r for r in rows if explainer.explain(r, "granted", constraints=OTHERS).changed)


def test_margin_and_plausibility_are_demands(credit, poor):
    model, X = credit
    forest = IsolationForest(n_estimators=20, contamination=0.02, random_state=0).fit(X)
    explainer, plain = Explainer(model, X, plausibility=Plausibility(forest)), Explainer(model, X)
    found = explainer.why_not(poor, "granted", constraints=OTHERS, margin=0.99)
    assert found.status == "minimal", found
    assert "margin" in {member.kind for member in found.conflict}
    for member in found.conflict:
        others = [m for m in found.conflict if m != member]
        kinds = {m.kind for m in others}
        asked = explainer if "plausibility" in kinds else plain
        rules = [m.constraint for m in others if m.constraint]
        margin = 0.99 if "margin" in kinds else None
        assert asked.explain(poor, "granted", constraints=rules, margin=margin).row is not None
    told = json.loads(found.to_json())
    assert told["status"] == "minimal" and told["result"]["status"] == "infeasible"


def test_bounds_that_are_too_narrow_are_to_blame(credit, poor):
    model, X = credit
    low, high = float(poor["income"]) - 1, float(poor["income"]) + 1
    explainer = Explainer(model, X, features={"income": {"bounds": [low, high]}})
    found = explainer.why_not(poor, "granted", constraints=OTHERS, scale="range")
    assert found.status == "minimal" and "bounds" in {m.kind for m in found.conflict}
    loosened = next(r for r in found.relaxations if r.member.kind == "bounds")
    assert loosened.limit == "upper" and loosened.before == high < loosened.after
    moved = loosened.result.counterfactual["income"] - poor["income"]
    assert loosened.distance == pytest.approx(moved / (high - low))  # by the ruler of before


def test_relations_are_demands(explainer, poor):
    rules = [Linear({"income": 1.0}, "<=", float(poor["income"])), Range("income", 0, 1000)]
    found = explainer.why_not(poor, "granted", constraints=[*OTHERS, *rules])
    assert found.status == "minimal"
    assert any(isinstance(m.constraint, Linear) for m in found.conflict)


def test_no_demand_is_to_blame_where_nothing_reaches_the_target(credit, refused):
    model, X = credit
    found = Explainer(model, X).why_not(refused, Probability("granted", at_least=1.0))
    reached = model.predict_proba(X)[:, 0].max() >= 1
    assert reached or (found.status == "minimal" and found.conflict == ())


def test_where_there_is_an_answer_nothing_conflicts(explainer, refused):
    found = explainer.why_not(refused, "granted")
    assert found.status == "feasible" and found.result.status == "optimal"
    assert "There is an answer" in str(found)


def test_no_time_is_told(explainer, refused):
    rules = [Fixed(name) for name in ("income", "employed", "home", "age")]
    found = explainer.why_not(refused, "granted", constraints=rules, time_limit_s=1e-9)
    assert found.status in ("unknown", "conflict")
    narrow = explainer.region(refused, time_limit_s=1e-9)
    assert narrow.status == "feasible" and narrow.stop_reason == "time_limit"
    safe = explainer.explain_robust(refused, Around({"income": 5}), "granted", time_limit_s=1e-9)
    assert safe.status == "unknown" and safe.counterfactual is None


def test_a_region_is_drawn(explainer, refused):
    region = explainer.region(refused)
    axes = region.plot().axes[0]
    told = [label.get_text() for label in axes.get_yticklabels()]
    assert told == [span.feature for span in region.spans]
    assert [text.get_text() for text in axes.texts] == [
        s.words or "any value" for s in region.spans
    ]
    for span in region.spans:
        share, at = span.shares()
        assert (share is None) == (span.lower is None)
        assert at is None or share[0] <= at <= share[1]


@pytest.mark.parametrize("at", [0, 7, 11])
def test_regions_of_categories_and_gaps(trades, at):
    model, X = trades
    row = X.iloc[[at]]
    region = Explainer(model, X).region(row)
    label = model.predict(row)[0]
    inside = pd.Series(True, index=X.index)
    for name in X.columns:
        shown = X[name].astype(object).where(X[name].notna(), None)
        own = region[name]
        inside &= np.array([own.holds(v) for v in shown])
    assert region.status == "optimal" and inside[at]
    assert (model.predict(X[inside]) == label).all()
    some = region["trade"].labels
    assert region["trade"].whole == (len(some) == 8)


def test_safe_answers_of_categories_and_gaps(trades):
    model, X = trades
    explainer, row = Explainer(model, X), X.iloc[[0]]
    found = explainer.explain_robust(
        row, Around({"size": 1, "age": 2.5}), constraints=[AllowMissing("age")]
    )
    own = model.predict(row)[0]
    assert found.status == "optimal"
    for size in (-1, 0, 1):
        for age in (-2.5, -1, 0, 1, 2.5):
            moved = found.counterfactual.copy()
            moved["size"] = np.clip(moved["size"] + size, 1, 8)
            moved["age"] = np.clip(moved["age"] + age, X["age"].min(), X["age"].max())
            assert model.predict(moved)[0] != own


def test_regions_of_regressors_and_probabilities(credit):
    _, X = credit
    wanted = AtLeast(50.0)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X["income"] > 20)
    from sklearn.ensemble import RandomForestRegressor

    ages = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, X["age"])
    row = X.iloc[int(np.argmin(ages.predict(X)))]
    region = Explainer(ages, X).explain(row, wanted).region()
    kept = X[np.logical_and.reduce([X[n].map(region[n].holds) for n in ("age", "income")])]
    kept = kept[kept["employed"].map(region["employed"].holds)]
    home = kept[["home_free", "home_own", "home_rent"]].idxmax(axis=1).str.removeprefix("home_")
    assert (ages.predict(kept[home.map(region["home"].holds)]) >= 50).all()
    sure = Probability(True, at_least=0.9)
    found = Explainer(model, X).explain(row, sure)
    if found.row is not None:
        assert found.region().status == "optimal"


def test_a_result_that_travelled_has_no_region(explainer, refused):
    result = explainer.explain(refused, "granted")
    sentence = unwrapped(str(result.region()))
    assert "(proved; it cannot be widened)" in sentence
    with pytest.raises(InputError, match=r"explainer\.region"):
        pickle.loads(pickle.dumps(result)).region()


def test_hard_votes_are_counted(credit, refused):
    model, X = credit
    explainer = Explainer(model, X, voting="hard")
    asked = Retraining(0.8)
    found = explainer.explain_robust(refused, asked, "granted")
    after = found.counterfactual.to_numpy()[None, :]
    votes = sum(tree.predict(after)[0] == 0 for tree in model.estimators_)
    assert found.status == "optimal" and votes >= asked.votes(8)
    assert votes >= 6 and found.distance >= explainer.explain(refused, "granted").distance
    assert "A retrained forest agrees" in str(found)


@pytest.mark.parametrize(
    ("against", "words"),
    [
        (Around({"home": 1}), "is categorical and has no radius"),
        (Around({"rooms": 1}), "unknown feature 'rooms'"),
        (Around({"age": -1}), "must be a finite number, at least 0"),
        ("retraining", r"must be Retraining\(\.\.\.\) or Around\(\.\.\.\)"),
        (Retraining(0.99, 0.99), "too few"),
    ],
)
def test_what_does_not_fit_is_told(explainer, refused, against, words):
    with pytest.raises(InputError, match=words):
        explainer.explain_robust(refused, against, "granted")


def test_what_is_no_confidence_is_told(trades):
    with pytest.raises(InputError, match=r"at least 0\.5 and below 1"):
        Retraining(1.0)
    with pytest.raises(InputError, match="needs a mapping"):
        Around(3)
    model, X = trades
    with pytest.raises(UnsupportedModelError, match="supports random forests and extra trees"):
        Explainer(model, X).explain_robust(X.iloc[[0]], Retraining())


def test_a_row_that_is_not_there_has_no_region(explainer, refused):
    with pytest.raises(InputError, match="does not reach the target"):
        explainer.region(refused, target="granted")
    with pytest.raises(InputError, match="which is not a feature"):
        explainer.region(refused, order=["rooms"])


def command(loans, name, *more):
    model = ("--dataset", loans, "--train", "forest", "--trees", 6, "--depth", 3)
    return CliRunner().invoke(app, [str(word) for word in (name, *model, *more)])


def test_commands(loans):
    out = command(loans, "why-not", "--row", 0, "--fix", "Age,Job,Amount", "--json")
    told = json.loads(out.stdout)
    assert out.exit_code == 0 and told["status"] == "minimal" and told["conflict"]
    assert command(loans, "why-not", "--row", 0).exit_code == 1
    out = command(loans, "region", "--row", 0)
    assert out.exit_code == 0 and "Every row in this region" in " ".join(out.stdout.split())
    out = command(loans, "region", "--row", 0, "--itself", "--order", "Amount", "--json")
    assert out.exit_code == 0 and json.loads(out.stdout)["spans"][0]["feature"] == "Age"
    out = command(loans, "robust", "--row", 0, "--around", "Amount=0.5", "--json")
    assert json.loads(out.stdout)["against"] == {"Around": {"radius": [["Amount", 0.5]]}}
    assert command(loans, "robust", "--row", 0, "--confidence", 0.7).exit_code in (0, 4)
