"""Queries whose category no training row has: answered where the model takes it."""

import itertools

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from counterfolio import (
    Allowed,
    AllowedPairs,
    Around,
    Becomes,
    Explainer,
    Fixed,
    Forbidden,
    InputError,
    JointCost,
    Precedence,
    Rises,
    Within,
)

CITIES, NEW = list("abcd"), "elsewhere"


def table():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"city": rng.choice(CITIES, 300), "visits": rng.integers(0, 12, 300)})
    return X, (X.city.isin(["a", "c"]) & (X.visits > 4) | (X.visits > 9)).astype(int)


def fitted(kind):
    X, y = table()
    encoders = {
        "one-hot": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=75),
        "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-3),
        "target": TargetEncoder(random_state=0),
        "refusing": OneHotEncoder(),
    }
    if kind in encoders:
        steps = make_column_transformer((encoders[kind], ["city"]), remainder="passthrough")
        forest = RandomForestClassifier(5, max_depth=4, random_state=0)
        return make_pipeline(steps, forest).fit(X, y), X
    typed = X.astype({"city": "category"})
    models = {
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, min_data_per_group=5),
        "histogram": HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype"),
        "xgboost": xgboost.XGBClassifier(n_estimators=3, enable_categorical=True),
    }
    return models[kind].fit(typed, y), typed


def rows_like(X, grid):
    rows = pd.DataFrame(grid, columns=X.columns)
    if isinstance(X.city.dtype, pd.CategoricalDtype):
        rows["city"] = pd.Categorical(rows.city, categories=[*CITIES, NEW])
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one-hot", "ordinal", "target", "lightgbm", "histogram"])
def test_the_new_category_stays_or_becomes_a_known_one_at_least_cost(kind):
    model, X = fitted(kind)
    explainer = Explainer(model, X)
    grid = list(itertools.product([*CITIES, NEW], range(12)))
    rows = rows_like(X, grid)
    decided = model.predict(rows)
    rules = [
        ((), [*CITIES, NEW]),
        ([Fixed("city")], [NEW]),
        ([Allowed("city", ["b"])], ["b"]),
    ]
    for at, (constraints, cities) in zip((48, 51, 59), rules, strict=True):
        costs = [
            (city != NEW) + abs(visits - grid[at][1]) / 11
            for (city, visits), k in zip(grid, decided, strict=True)
            if k != decided[at] and city in cities
        ]
        result = explainer.explain(rows.iloc[[at]], constraints=constraints)
        if not costs:
            assert result.status == "infeasible"
            continue
        assert result.distance == pytest.approx(min(costs))
        answer = result.counterfactual
        assert model.predict(answer)[0] != decided[at]
        assert (answer.city.iloc[0] == NEW) == (NEW in cities and "city" not in result.changes())
    both = explainer.explain_batch(rows.iloc[[48, 0]])
    assert both["distance"].iloc[0] == pytest.approx(explainer.explain(rows.iloc[[48]]).distance)
    assert np.isfinite(both["distance"].iloc[1])


@pytest.mark.parametrize("kind", ["refusing", "xgboost"])
def test_a_model_that_raises_gets_the_query_refused_in_a_sentence(kind):
    model, X = fitted(kind)
    with pytest.raises(InputError, match=f"city is '{NEW}', which is not one of its categories"):
        Explainer(model, X).explain(rows_like(X, [(NEW, 3)]))


def coded(kind, dtype):
    random = np.random.default_rng(3)
    X = pd.DataFrame({"code": random.choice([2, 3, 5, 7], 200), "size": random.normal(size=200)})
    y = (X.code.isin([2, 5]) ^ (X["size"] > 0.5)).astype(int)
    X["code"] = X["code"].astype(dtype)
    models = {
        "catboost": catboost.CatBoostClassifier(
            iterations=4, depth=3, verbose=False, one_hot_max_size=9, cat_features=["code"],
            allow_writing_files=False,
        ),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, min_data_per_group=5),
    }  # fmt: skip
    options = {} if kind == "catboost" else {"categorical_feature": ["code"]}
    return models[kind].fit(X, y, **options), X


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("catboost", "int64"),
        ("catboost", "object"),
        ("catboost", "category"),
        ("lightgbm", "int64"),
        ("lightgbm", "float64"),
    ],
)
@pytest.mark.parametrize("code", [11, -4])
def test_an_unseen_whole_number_is_a_new_category_as_a_float_too(kind, dtype, code):
    """A row of a frame is a Series of one type: its whole numbers are floats."""
    model, X = coded(kind, dtype)
    explainer = Explainer(model, X)
    row = {"code": code, "size": 0.25}
    one = pd.DataFrame({"code": [code], "size": [0.25]})
    given = [one, row, {**row, "code": float(code)}, pd.Series(row), np.array([code, 0.25])]
    found = [explainer.explain(each) for each in given]
    assert {each.status for each in found} == {"optimal"}
    assert len({each.distance for each in found}) == 1
    assert found[0].target != model.predict(one)[0]
    with pytest.raises(InputError, match="which is not one of its categories"):
        explainer.explain({**row, "code": "x"})


@pytest.mark.parametrize(
    ("kind", "dtype"), [("catboost", "int64"), ("catboost", "category"), ("lightgbm", "float64")]
)
@pytest.mark.parametrize("value", [True, np.bool_(False), 10**400, 1e39, "\ud800", 2.5, 1j])
def test_values_that_no_library_reads_as_a_category_are_refused(kind, dtype, value):
    model, X = coded(kind, dtype)
    accepted = kind == "lightgbm" and value == 1e39  # it reads 2.5 as 2
    explainer = Explainer(model, X)
    if accepted:
        assert explainer.explain({"code": value, "size": 0.25}).status == "optimal"
        return
    with pytest.raises(InputError, match="the query's code is "):
        explainer.explain({"code": value, "size": 0.25})


def test_text_that_is_not_unicode_is_refused_as_a_category():
    model, X = fitted("lightgbm")
    with pytest.raises(InputError, match=r"city is '\\ud800', which the model rejects"):
        Explainer(model, X).explain({"city": "\ud800", "visits": 3})


@pytest.mark.parametrize("value", [np.inf, "x"])
def test_numeric_categories_of_the_training_frame_are_numbers(value):
    model, X = coded("lightgbm", "float64")
    X = X.astype({"code": object})
    X.loc[0, "code"] = value
    with pytest.raises(InputError, match="reads its categories as numbers"):
        Explainer(model, X)


@pytest.mark.parametrize(
    "rule",
    [
        Allowed("city", [pd.NA]),
        Forbidden(Becomes("city", pd.NA)),
        Precedence("city", ["a", pd.NA]),
        Forbidden(Within("visits", 10**400)),
        Forbidden(Rises("visits", by=10**400)),
    ],
)
def test_values_of_constraints_that_no_row_has_are_refused(rule):
    model, X = fitted("lightgbm")
    with pytest.raises(InputError):
        Explainer(model, X).explain(X.iloc[[0]], constraints=[rule])


@pytest.mark.parametrize("kind", ["one-hot", "lightgbm"])
@pytest.mark.parametrize(
    "question",
    [
        {"constraints": [Allowed("city", [NEW, "a"])]},
        {"constraints": [Precedence("city", ["a", NEW])]},
        {"constraints": [Forbidden(Becomes("city", NEW))]},
        {"constraints": [JointCost("city", "visits", {(NEW, 5): 1})]},
        {"constraints": [AllowedPairs("visits", "city", [(5, NEW)])]},
        {"norm": {"city": {NEW: 0.1, "a": 0.5}}},
    ],
)
def test_an_unknown_category_is_refused_with_the_name_of_the_unseen_one(kind, question):
    model, X = fitted(kind)
    explainer = Explainer(model, X)
    with pytest.raises(InputError, match=rf"no category '{NEW}'.* Write \"\(new\)\" for the uns"):
        explainer.explain(rows_like(X, [(NEW, 3)]), **question)
    with pytest.raises(InputError, match=f"no category '{NEW}'") as error:
        explainer.explain(rows_like(X, [("b", 3)]), **question)
    assert "(new)" not in str(error.value)


@pytest.mark.parametrize("kind", ["one-hot", "ordinal", "lightgbm", "histogram"])
def test_the_label_of_unseen_categories_costs_only_queries_that_have_one(kind):
    """No answer becomes an unseen category, so its price or rule does not apply to others."""
    model, X = fitted(kind)
    explainer = Explainer(model, X)
    grid = list(itertools.product([*CITIES, NEW], range(12)))
    rows = rows_like(X, grid)
    decided = model.predict(rows)
    joint = JointCost("city", "visits", {("(new)", visits): 0.7 for visits in range(4, 10)})
    table = {"city": {"(new)": 0.1, "a": 0.2, "c": 0.3}}
    for at in range(3, len(grid), 5):
        own, before = grid[at]
        for constraints, norm in (([joint], 1), ((), table), ([Allowed("city", ["(new)"])], 1)):
            costs = []
            for (city, visits), k in zip(grid, decided, strict=True):
                moved = city != own
                listed = not (moved and norm != 1) or city in table["city"]
                if k == decided[at] or (moved and city == NEW) or not listed:
                    continue
                if constraints and constraints[0] is not joint and city != NEW:
                    continue
                extra = 0.7 * (city == NEW and 4 <= visits < 10 and visits != before)
                price = moved * (1 if norm == 1 else table["city"].get(city, 0))
                costs.append(price + abs(visits - before) / 11 + extra * (joint in constraints))
            if constraints and constraints[0] is not joint and own != NEW:
                with pytest.raises(InputError, match="leave no admissible value"):
                    explainer.explain(rows.iloc[[at]], constraints=constraints)
                continue
            result = explainer.explain(rows.iloc[[at]], constraints=constraints, norm=norm)
            assert result.status == ("optimal" if costs else "infeasible")
            assert not costs or result.distance == pytest.approx(min(costs))


def test_a_step_that_tells_new_categories_apart_is_not_taken_at_its_word():
    from sklearn.preprocessing import FunctionTransformer

    X, y = table()
    by_length = FunctionTransformer(lambda frame: frame.map(len) + (frame == "a"))
    steps = make_column_transformer((by_length, ["city"]), remainder="passthrough")
    model = make_pipeline(steps, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    explainer = Explainer(model, X, steps={"columntransformer__functiontransformer": "by value"})
    with pytest.raises(InputError, match="treats differently from other new values"):
        explainer.explain(rows_like(X, [("a very long name", 3)]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one-hot", "target", "lightgbm", "histogram"])
def test_regions_and_robust_answers_of_a_row_with_a_new_category(kind):
    model, X = fitted(kind)
    explainer = Explainer(model, X)
    rows = rows_like(X, itertools.product([*CITIES, NEW], range(12)))
    ones = rows[model.predict(rows) == 1]
    row = rows_like(X, [(NEW, 2)])
    found = explainer.several(row, k=40, target=1, different="region")
    assert found.complete
    held = [
        ones.city.map(region["city"].holds).astype(bool) & ones.visits.map(region["visits"].holds)
        for region in found.regions
    ]
    known = ones.city != NEW
    assert np.logical_or.reduce(held)[known].all()
    assert explainer.region(row)["city"].own == "(new)"
    safe = explainer.explain_robust(row, Around({"visits": 1}), target=1)
    assert safe.status in ("optimal", "infeasible")
    if safe.status == "optimal":
        answer = safe.counterfactual
        for visits in (-1, 0, 1):
            assert model.predict(answer.assign(visits=answer.visits + visits))[0] == 1


def test_a_contrast_with_a_new_category_of_the_second_row_is_refused():
    """No answer may have that category, although the second row itself is predicted otherwise."""
    model, X = fitted("one-hot")
    new = X.assign(city=NEW)
    differs = model.predict(X) != model.predict(new)
    first = X[differs].iloc[[0]]
    explainer = Explainer(model, X)
    with pytest.raises(
        InputError, match="city of the second row is a category that the training data does not"
    ):
        explainer.contrast(first, new[differs].iloc[[0]])
    back = explainer.contrast(new[differs].iloc[[0]], first)
    assert back.status == "optimal" and back.features == ("city",)
