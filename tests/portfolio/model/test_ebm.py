"""Explainable boosting machines: optima against all rows of small tables by the model's predict."""

import warnings

import numpy as np
import pandas as pd
import pytest
from interpret.glassbox import (
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
)
from interpret.privacy import DPExplainableBoostingClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from counterfolio import (
    AtLeast,
    AtMost,
    Explainer,
    InputError,
    ModelChangedError,
    Probability,
    UnsupportedModelError,
)
from tests.support.brute_tables import Raw, around, cheapest
from tests.support.parts import few_and_large
from tests.support.whole_grids import (
    check_classes,
    check_gaps,
    check_predictions,
    compare,
    whole_table,
    with_gaps,
)

SMALL = {"max_rounds": 25, "outer_bags": 1, "n_jobs": 1, "interactions": 2}
ROWS, QUERIES = 90, 3
FEW, LARGE = 4, 90
JOBS = ["clerk", "cook", "nurse", "pilot"]
NEW = "smith"  # job that no row of the training data has
pytestmark = [
    pytest.mark.filterwarnings("ignore:Missing values detected"),
    pytest.mark.filterwarnings("ignore:For multiclass we cannot"),
]


def classes_of(score, n_classes):
    """Return labels of about the same frequency."""
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def random_table(seed):
    """Return a frame of four columns of random types, the types of its features, and a score."""
    random = np.random.default_rng([4, seed])
    income, size = random.normal(size=ROWS).round(2), random.integers(0, 5, ROWS)
    job, flag = random.integers(len(JOBS), size=ROWS), random.integers(2, size=ROWS)
    score = income - (size - 2) / 2 + random.normal(size=len(JOBS))[job] + flag * income
    X = pd.DataFrame({"income": income, "size": size, "job": np.array(JOBS)[job], "flag": flag})
    X["income"] = X["income"].astype(["float64", "float32"][seed % 2])
    types = ["continuous", "continuous", "nominal", None]
    kind = seed % 5
    if kind == 0:
        X["job"] = X["job"].astype("category")
    elif kind == 1:
        X["job"] = X["job"].astype(object)
    elif kind == 2:  # numbers that the user calls categories
        X["job"] = job * 10
    elif kind == 3:
        X["job"] = pd.Categorical(job * 1.5)
    else:  # numbers only
        X, types = X.drop(columns="job"), [*types[:2], None]
    X["flag"] = [flag, flag.astype(bool), np.where(flag, 2.5, 0.5)][seed % 3]
    if seed % 4 == 1:
        X["size"] = X["size"].astype(float)
        X.loc[random.random(ROWS) < 0.2, "size"] = np.nan
    if seed % 4 == 2:
        X.loc[random.random(ROWS) < 0.2, "income"] = np.nan
    if seed % 3 == 1 and "job" in X and kind != 2:
        X.loc[random.random(ROWS) < 0.2, "job"] = None
    if seed % 7 == 3:
        types[1] = "nominal"
    if seed % 2:
        types[-1] = "nominal"
    types = ["auto" if each is None else each for each in types]
    return X, types, score + random.normal(0, 0.3, ROWS)


def wide(X):
    """Return whether numbers between those of "flag" are allowed."""
    return "job" not in X and X["flag"].dtype != bool


def raws(model, X):
    """Return the values of each column next to the model's own cuts, within the training range."""
    parts = []
    for at, name in enumerate(X):
        values = X[name].dropna()
        few = sorted(values.unique().tolist())
        nominal = model.feature_types_in_[at] == "nominal" and len(few) > 2
        if nominal or not pd.api.types.is_numeric_dtype(values.dtype):
            parts.append(Raw(name, tuple(few), number=False))
        elif name == "flag" and wide(X):
            cuts = [float(each) for level in model.bins_[at] for each in level]  # or categories
            near = around(cuts, *few, single=False)
            parts.append(Raw(name, near, spread=few[1] - few[0]))
        elif len(few) == 2:
            parts.append(Raw(name, tuple(few), spread=few[1] - few[0]))
        elif (values == values.round()).all():
            whole = np.arange(few[0], few[-1] + 1)
            parts.append(Raw(name, tuple(whole.tolist()), spread=few[-1] - few[0]))
        else:
            cuts = [cut for level in model.bins_[at] for cut in level]
            near = around(cuts, few[0], few[-1], single=False)
            parts.append(Raw(name, near, spread=few[-1] - few[0]))
    return parts


def queries(model, X, seed):
    """Return rows of the table, at a cut, beyond the training range, and with a new category."""
    random = np.random.default_rng(seed)
    rows = X.iloc[random.choice(len(X), QUERIES, replace=False)].copy()
    cuts = [cut for level in model.bins_[0] for cut in level]
    rows["income"] = rows["income"].astype(float)
    rows.iloc[0, 0] = random.choice(cuts) if cuts else 0.0
    rows.iloc[1, 0] = X["income"].max() + 7.5 if seed % 2 else X["income"].min() - 7.5
    if "job" in X and pd.api.types.is_string_dtype(X["job"].dtype) and X["job"].dtype == object:
        rows.iloc[2, list(X).index("job")] = NEW
    return [rows.iloc[[at]] for at in range(QUERIES)]


def goals(model, X, predicted, seed):
    """Return goals, each with a function from rows to whether the model reaches it."""
    if not hasattr(model, "classes_"):
        low, high = np.quantile(predicted, [0.2, 0.8]).tolist()
        exact = float(predicted[seed % ROWS])  # reached to the last bit
        return [
            *((AtLeast(v), lambda rows, v=v: model.predict(rows) >= v) for v in (exact, high)),
            *((AtMost(v), lambda rows, v=v: model.predict(rows) <= v) for v in (exact, low)),
        ]
    labels = model.classes_.tolist()
    shares = model.predict_proba(X)[:, -1]
    exact, high = float(shares[seed % ROWS]), float(np.quantile(shares, 0.85))
    return [
        *((label, lambda rows, label=label: model.predict(rows) == label) for label in labels),
        *(
            (
                Probability(labels[-1], at_least=share),
                lambda rows, share=share: model.predict_proba(rows)[:, -1] >= share,
            )
            for share in (exact, high)
        ),
    ]


def check(model, whole, X, seed):
    """Compare the answers of a model with the best of all rows; return how many were compared."""
    tried, explainer = 0, Explainer(whole, X, features={"flag": "numeric"} if wide(X) else None)
    parts, predicted = raws(model, X), np.asarray(whole.predict(X))
    for row in queries(model, X, seed):
        for goal, reached in goals(whole, X, predicted, seed):
            best = cheapest(parts, row.iloc[0], X.astype({"income": float}), reached, 300_000)
            if best is None:
                continue
            found = explainer.explain(row, target=goal)
            compare(found, best)
            tried += 1
    return tried


def fitted(seed, X, types, score):
    """Return a model of random settings."""
    settings = {
        **SMALL, "feature_types": types, "max_bins": 8, "max_interaction_bins": 4 + seed % 3,
        "random_state": seed, "max_rounds": [5, 25, 60][seed % 3], "min_samples_leaf": 2,
    }  # fmt: skip
    if seed % 3 == 2:
        objective = ["rmse", "poisson_deviance", "gamma_deviance"][seed // 3 % 3]
        positive = score if objective == "rmse" else np.exp(score / 4)
        return ExplainableBoostingRegressor(**settings, objective=objective).fit(X, positive)
    y = classes_of(score, 2 + seed % 3)
    labels = np.array(["no", "yes", "perhaps"])[y] if seed % 2 else y
    return ExplainableBoostingClassifier(**settings).fit(X, labels)


@pytest.mark.parametrize("seed", few_and_large(FEW, LARGE))
def test_answers_are_the_best_of_all_rows_next_to_cuts(seed):
    X, types, score = random_table(seed)
    model = fitted(seed, X, types, score)
    assert check(model, model, X, seed) > 3


@pytest.mark.parametrize("seed", few_and_large(2, LARGE))
def test_answers_are_the_best_of_whole_grids(seed):
    X, score = whole_table(seed, categories=seed % 2 == 1)
    settings = {**SMALL, "random_state": seed}
    y = classes_of(score, 2 + seed % 3 // 2)
    assert check_classes(ExplainableBoostingClassifier(**settings).fit(X, y), X, seed) > 2
    regressor = ExplainableBoostingRegressor(**settings).fit(X, score)
    assert check_predictions(regressor, X, seed) > 9
    private = DPExplainableBoostingClassifier(
        epsilon=20, max_rounds=20, n_jobs=1, outer_bags=1, random_state=seed,
        privacy_bounds=dict.fromkeys("abc", (0, 6)),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the privacy of the table
        private.fit(X, y > 0)
    check_classes(private, X, seed, queries=2)
    X = with_gaps(X[["a", "b", "c"]], seed)
    assert check_gaps(ExplainableBoostingClassifier(**settings).fit(X, y % 2), X) == 2


def steps(numbers, categories):
    """Return a step that passes categories on as text, and fills in missing numbers."""
    return make_column_transformer(
        (SimpleImputer(), numbers),
        ("passthrough", categories),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")


WRAPPED = {
    "imputed": lambda model, X: make_pipeline(
        steps([name for name in X if name != "kind"], ["kind"]), model
    ),
    "array": lambda model, X: make_pipeline(
        make_column_transformer(("passthrough", list(X)[::-1])), model
    ),
    "one-hot": lambda model, X: make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler()), model
    ),
    "voting": lambda model, X: make_pipeline(
        make_column_transformer(("drop", ["kind"]), remainder="passthrough"),
        VotingClassifier(
            [("ebm", model), ("tree", DecisionTreeClassifier(max_depth=3))], voting="soft"
        ),
    ),
    "bagging": lambda model, X: make_pipeline(
        make_column_transformer(("drop", ["kind"]), remainder="passthrough"),
        BaggingClassifier(model, 3, bootstrap=False, max_features=2, random_state=0),
    ),
    "calibrated": lambda model, X: CalibratedClassifierCV(model, cv=2, ensemble=False),
}


@pytest.mark.parametrize("wrapper", WRAPPED)
@pytest.mark.parametrize("seed", few_and_large(1, LARGE // 6))
def test_answers_of_wrapped_models_are_the_best_of_whole_grids(wrapper, seed):
    X, score = whole_table(seed, categories=True)
    ebm = ExplainableBoostingClassifier(**SMALL, random_state=seed)
    whole = WRAPPED[wrapper](ebm, X).fit(X, classes_of(score, 2))
    assert check_classes(whole, X, seed) > 2


def test_bagged_regressors_reach_exact_limits():
    X, score = whole_table(0)
    member = ExplainableBoostingRegressor(**SMALL, random_state=0)
    bagging = BaggingRegressor(member, 3, bootstrap=False, max_features=2, random_state=0)
    assert check_predictions(bagging.fit(X, score), X, 0) > 9


def small():
    """Return a frame of numbers and text, and a model of two classes."""
    X, score = whole_table(0, categories=True)
    return X, ExplainableBoostingClassifier(**SMALL, random_state=0).fit(X, classes_of(score, 2))


def test_two_numbers_stay_numbers_and_declared_categories_become_categories():
    X, score = whole_table(0, columns="ab")
    X["half"], X["code"] = np.where(X["a"] > 2, 0.5, 2.5), X["b"] // 2
    model = ExplainableBoostingClassifier(**SMALL, feature_types=["auto"] * 2 + ["nominal"] * 2)
    features = Explainer(model.fit(X, classes_of(score, 2)), X).features.features
    assert model.feature_types_in_ == ["continuous", "continuous", "nominal", "nominal"]
    assert [each.kind for each in features] == ["ordinal", "ordinal", "binary", "categorical"]
    assert features[2].values == (0.5, 2.5) and features[3].labels == tuple("0123")


def test_numbers_as_text_are_compared_as_numbers():
    X, score = whole_table(0, columns="ab")
    y = classes_of(score, 2)
    texts = X.astype({"b": str})
    model = ExplainableBoostingClassifier(**SMALL, random_state=0).fit(texts, y)
    assert model.feature_types_in_ == ["continuous", "continuous"]
    explainer = Explainer(model, texts)
    assert explainer.explain(texts.iloc[[5]]).status == "optimal"
    with pytest.raises(InputError, match="which is not one of its categories"):
        explainer.explain(texts.iloc[[5]].assign(b="2.5"))
    with pytest.raises(InputError, match="column 'b' contains 'many', but the model reads it as"):
        Explainer(model, texts.assign(b=["many", *texts["b"][1:]]))


def test_a_model_of_an_array_explains_an_array_without_warnings():
    X, score = whole_table(0, categories=True)
    values = X.to_numpy(dtype=object)
    model = ExplainableBoostingClassifier(**SMALL, random_state=0).fit(values, classes_of(score, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Explainer(model, X).explain(X.iloc[[3]])
    assert result.status == "optimal" and result.verified


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"link_": "vlogit"}, "has the link function 'vlogit', which is not supported"),
        ({"bins_": [[np.array([2.0, 1.0])]] * 4}, "cuts of feature 'a' are not ascending"),
        ({"bins_": [[np.arange(9.0)]] * 4}, "the term 'a' has no scores for some of its bins"),
        ({"predict": lambda rows: rows}, "overrides predict, which predictions depend on"),
        ({"intercept_": np.array([np.nan])}, "leaf values that are not finite"),
    ],
)
def test_changed_models_are_refused(change, words):
    X, model = small()
    vars(model).update(change)
    with pytest.raises(UnsupportedModelError, match=words):
        Explainer(model, X)


def test_models_without_two_classes_are_refused():
    X, _ = whole_table(0)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(ExplainableBoostingClassifier(), X)
    model = ExplainableBoostingClassifier(**SMALL).fit(X, np.ones(len(X)))
    with pytest.raises(UnsupportedModelError, match="fitted on a single class"):
        Explainer(model, X)


@pytest.mark.parametrize("edit", ["scale", "remove_terms", "monotonize"])
def test_edits_in_place_are_noticed(edit):
    X, model = small()
    explainer = Explainer(model, X)
    explainer.explain(X.iloc[[0]])
    if edit == "monotonize":
        model.monotonize(0, increasing=False)
    else:
        model.scale(0, 0.5) if edit == "scale" else model.remove_terms([0])
    with pytest.raises(ModelChangedError):
        explainer.explain(X.iloc[[0]])


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_a_category_is_unknown_only_if_the_model_does_not_know_it(dtype):
    X, score = whole_table(0, categories=True)
    model = ExplainableBoostingClassifier(**SMALL, random_state=0)
    model.fit(X.astype({"kind": dtype}), classes_of(score, 2))
    without = X[X["kind"] != "elm"].astype({"kind": dtype})
    explainer = Explainer(model, without)
    query = X[X["kind"] == "elm"].iloc[[0]]
    new = explainer.explain(query.assign(kind="larch"))
    assert new.status == "optimal" and new.verified
    if dtype == "object":
        assert explainer.explain(query).status == "optimal"
        return
    with pytest.raises(InputError, match="treats differently from other new values"):
        explainer.explain(query)


def test_a_category_that_differs_from_unknown_ones_in_other_rows_only_is_refused():
    X, score = whole_table(0, categories=True)
    X["kind"] = X["kind"].astype("category")
    model = ExplainableBoostingClassifier(**(SMALL | {"interactions": [(0, 3)]}), random_state=0)
    model.fit(X, classes_of(score, 2))
    assert model.term_features_[3:] == [(3,), (0, 3)]
    known, pair = model.bins_[3][0]["elm"], model.term_scores_[4]
    model.term_scores_[3][known] = model.term_scores_[3][-1]
    pair[:, known] = pair[:, -1]
    pair[-2, known] += 5.0  # where "a" is largest
    without = X[X["kind"] != "elm"].assign(
        kind=lambda rows: rows["kind"].astype(str).astype("category")
    )
    query = X[(X["kind"] == "elm") & (X["a"] < 3)].iloc[[0]]
    with pytest.raises(InputError, match="treats differently from other new values"):
        Explainer(model, without).explain(query)


def test_a_category_of_training_rows_that_the_model_does_not_know_may_be_an_answer():
    X, score = whole_table(0, categories=True)
    model = ExplainableBoostingClassifier(**SMALL, random_state=0).fit(X, classes_of(score, 2))
    others = pd.concat([X, X.head(9).assign(kind="larch")], ignore_index=True)
    assert check_classes(model, others, 0, queries=5) == 5
    query = others.iloc[[-1]]
    assert Explainer(model, others).explain(query).status == "optimal"
