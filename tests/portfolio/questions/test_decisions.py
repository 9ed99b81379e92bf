"""Questions about a decision: arguments, errors, answers and printed sentences."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typer.testing import CliRunner
from xgboost import XGBClassifier

from portfolio import AtLeast, AtMost, Explainer, InputError, Plausibility, Probability
from portfolio.api.variants import asker_of, with_asker
from portfolio.cli.app import app
from portfolio.engine.certificate import Certificate
from portfolio.model.oracle import Oracle
from portfolio.questions import side

VALUES = {"income": np.arange(0.0, 100.0, 3.0), "job": ["none", "some", "top"], "age": [20, 40, 60]}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.choice(values, 150) for name, values in VALUES.items()})
    y = np.where((X["income"] > 40) & (X["job"] != "none") | (X["age"] == 60), "yes", "no")
    return X, y


def mixed(x, free):
    """Every row that differs from x in these columns only, on the grid of the tables."""
    choices = [VALUES[name] if name in free else [x[name]] for name in VALUES]
    return pd.DataFrame(list(itertools.product(*choices)), columns=list(VALUES))


def check_alone(model, x, found):
    """The reason holds on a grid of rows, and each flip keeps the others of the reason."""
    rest = [name for name in VALUES if name not in found.features]
    rows = mixed(x, rest).astype(x.to_frame().T.infer_objects().dtypes.to_dict())
    own = model.predict(x.to_frame().T.infer_objects())[0]
    assert (model.predict(rows) == own).all()
    assert set(found.flips) == set(found.features)
    for name, flip in found.flips.items():
        given = flip.to_frame().T.infer_objects() if isinstance(flip, pd.Series) else flip
        assert model.predict(given)[0] != own
        assert all(flip[other] == x[other] for other in found.features if other != name)


def test_reasons_over_the_raw_columns_of_a_pipeline(table):
    X, y = table
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(columns, XGBClassifier(n_estimators=10, max_depth=3))
    model.fit(X, y == "yes")
    explainer = Explainer(model, X)
    for at in range(6):
        found = explainer.reasons(X.iloc[at], smallest=at % 2 == 0)
        assert found.status == "optimal"
        check_alone(model, X.iloc[at], found)


def test_native_categories_and_missing_values(table):
    X, y = table
    rng = np.random.default_rng(0)
    codes = X.assign(job=X["job"].astype("category"))
    codes.loc[rng.random(len(X)) < 0.2, "income"] = np.nan
    model = HistGradientBoostingClassifier(
        max_iter=8, max_depth=3, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(codes, y)
    explainer = Explainer(model, codes)
    incomes = [np.nan, *VALUES["income"]]
    seen = set()
    for at in range(6):
        x = codes.iloc[[at]]
        found = explainer.reasons(x)
        assert found.status == "optimal"
        seen |= set(found.features)
        choices = [
            [x[name].iloc[0]] if name in found.features else every
            for name, every in (("income", incomes), ("job", VALUES["job"]), ("age", [20, 40, 60]))
        ]
        rows = pd.DataFrame(list(itertools.product(*choices)), columns=list(VALUES))
        rows = rows.astype(codes.dtypes.to_dict())
        assert (model.predict(rows) == model.predict(x)[0]).all()
        for flip in found.flips.values():
            given = flip if isinstance(flip, pd.DataFrame) else flip.to_frame().T
            assert model.predict(given.astype(codes.dtypes.to_dict()))[0] != model.predict(x)[0]
    assert "income" in seen
    labels = model.predict(codes)
    first, second = codes[labels == "no"].iloc[[0]], codes[labels == "yes"].iloc[[0]]
    other = codes[(labels == "yes") & codes["income"].isna()].iloc[[0]]
    for y_row in (second, other):
        contrast = explainer.contrast(first, y_row)
        assert contrast.status == "optimal" and 1 <= len(contrast.features) <= 3


def test_a_goal_is_a_decision_too(explainer, credit, refused):
    X = credit[1]
    low = explainer.reasons(refused, target=Probability("granted", at_most=0.5))
    assert low.status == "optimal" and low.holds
    not_granted = explainer.reasons(refused, target="granted")
    assert not not_granted.holds and "not 'granted'" in str(not_granted)
    assert not_granted.features == explainer.reasons(refused).features
    regressor = RandomForestRegressor(6, max_depth=3, random_state=0).fit(X, X["age"])
    ages = Explainer(regressor, X)
    now = ages.predict(refused)
    firm = ages.reasons(refused, target=AtLeast(now))
    assert firm.status == "optimal" and firm.holds
    assert all(ages.predict(row) < now for row in firm.flips.values())
    out = ages.reasons(refused, target=AtMost(now - 1))
    assert not out.holds and all(ages.predict(row) <= now - 1 for row in out.flips.values())
    with pytest.raises(InputError, match="regressor"):
        ages.reasons(refused)
    with pytest.raises(InputError, match="supports classifiers only"):
        ages.contrast(refused, X.iloc[0])


def test_only_plausible_rows_count_where_that_is_asked(credit, refused):
    model, X = credit
    plausible = Plausibility.fit(X, model.predict(X), contamination=0.2, n_estimators=5)
    careful = Explainer(model, X, plausibility=plausible)
    found = careful.reasons(refused)
    assert found.status == "optimal"
    assert found.size <= Explainer(model, X).reasons(refused).size + 3
    with pytest.raises(InputError, match="isolation forest"):
        careful.reasons(refused, target=Probability("granted", at_most=0.9))


def test_actions_do_not_count_for_reasons_but_for_recourse(credit, refused):
    model, X = credit
    fixed = {name: {"action": "fixed"} for name in ("age", "income", "employed", "home")}
    bound = Explainer(model, X, features=fixed)
    free = Explainer(model, X)
    assert bound.reasons(refused).features == free.reasons(refused).features
    assert bound.robustness(refused).distance == free.robustness(refused).distance
    assert bound.necessary(refused, target="granted").status == "infeasible"


def test_what_is_wrong_is_a_sentence(explainer, refused):
    wrong = [
        (lambda: explainer.reasons(refused, order=["height"]), "height"),
        (lambda: explainer.reasons(refused, order="age"), "list of feature names"),
        (lambda: explainer.reasons(refused, target="maybe"), "unknown target"),
        (lambda: explainer.verify(refused, 0.0), "radius"),
        (lambda: explainer.robustness(refused, bounds=None, scale="range"), "bounds"),
        (lambda: explainer.robustness(refused, bounds="none"), "bounds"),
        (lambda: explainer.reason_codes(refused, n=0), "at least 1"),
        (lambda: explainer.reason_codes(refused, target="refused"), "already"),
        (lambda: explainer.contrast(refused, refused), "both rows"),
    ]
    for call, words in wrong:
        with pytest.raises(InputError, match=words):
            call()


def test_without_time_nothing_is_claimed(explainer, refused):
    found = explainer.reasons(refused, smallest=True, time_limit_s=1e-9)
    assert found.status == "feasible" and found.stop_reason == "time_limit"
    whole = explainer.reasons(refused)
    assert set(found.features) >= set(whole.features) and found.lower_bound == 0


def test_progress_ends_with_the_size_of_the_reason(explainer, refused):
    seen = []

    def progress(seconds, upper, lower):
        seen.append((upper, lower))

    whole = explainer.reasons(refused, on_progress=progress)
    assert seen[-1] == (whole.size, whole.lower_bound)


def test_a_claim_that_a_training_row_refutes_is_no_proof(explainer, refused, monkeypatch):
    monkeypatch.setattr(side.Side, "_may_reach", lambda side, alive: False)
    monkeypatch.setattr(side.Side, "walk", lambda side, free: None)
    found = explainer.reasons(refused)
    assert found.status == "feasible" and found.stop_reason == "error" and found.message
    assert found.size == len(explainer.features.features)


def test_reason_codes_are_drawn(explainer, refused):
    found = explainer.reason_codes(refused)
    axes = found.plot().axes[0]
    assert [bar.get_width() for bar in axes.patches] == [code.cost for code in found.codes]


def test_a_radius_is_not_known_where_time_ran_out(explainer, refused, monkeypatch):
    held = with_asker(explainer, replace(asker_of(explainer), first=(unproved,))).verify(
        refused, radius=100.0
    )
    assert held.robust is None and held.status == "unknown" and held.adversarial is None
    assert str(held).startswith("Unknown")


def unproved(*arguments):
    """An answer of which nothing is known."""
    return Certificate(None, 0.0, "time_limit")


def test_batches_say_whether_a_radius_holds(explainer, credit):
    X = credit[1].head(4)
    table = explainer.robustness_batch(X, radius=0.2, executor="local")
    for at in range(4):
        one = explainer.robustness(X.iloc[at])
        assert table["distance"][at] == one.distance
        assert table["robust"][at] == explainer.verify(X.iloc[at], 0.2).robust


COMMANDS = {
    "reasons": ["--row", "3", "--smallest"],
    "robustness": ["--row", "3"],
    "necessary": ["--row", "3", "--fix", "Job"],
    "reason-codes": ["--row", "3", "--n", "2"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_sentences_and_json(name, loans):
    call = [name, "--dataset", str(loans), "--train", "forest", "--trees", "5", *COMMANDS[name]]
    spoken = CliRunner().invoke(app, call)
    assert spoken.exit_code in (0, 4), spoken.output
    told = CliRunner().invoke(app, [*call, "--json"])
    assert json.loads(told.output)["status"] in ("optimal", "infeasible")


@pytest.mark.parametrize("name", ["necessary", "reason-codes"])
def test_commands_take_any_constraint(name, loans, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text('[{"Fixed": "Job"}]')
    call = [name, "--dataset", str(loans), "--train", "forest", "--trees", "5", "--row", "3"]
    fixed = CliRunner().invoke(app, [*call, "--fix", "Job"])
    told = CliRunner().invoke(app, [*call, "--constraints", str(rules), "--max-changes", "9"])
    assert (told.exit_code, told.output) == (fixed.exit_code, fixed.output)


@pytest.mark.slow
def test_codes_of_a_radius_and_of_a_contrast(loans):
    call = ["--dataset", str(loans), "--train", "forest", "--trees", "5", "--row", "3"]
    near = CliRunner().invoke(app, ["robustness", *call, "--radius", "1e-6"])
    far = CliRunner().invoke(app, ["robustness", *call, "--radius", "1e6"])
    assert (near.exit_code, far.exit_code) == (0, 1)
    codes = [
        CliRunner().invoke(app, ["contrast", *call, "--other", str(other)]).exit_code
        for other in range(6)
    ]
    assert 0 in codes


def test_a_model_that_denies_what_its_trees_say_proves_nothing(explainer, refused, monkeypatch):
    monkeypatch.setattr(Oracle, "reached", lambda oracle, rows, goal: np.zeros(len(rows), bool))
    found = explainer.reasons(refused)
    assert found.status == "feasible" and found.stop_reason == "error"
    assert "contradicts" in found.message and not found.flips and found.lower_bound == 0


def test_reasons_of_a_blend_go_the_way_of_any_question(credit, monkeypatch):
    X, y = credit[1], credit[0].predict(credit[1])
    boosting = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0)
    vote = VotingClassifier([("a", boosting), ("b", forest)], voting="soft").fit(X, y)
    explainer = Explainer(vote, X)
    for at in range(3):
        found = explainer.reasons(X.iloc[at])
        assert found.status == "optimal"
        assert all(explainer.predict(row) != found.label for row in found.flips.values())
    plain = Explainer(credit[0], X)
    direct = plain.reasons(X.iloc[0])
    monkeypatch.setattr(side, "MOST_REFUSED", 0)
    assert plain.reasons(X.iloc[0]).features == direct.features
