"""Models are read exactly as their own libraries run them: what was once read wrongly."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from typer.testing import CliRunner
from xgboost import XGBClassifier

from encoders.errors import InputError, UnsupportedModelError
from encoders.problem.partition import broken_tree, covered
from encoders.query.infer_features import infer_features
from encoders.trees.cells import cut
from encoders.trees.read import read_ensemble
from encoders.trees.tree_nodes import TreeNodes
from portfolio import Explainer, Probability, Score
from portfolio.cli.app import app
from portfolio.model.files import load_model
from selector.diagram import Diagram, Leaf, Split, alone


@pytest.fixture(scope="module")
def tumours():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def pruned(tumours):
    X, y = tumours
    return XGBClassifier(n_estimators=20, max_depth=5, tree_method="exact", gamma=1).fit(X, y)


def test_nodes_that_xgboost_pruned_are_no_leaves(tumours, pruned):
    X, _ = tumours
    content = json.loads(pruned.get_booster().save_raw("json"))
    trees = content["learner"]["gradient_booster"]["model"]["trees"]
    assert sum(int(tree["tree_param"]["num_deleted"]) for tree in trees) > 50
    cells = cut(read_ensemble(pruned))
    size = np.array([boundary.size + 1 for boundary in cells.boundary])
    shares = covered(cells.tree_start, cells.leaf_start, cells.column, cells.lo, cells.hi, size)
    assert broken_tree(shares) is None
    explainer = Explainer(pruned, X)
    for row in (0, 16, 24):
        results = [
            explainer.explain(X.iloc[row], backend=backend, threads=1)
            for backend in ("auto", "search", "cp", "milp")
        ]
        assert {result.status for result in results} == {"optimal"}
        distances = [result.distance for result in results]
        assert distances == pytest.approx([distances[0]] * 4, rel=1e-6)
        assert not any("found" in a.raw for result in results for a in result.attempts)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"right": [2, -1, -1, -1]}, "a node has two parents"),
        (
            {"left": [1, 0, -1, -1], "right": [2, 3, -1, -1], "column": [0, 0, -1, -1]},
            "a node has two parents",
        ),
        ({"left": [1, 3, -1, -1]}, "a single child"),
        ({"left": [9, -1, -1, -1]}, "a child is missing"),
        ({"column": [7, -1, -1, -1]}, "an unknown column"),
    ],
)
def test_nodes_that_form_no_tree_are_refused(change, words):
    part = {"left": [1, -1, -1, -1], "right": [2, -1, -1, -1], "column": [0, -1, -1, -1]}
    if words == "a node has two parents" and "left" not in change:
        change = {"left": [2, -1, -1, -1], "right": [2, -1, -1, -1]}
    broken = {name: np.array(values) for name, values in (part | change).items()}
    tree = TreeNodes(**broken, last_left=np.zeros(4), score=np.zeros((4, 2)))
    with pytest.raises(UnsupportedModelError, match=words):
        tree.reachable(3, "xgboost")


def test_a_value_of_its_own_for_missing_is_read_where_it_is_a_number(tumours):
    X, y = tumours
    for value in (5, 0, -999.0):
        model = XGBClassifier(n_estimators=3, missing=value).fit(X, y)
        assert Explainer(model, X).explain(X.iloc[0]).status == "optimal"
    with pytest.raises(UnsupportedModelError, match="missing=nan"):
        Explainer(XGBClassifier(n_estimators=3, missing=np.inf).fit(X, y), X)


def test_raw_scores_of_logitraw_are_compared_with_one_half(tumours):
    X, y = tumours
    model = XGBClassifier(
        n_estimators=3, max_depth=3, learning_rate=0.1, objective="binary:logitraw"
    ).fit(X, y)
    raw = model.predict(X, output_margin=True)
    assert ((raw > 0) & (raw < 0.5)).any()
    ensemble = read_ensemble(model)
    assert (ensemble.scores(X.to_numpy()).argmax(axis=1) == model.predict(X)).all()
    result = Explainer(model, X).explain(X.iloc[0], target=1)
    assert result.status == "optimal"
    assert model.predict(result.counterfactual.to_frame().T, output_margin=True)[0] > 0.5


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_a_file_of_an_early_stopped_model_predicts_like_the_model(load, ending, tmp_path):
    X, y = load(return_X_y=True, as_frame=True)
    model = XGBClassifier(n_estimators=200, learning_rate=0.5, early_stopping_rounds=3)
    model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    path = tmp_path / f"model.{ending}"
    model.save_model(path)
    loaded = load_model(path)
    kept = model.best_iteration + 1
    assert kept < model.get_booster().num_boosted_rounds()
    assert read_ensemble(loaded).root.size == kept * (1 if y.max() == 1 else 3)
    assert (loaded.predict(X) == model.predict(X)).all()


def test_two_groups_of_one_name_are_told_apart():
    code = np.arange(12) % 3
    columns = {f"a_{c}": (code == c) * 1.0 for c in range(3)}
    columns |= {f"a={c}": (code[::-1] == c) * 1.0 for c in range(3)}
    frame = pd.DataFrame(columns)
    space = infer_features(frame)
    assert sorted(f.name for f in space.features) == ["a", "a=*"]
    with pytest.raises(InputError, match="two features are called 'a'"):
        type(space)((space.features[0], space.features[0]), space.columns)


def test_a_lightgbm_model_of_category_columns_needs_such_columns(tumours):
    from lightgbm import LGBMClassifier

    X, y = tumours
    frame = X.iloc[:, :3].assign(kind=pd.Categorical(["u", "v"] * 284 + ["u"]))
    model = LGBMClassifier(n_estimators=2, verbose=-1).fit(frame, y)
    floats = frame.assign(kind=frame["kind"].cat.codes.astype(float))
    with pytest.raises(InputError, match="1 category columns, X_train has 0"):
        Explainer(model, floats)


@pytest.mark.parametrize("margin", [1e15, 1e100, 1e300, float(np.finfo(float).max)])
def test_no_row_leads_by_a_huge_margin(tumours, pruned, margin):
    X, y = tumours
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    for model, voting in ((pruned, None), (forest, None), (forest, "hard")):
        result = Explainer(model, X, voting=voting).explain(X.iloc[0], margin=margin)
        assert (result.status, result.margin) == ("infeasible", margin)


def test_the_range_that_scales_costs_is_that_of_the_bounds():
    X = pd.DataFrame({"a": np.arange(10.0)})
    model = RandomForestClassifier(5, random_state=0).fit(X, X["a"] > 4)
    wide = Explainer(model, X, features={"a": {"kind": "numeric", "bounds": [-1000, 1000]}})
    result = wide.explain(X.iloc[0])
    (change,) = result.changed
    assert change.after > 1 and result.distance == pytest.approx(change.after / 2000)


def test_decisions_name_norms_in_words():
    diagram = Diagram((Split("norm", 0.5, 1, 2), Leaf(alone("cp")), Leaf(alone("search"))))
    assert str(diagram.decide({"norm": 99.0})) == "norm is inf; search"
    assert str(diagram.decide({"norm": -1.0})) == "norm is of your own; CP"
    assert str(diagram.decide({"norm": 1.0})) == "norm is 1; search"


def test_a_class_that_predict_does_not_name_is_told(tumours):
    X, y = tumours
    odd = XGBClassifier(n_estimators=2, objective="multi:softprob", num_class=2).fit(X, y)
    with pytest.raises(UnsupportedModelError):
        Explainer(odd, X)


def test_the_command_line_stops_where_the_model_stopped(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 3)), 2)
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    lines = ["a,b,c,y", "N,N,N,B", "FREE,FREE,FREE,PREDICT"]
    lines += [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    frame = pd.DataFrame(X, columns=list("abc"))
    model = XGBClassifier(n_estimators=100, learning_rate=0.9, early_stopping_rounds=1)
    model.fit(frame[:100], y[:100], eval_set=[(frame[100:], y[100:])], verbose=False)
    model.save_model(tmp_path / "model.ubj")
    answer = CliRunner().invoke(
        app,
        ["explain", "--dataset", str(tmp_path / "data.csv"), "--model",
         str(tmp_path / "model.ubj"), "--row", "0", "--json"],
    )  # fmt: skip
    found = json.loads(answer.output)
    row = pd.DataFrame([found["counterfactual"]])[list("abc")]
    assert found["status"] == "optimal" and model.predict(row)[0] == found["target"]
    assert Explainer(model, frame).explain(frame.iloc[0]).distance == found["distance"]


def test_shares_of_leaves_are_those_of_the_forest_itself():
    """treelite divides them by their sum once more; a last bit then decided a tie wrongly."""
    points = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    X = np.repeat(points, 4, axis=0)
    y = np.array([int(digit) for digit in "01010100001010011111001100100110"])
    model = RandomForestClassifier(
        4, max_depth=1, max_features=1, bootstrap=False, random_state=0
    ).fit(X, y, sample_weight=np.full(32, 0.1))
    start = np.array([0.0, 1.0, 0.0])
    result = Explainer(model, X).explain(start, target=1)
    nearest = np.abs(points[model.predict(points) == 1] - start).sum(axis=1).min()
    assert (result.status, result.distance) == ("optimal", nearest)


def chain(base_score, objective, other, near, folder):
    """A classifier of one tree: down a path of 16 splits only the last leaf has score ``near``."""
    depth = 16
    X = np.vstack([np.zeros(depth), np.eye(depth)])
    settings = {"base_score": base_score, "objective": objective, "min_child_weight": 0}
    model = XGBClassifier(n_estimators=1, max_depth=1, reg_lambda=0, **settings)
    model.fit(X, np.r_[0, np.ones(depth)].astype(int))
    content = json.loads(bytes(model.get_booster().save_raw("json")))
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    left, right, column, value, parent = [], [], [], [], []
    for d in range(depth):
        left += [2 * d + 1, -1]
        right += [2 * d + 2, -1]
        column += [d, 0]
        value += [0.5, other]
        parent += [2147483647 if d == 0 else 2 * d - 2, 2 * d]
    left, right, column = [*left, -1], [*right, -1], [*column, 0]
    value, parent = [*value, near], [*parent, 2 * depth - 2]
    zeros, whole = [0.0] * len(left), [0] * len(left)
    tree |= {
        "left_children": left, "right_children": right, "split_indices": column,
        "split_conditions": value, "parents": parent, "base_weights": zeros,
        "default_left": whole, "loss_changes": zeros, "sum_hessian": [1.0] * len(left),
        "split_type": whole,
    }  # fmt: skip
    tree["tree_param"]["num_nodes"] = str(len(left))
    (folder / "chain.json").write_text(json.dumps(content))
    loaded = XGBClassifier()
    loaded.load_model(folder / "chain.json")
    return loaded, X


@pytest.mark.parametrize(
    ("base_score", "objective", "other", "near"),
    [(0.999, "binary:logistic", 8.0, -6.9067564), (0.5, "binary:logitraw", 2.0**-20, 1e-8)],
)
def test_a_leaf_near_a_tie_where_no_row_has_ever_been(base_score, objective, other, near, tmp_path):
    model, X = chain(base_score, objective, other, near, tmp_path)
    features = {f"x{column}": "numeric" for column in range(X.shape[1])}
    result = Explainer(model, X, features=features).explain(X[0], target=0)
    assert model.predict(X[:1])[0] == 1 and model.predict(np.ones((1, X.shape[1])))[0] == 0
    assert result.status == "optimal" and model.predict(result.counterfactual[None, :])[0] == 0


@pytest.mark.parametrize("base_score", [None, 1e-7, 0.9, 0.999, 0.99999, 0.999999])
@pytest.mark.parametrize("n_estimators", [1, 3, 50])
def test_extreme_base_scores_are_those_of_xgboost(base_score, n_estimators):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    y = np.ones(3000, dtype=int)
    y[:3] = 0
    model = XGBClassifier(n_estimators=n_estimators, max_depth=3, base_score=base_score).fit(X, y)
    Explainer(model, X)  # is not refused
    ours = read_ensemble(model).scores(X)[:, 1]
    band = read_ensemble(model).rounding.band
    assert np.abs(ours - model.predict(X, output_margin=True)).max() <= band < 1e-3


def test_leaves_of_astronomic_size_are_still_sums_that_solvers_take():
    """Without regularisation a pure leaf of XGBoost holds 1e16; cp once refused the numbers."""
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(40, 3)), 1)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    settings = {"reg_lambda": 0, "min_child_weight": 0, "learning_rate": 1.0}
    model = XGBClassifier(n_estimators=6, max_depth=4, **settings).fit(X, y)
    content = json.loads(bytes(model.get_booster().save_raw("json")))
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    tree["split_conditions"][leaf] = tree["base_weights"][leaf] = -7.5e15
    model.load_model(bytearray(json.dumps(content).encode()))
    explainer = Explainer(model, X)
    for backend in ("cp", "search", "milp", "maxsat"):
        for row in range(4):
            result = explainer.explain(X[row], backend=backend, reduce=False, threads=1)
            assert result.status in ("optimal", "infeasible"), (backend, row, result)


def test_a_lightgbm_model_that_stops_adding_early_is_refused(tumours):
    from lightgbm import LGBMClassifier

    X, y = tumours
    plain = X.set_axis([f"c{i}" for i in range(X.shape[1])], axis=1)
    model = LGBMClassifier(n_estimators=30, verbose=-1, pred_early_stop=True).fit(plain, y)
    with pytest.raises(UnsupportedModelError, match="pred_early_stop"):
        Explainer(model, plain)


CAT = {"iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False}


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_catboost_scores_are_scaled_and_shifted_sums(tumours, policy):
    X, y = tumours
    model = CatBoostClassifier(**CAT, grow_policy=policy).fit(X, y)
    model.set_scale_and_bias(0.3, -0.7)
    model.set_probability_threshold(0.2)
    ensemble = read_ensemble(model)
    raw = model.predict(X, prediction_type="RawFormulaVal") - np.log(0.2 / 0.8)
    ours = ensemble.scores(X.to_numpy())[:, 1]
    assert np.abs(ours - raw).max() <= ensemble.rounding.band < 1e-12
    assert ((ours > 0) == model.predict(X)).all()
    result = Explainer(model, X).explain(X.iloc[0])
    assert result.status == "optimal" and ensemble.dtype == np.float32


@pytest.mark.parametrize("loss", ["Poisson", "MultiClass", "MultiClassOneVsAll", "Logloss"])
def test_what_catboost_puts_out_is_within_the_limits_of_its_link(tumours, loss):
    X, y = tumours[0].iloc[:, :4], tumours[1] + 2 * (tumours[0].iloc[:, 0] > 18)
    kind = CatBoostRegressor if loss == "Poisson" else CatBoostClassifier
    target = tumours[1] if loss == "Logloss" else y
    model = kind(**CAT, loss_function=loss).fit(X, target)
    for shift in (-800.0, -709.0, -300.0, -30.0, -1.0, 0.0, 1.0, 30.0, 300.0, 708.0):
        if loss in ("Poisson", "Logloss"):
            model.set_scale_and_bias(1.0, shift)
        else:
            model.set_scale_and_bias(1.0, [shift, 0.0, -shift / 3])
        ensemble = read_ensemble(model)
        sums, link = ensemble.scores(X.to_numpy()), ensemble.link
        found = model.predict(X) if loss == "Poisson" else model.predict_proba(X)
        for output, own in enumerate(found.reshape(len(X), -1).T):
            low, high = link.limits(sums, output, ensemble.rounding.sums)
            assert ((low <= own) & (own <= high)).all()
            for bound in np.unique(own)[:50]:
                taken = sums @ link.weights(sums.shape[1], output)
                if loss != "MultiClass":
                    slack = 2 * ensemble.rounding.sums
                    assert (taken[own >= bound] >= link.least(bound, sums.shape[1]) - slack).all()
                    assert (taken[own <= bound] <= link.most(bound, sums.shape[1]) + slack).all()


def test_the_probability_of_a_catboost_model_is_apart_from_its_threshold(tumours):
    X, y = tumours
    model = CatBoostClassifier(**CAT).fit(X, y)
    model.set_probability_threshold(0.9)
    explainer = Explainer(model, X)
    for label, place in ((0, 300), (1, 0)):
        plain = explainer.explain(X.iloc[place], target=Probability(label, at_least=0.6))
        own = model.predict_proba(plain.counterfactual)[label]
        assert plain.status == "optimal" and own == plain.score >= 0.6
        raw = model.predict(plain.counterfactual, prediction_type="RawFormulaVal")
        score = explainer.explain(X.iloc[place], target=Score(raw, raw))
        assert score.score == raw and score.distance <= plain.distance


@pytest.mark.parametrize(
    ("ties", "expected"),
    [([0.5, 0.25, 0.5], 0), ([0.25, 0.5, 0.5], 1), ([0.25, 0.25, 0.5], 2)],
)
def test_the_first_of_the_largest_wins_in_catboost(ties, expected, tmp_path):
    X, y = np.arange(30.0)[:, None], np.arange(30) // 10
    path = str(tmp_path / "model.json")
    settings = CAT | {"iterations": 1, "depth": 1}
    CatBoostClassifier(**settings, loss_function="MultiClass").fit(X, y).save_model(path, "json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["oblivious_trees"][0]["leaf_values"][:3] = ties
    (tmp_path / "model.json").write_text(json.dumps(content))
    model = load_model(tmp_path / "model.json")
    assert model.predict(X[:1]).item() == expected
    assert Explainer(model, X).explain(X[-1], target=expected).status == "optimal"


def test_catboost_models_that_are_no_sums_of_thresholds_are_refused(tumours):
    X, y = tumours
    frame = X.iloc[:, :2].assign(kind=np.where(X.iloc[:, 0] > 20, "w", np.where(y, "u", "v")))
    for policy in ("SymmetricTree", "Depthwise"):
        model = CatBoostClassifier(**CAT, cat_features=["kind"], grow_policy=policy)
        with pytest.raises(UnsupportedModelError, match="statistics of the target"):
            read_ensemble(model.fit(frame, y))
    model = CatBoostRegressor(**CAT, loss_function="RMSEWithUncertainty").fit(X, y)
    with pytest.raises(UnsupportedModelError, match="several outputs"):
        read_ensemble(model)
    entropy = CatBoostClassifier(**CAT, loss_function="CrossEntropy").fit(X, y / 2)
    with pytest.raises(UnsupportedModelError, match="loss CrossEntropy does not classify"):
        read_ensemble(entropy)
    with pytest.raises(UnsupportedModelError, match="this CatBoostClassifier is not fitted"):
        Explainer(CatBoostClassifier(), X)
    sigmoid = CalibratedClassifierCV(CatBoostClassifier(**CAT), ensemble=False).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="not over this CatBoostClassifier"):
        Explainer(sigmoid, X)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_stages_of_boosting_that_stopped_early_are_those_that_there_are(kind):
    """treelite goes by ``n_estimators``, and read memory beyond the trees."""
    X, y = load_iris(return_X_y=True)
    model = kind(n_estimators=200, max_depth=2, n_iter_no_change=2, random_state=0).fit(X, y)
    assert model.n_estimators_ < 50
    ensemble = read_ensemble(model)
    assert ensemble.root.size == model.estimators_.size
    own = getattr(model, "decision_function", model.predict)(X).reshape(len(X), -1)
    assert ensemble.scores(X) == pytest.approx(own, rel=1e-12, abs=1e-12)
