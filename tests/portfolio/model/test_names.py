"""Column names of any type, and names that libraries and files write in another way."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import Booster, LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from counterfolio import (
    Becomes,
    Changes,
    Explainer,
    Fixed,
    Forbidden,
    Implies,
    Increase,
    InputError,
    Linear,
    MaxChanges,
    Range,
    Rises,
    Stays,
    Together,
    Within,
)

TEXT = ["c0", "c1", "c2"]
NAMES = {
    "integers": [9, 10, 11],
    "places": [0, 1, 2],
    "numbers": [1.5, 2.5, 3.5],
    "levels": pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", 1)]),
    "integer levels": pd.MultiIndex.from_arrays([np.array([1, 1, 2]), np.array([5, 6, 7])]),
}
MODELS = {
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "xgboost": lambda: XGBClassifier(n_estimators=4, max_depth=3),
    "lightgbm": lambda: LGBMClassifier(n_estimators=4, max_depth=3, verbose=-1),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=4, max_depth=3),
    "pipeline": lambda: make_pipeline(
        ColumnTransformer([("s", StandardScaler(), [0, 1])], remainder="passthrough"),
        RandomForestClassifier(5, max_depth=3, random_state=0),
    ),
}
QUERIES = (
    lambda e, q, a, b, c: e.explain(q, constraints=[Fixed(a)]),
    lambda e, q, a, b, c: e.explain(q, constraints=[Range(b, -1, 1), Increase(a)]),
    lambda e, q, a, b, c: e.explain(q, constraints=[Linear({a: 1.0, b: 1.0}, "<=", 0.5)]),
    lambda e, q, a, b, c: e.explain(
        q,
        constraints=[Implies(Changes(a), Stays(b)), Together(b, c), MaxChanges(1, among=[a, b])],
    ),
    lambda e, q, a, b, c: e.explain(
        q, constraints=[Forbidden(Within(a, 0, 1), Rises(b)), Implies(Changes(c), Becomes(c, 2, 3))]
    ),
    lambda e, q, a, b, c: e.explain(q, weights={a: 3.0, b: 0.5}),
    lambda e, q, a, b, c: e.explain(q, norm={b: lambda own, new: abs(own - new)}),
    lambda e, q, a, b, c: e.explain(dict(q.iloc[0]), weights=pd.Series({a: 3.0})),
)


def table(names):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 3))
    values[:, 2] = rng.integers(0, 6, 200)
    return pd.DataFrame(values, columns=names), (values[:, 0] + values[:, 1] > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", MODELS)
def test_names_that_are_not_text_work_as_text_does(kind, names):
    if kind == "lightgbm" and "levels" in names:
        pytest.skip("LightGBM refuses commas in names")
    (X, y), (plain, _) = table(NAMES[names]), table(TEXT)
    model = MODELS[kind]().fit(X, y)
    other = MODELS[kind]().fit(plain, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explainer, right = Explainer(model, X), Explainer(other, plain)
        own = list(X.columns)
        for ask in QUERIES:
            found, expected = (
                ask(explainer, X.iloc[[0]], *own),
                ask(right, plain.iloc[[0]], *TEXT),
            )
            assert (found.status, found.distance) == (expected.status, expected.distance)
            changed = dict(zip(TEXT, own, strict=True))
            told = [changed[name] for name in expected.changes()["feature"]]
            if found.row is not None:
                assert found.changes()["feature"].tolist() == told
                assert list(found.counterfactual.keys()) == own
    described = Explainer(model, X, features={own[0]: {"action": "fixed"}, own[1]: "numeric"})
    assert (
        described.explain(X.iloc[[0]]).distance
        == QUERIES[0](right, plain.iloc[[0]], *TEXT).distance
    )


def test_a_feature_described_under_a_number_and_its_text_is_refused():
    X, y = table([9, 10, 11])
    with pytest.raises(InputError, match="features= describes '9' twice, once as text"):
        Explainer(MODELS["forest"]().fit(X, y), X, features={9: "numeric", "9": "numeric"})


def test_names_that_a_library_rewrites_are_found_in_any_order(tmp_path):
    X, y = table(["living size", "the age", " k"])
    made = LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y)
    made.booster_.save_model(tmp_path / "model.txt")
    levels = X.set_axis(NAMES["levels"], axis=1)
    joined = XGBClassifier(n_estimators=4, max_depth=3).fit(levels, y)
    stripped = XGBClassifier(n_estimators=4, max_depth=3).fit(X.rename(columns=str.strip), y)
    for model, frame in (
        (made, X),
        (Booster(model_file=tmp_path / "model.txt"), X),
        (joined, levels),
        (stripped, X),
    ):
        right = Explainer(model, frame)
        for order in ([2, 1, 0], [1, 2, 0]):
            explainer = Explainer(model, frame.iloc[:, order])
            for at in range(3):
                found = explainer.explain(frame.iloc[[at], order])
                assert found.distance == right.explain(frame.iloc[[at]]).distance
                assert found.counterfactual.columns.equals(frame.columns[order])


def test_names_with_blanks_are_those_of_members_that_check_them():
    X, y = table(["a b", "c", "d"])
    forest, lightgbm = RandomForestClassifier(4, random_state=0), LGBMClassifier(verbose=-1)
    for members in ([("one", forest), ("two", lightgbm)], [("two", lightgbm), ("one", forest)]):
        model = VotingClassifier(members, voting="soft").fit(X, y)
        result = Explainer(model, X).explain(X.iloc[[0]])
        assert result.counterfactual.columns.equals(X.columns)
        assert model.predict(result.counterfactual)[0] != model.predict(X.iloc[[0]])[0]


def test_other_names_are_refused():
    X, y = table(["a b", "c", "d"])
    model = LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y)
    with pytest.raises(InputError, match="X_train lacks 'a_b' and has 'ab'"):
        Explainer(model, X.rename(columns={"a b": "ab"}))
