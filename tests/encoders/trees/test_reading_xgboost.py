"""XGBoost's models are read exactly as it runs them: what was once read wrongly."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from typer.testing import CliRunner
from xgboost import XGBClassifier, XGBRFClassifier

from encoders.core.errors import UnsupportedModelError
from encoders.problem.partition import broken_tree, covered
from encoders.readers.read import read_ensemble
from encoders.trees.cells import cut
from portfolio import Explainer
from portfolio.cli.app import app
from portfolio.model.files import load_model
from portfolio.model.native import wrap_native

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def pruned(tumours):
    X, y = tumours
    return XGBClassifier(n_estimators=20, max_depth=5, tree_method="exact", gamma=1).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [XGBClassifier, XGBRFClassifier])
@pytest.mark.parametrize("missing", [np.nan, 0.0])
def test_an_array_is_predicted_as_a_frame_is(kind, missing, monkeypatch):
    """Few rows are given to it as an array, which takes less time."""
    rng, names = np.random.default_rng(0), list("abcd")
    X = pd.DataFrame(rng.normal(size=(200, 4)).round(1), columns=names)
    model = kind(n_estimators=5, missing=missing).fit(X, rng.integers(0, 3, 200))
    native = wrap_native(model, 3)
    odd = [0.0, -0.0, 1e300, -1e300, 3.4e38, 1e-320, 0.1, np.nextafter(0.1, 1), np.float32(0.1)]
    rows = rng.choice([np.nan, *odd] if np.isnan(missing) else odd, size=(60, 4))
    rows = np.concatenate([rows, rng.normal(size=(60, 4))])
    frames = [pd.DataFrame(row[None], columns=names) for row in rows]
    expected = [
        (_predicted(model.predict, one), _predicted(model.predict_proba, one)) for one in frames
    ]
    given, own = [], kind.predict

    def predict(self, X, *settings, **named):
        given.append(type(X))
        return own(self, X, *settings, **named)

    monkeypatch.setattr(kind, "predict", predict)
    found = [
        (_predicted(native.predict, r[None]), _predicted(native.probabilities, r[None]))
        for r in rows
    ]
    assert found == expected
    assert set(given) == {np.ndarray} and len(given) == len(rows)


def _predicted(predict, rows):
    """Return the predictions, or the type of the error for numbers beyond float32."""
    try:
        return predict(rows).tolist()
    except ValueError as error:
        return type(error)


@pytest.mark.slow
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
            explainer.explain(X.iloc[row], strategy=backend, threads=1)
            for backend in ("auto", "search", "cp", "milp")
        ]
        assert {result.status for result in results} == {"optimal"}
        distances = [result.distance for result in results]
        assert distances == pytest.approx([distances[0]] * 4, rel=1e-6)
        assert not any("found" in a.raw for result in results for a in result.attempts)


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


@pytest.mark.slow
@pytest.mark.parametrize(("load", "ending"), [(load_breast_cancer, "json"), (load_iris, "ubj")])
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


@pytest.mark.slow
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


def test_a_class_that_predict_does_not_name_is_predicted(tumours):
    X, y = tumours
    odd = XGBClassifier(n_estimators=2, objective="multi:softprob", num_class=2).fit(X, y)
    with pytest.raises(UnsupportedModelError):
        Explainer(odd, X)


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


@pytest.mark.slow
@pytest.mark.parametrize("base_score", [None, 1e-7, 0.9, 0.999, 0.99999, 0.999999])
@pytest.mark.parametrize("n_estimators", [1, 3, 50])
def test_extreme_base_scores_are_those_of_xgboost(base_score, n_estimators):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    y = np.ones(3000, dtype=int)
    y[:3] = 0
    model = XGBClassifier(n_estimators=n_estimators, max_depth=3, base_score=base_score).fit(X, y)
    Explainer(model, X)  # is not refused
    read = read_ensemble(model)
    error = np.abs(read.scores(X)[:, 1] - model.predict(X, output_margin=True)).max()
    assert error <= read.rounding.band < 1e-4 * (10 + np.abs(read.score).max())


@pytest.mark.slow
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
            result = explainer.explain(X[row], strategy=f"plain-{backend}", threads=1)
            assert result.status in ("optimal", "infeasible"), (backend, row, result)
