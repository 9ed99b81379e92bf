"""Isolation forests and further models over raw tables, against brute force with every predict."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBRegressor

from encoders.backends.registry import all_backends
from portfolio import (
    Around,
    AtLeast,
    Explainer,
    InputError,
    Plausibility,
    Probability,
    Retraining,
    Score,
    UnsupportedModelError,
)
from tests.support import category_tables
from tests.support.companions import by_default, compare, joined, said
from tests.support.parts import few_and_large
from tests.support.pipelines import loans, raws

pytestmark = pytest.mark.usefixtures("lawful_problems")
BACKENDS = ["auto", *(backend.name for backend in all_backends())]
FORMS = ("text", "labels", "one-hot age")
LAST = (
    lambda seed: RandomForestClassifier(3, max_depth=3, random_state=seed),
    lambda seed: GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=seed),
    lambda seed: LGBMClassifier(n_estimators=3, max_depth=3, verbose=-1, min_child_samples=5),
    lambda seed: HistGradientBoostingClassifier(max_iter=3, max_depth=3),
)


def encoded(form, last):
    """A pipeline over the loans; gaps are filled, and age is a number or a category."""
    words = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )
    if form != "labels":
        words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    by_value = ["job", "age"] if form == "one-hot age" else ["job"]
    numbers = KBinsDiscretizer(5, encode="ordinal", strategy="uniform")
    if form != "labels":
        numbers = StandardScaler()
    fill = SimpleImputer(strategy="median", add_indicator=form == "text")
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(fill, numbers), ["income"]),
            (words, by_value),
            remainder="passthrough",
            sparse_threshold=0.0,
        ),
        last,
    )


def forest_of(seed, X, y):
    """An isolation forest over raw rows: as it is fitted by default, or of the user's own."""
    if seed % 3 == 2:
        own = IsolationForest(n_estimators=2, max_samples=8, contamination=0.3, random_state=seed)
        return Plausibility(encoded("one-hot age" if seed % 2 else "text", own).fit(X))
    return Plausibility.fit(X, y, contamination=0.4, n_estimators=2, seed=seed)


def thinned(X):
    """Few ages, so that brute force has few rows."""
    return X.assign(age=20 + X.age // 14 % 4)


@dataclass(frozen=True)
class Case:
    """An explainer, and what an answer has to be as the test sees it."""

    explainer: Explainer
    X: pd.DataFrame
    parts: list
    target: object
    accepted: Callable


def unanimous(models, target, forest=None):
    def accepted(rows):
        good = np.all([said(model, rows) == target for model in models], axis=0)
        return good if forest is None else good & (said(forest, rows) == 1)

    return accepted


def some_class(model, X, seed):
    labels = sorted(set(said(model, X).tolist()))
    return labels[seed % len(labels)]


def plausible_pipeline(seed):
    X, y = loans(seed, gaps=seed % 2 == 0)
    X = thinned(X)
    model = encoded(FORMS[seed % 2], LAST[seed % len(LAST)](seed)).fit(X, y)
    target = some_class(model, X, seed)
    plausibility = forest_of(seed, X, y)
    forest = plausibility.forest_of(target)
    own = seed % 3 == 2
    by_value = ("age",) if own and seed % 2 else ()
    of_forest = raws(forest, X, by_value) if own else by_default(forest, X)
    parts = joined(raws(model, X, by_value), of_forest)
    explainer = Explainer(model, X, plausibility=plausibility)
    return Case(explainer, X, parts, target, unanimous([model], target, forest))


NATIVE = ("xgboost", "lightgbm", "histograms", "catboost")
PLAIN = ("forest", "xgboost", "lightgbm", "histograms", "zero_as_missing", "missing=0")


def plausible_table(seed):
    kind = NATIVE[seed // 2 % 4] if seed % 2 else PLAIN[seed // 2 % len(PLAIN)]
    categories = seed % 2 == 1
    gaps = seed % 5 < 3 and kind != "catboost"  # which takes none among categories
    X, y = category_tables.table(seed, gaps, categories)
    model = category_tables.fitted(kind, seed, X, y)
    target = some_class(model, X, seed)
    labels = said(model, X)
    if gaps and not categories:  # the forest itself takes what is missing
        own = IsolationForest(n_estimators=3, max_samples=6, contamination=0.3, random_state=seed)
        plausibility = Plausibility(own.fit(X[labels == target]))
    else:
        few = pd.Series(labels).groupby(labels).head(12).index
        plausibility = Plausibility.fit(X.iloc[few], labels[few], 0.4, n_estimators=2, seed=seed)
    forest = plausibility.forest_of(target)
    parts = joined(category_tables.raws(model, X, kind), by_default(forest, X))
    explainer = Explainer(model, X, plausibility=plausibility)
    return Case(explainer, X, parts, target, unanimous([model], target, forest))


def also_pipelines(seed):
    X, y = loans(seed, gaps=seed % 2 == 0)
    X = thinned(X)
    forms = [FORMS[(seed + at) % 3] for at in range(2 + seed % 2)]
    models = [
        encoded(form, LAST[(seed + at) % len(LAST)](seed + at)).fit(X, y)
        for at, form in enumerate(forms)
    ]
    by_value = ("age",) if "one-hot age" in forms else ()
    parts = joined(*(raws(model, X, by_value) for model in models))
    target = some_class(models[0], X, seed)
    explainer = Explainer(models[0], X, also=models[1:])
    return Case(explainer, X, parts, target, unanimous(models, target))


def also_tables(seed):
    categories = seed % 2 == 0
    kinds = NATIVE if categories else PLAIN
    chosen = [kinds[(seed // 2 + at * (1 + seed // 8)) % len(kinds)] for at in range(2 + seed % 2)]
    gaps = seed % 3 > 0 and "catboost" not in chosen
    X, y = category_tables.table(seed, gaps, categories)
    y = pd.Series(y).map({"no": 0, "yes": 1, "perhaps": 2}).to_numpy()
    models = [fitted(kind, seed + at, X, y) for at, kind in enumerate(chosen)]
    columns = zip(models, chosen, strict=True)
    parts = joined(*(category_tables.raws(model, X, kind, chosen[0]) for model, kind in columns))
    target = some_class(models[0], X, seed)
    explainer = Explainer(models[0], X, also=models[1:])
    return Case(explainer, X, parts, target, unanimous(models, target))


def fitted(kind, seed, X, y):
    names = np.array(["no", "yes", "perhaps"])
    if kind == "xgboost":
        return category_tables.fitted(kind, seed, X, names[y])
    return category_tables.fitted(kind, seed, X, y)


REGRESSORS = (
    lambda seed: RandomForestRegressor(3, max_depth=3, random_state=seed),
    lambda seed: LGBMRegressor(n_estimators=4, max_depth=3, verbose=-1, min_child_samples=5),
    lambda seed: HistGradientBoostingRegressor(max_iter=4, max_depth=3),
    lambda seed: XGBRegressor(n_estimators=4, max_depth=3),
)


def also_numbers(seed):
    """A probability that all classifiers give, or a prediction that all regressors make."""
    X, y = category_tables.table(seed, seed % 3 > 0 and seed % 4 > 1, False)
    if seed % 2:
        price = (3 * X.income.fillna(0) + X.debt).to_numpy()
        models = [REGRESSORS[(seed // 2 + at) % 4](seed).fit(X, price) for at in range(2)]
        low = float(np.quantile(price, 0.7))
        target = AtLeast(low)
        numbers = [model.predict for model in models]
    else:
        kinds = [PLAIN[(seed // 2 + at) % 4] for at in range(2 + seed % 4 // 2)]
        models = [fitted(kind, seed, X, (y == "yes").astype(int)) for kind in kinds]
        numbers = [lambda rows, m=m: m.predict_proba(rows)[:, 1] for m in models]
        low = float(np.quantile(np.min([number(X) for number in numbers], axis=0), 0.7))
        target = Probability(1, at_least=low)  # one of them gives just that

    def accepted(rows):
        given = [np.asarray(number(rows), dtype=np.float64) for number in numbers]
        return np.all([own >= low for own in given], axis=0)

    parts = joined(*(category_tables.raws(model, X, "") for model in models))
    return Case(Explainer(models[0], X, also=models[1:]), X, parts, target, accepted)


KINDS = (plausible_pipeline, plausible_table, also_pipelines, also_tables, also_numbers)


def outcomes(kind, seed):
    case = kind(seed)
    rows = np.flatnonzero(~case.accepted(case.X))
    places = np.random.default_rng(seed).permutation(rows)[:3].tolist()
    for at, place in enumerate(places):
        backend = BACKENDS[(seed + at) % len(BACKENDS)]
        asked = (case.parts, case.X, place, case.target, case.accepted, backend)
        yield compare(case.explainer, *asked)


@pytest.mark.slow
@pytest.mark.parametrize("part", few_and_large(1, 34))
@pytest.mark.parametrize("kind", KINDS)
def test_optimum_equals_brute_force(kind, part):
    slow = kind in (plausible_pipeline, also_pipelines)
    seeds = range(slow, 2) if part == 0 else range(6 * part, 6 * part + 6)
    seen = [outcome for seed in seeds for outcome in outcomes(kind, seed)]
    assert part == 0 or seen.count("optimal") >= 1, seen


@pytest.fixture(scope="module")
def lent():
    X, y = loans(0, gaps=False)
    return X, y, encoded("text", LAST[0](0)).fit(X, y)


def test_further_models_that_do_not_fit_are_told(lent):
    X, y, model = lent
    numbers = X[["age", "income"]]
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(numbers, y)
    price = RandomForestRegressor(3, random_state=0).fit(numbers, numbers.age)
    turned = RandomForestClassifier(3, random_state=0).fit(numbers[["income", "age"]], y)
    others = RandomForestClassifier(3, random_state=0).fit(numbers, y == "granted")
    narrow = RandomForestClassifier(3, random_state=0).fit(numbers[["age"]].to_numpy(), y)
    boosting = LGBMClassifier(n_estimators=2, verbose=-1).fit(numbers, y)
    soft = VotingClassifier([("a", boosting), ("b", boosting)], voting="soft").fit(numbers, y)
    for also, error, words in (
        (price, InputError, r"also\[0\].*is a regressor, but the explained model is a classifier"),
        (turned, InputError, r"also\[0\].*other columns than the model, or in another order"),
        (others, InputError, r"also\[0\].*does not know the class 'granted'"),
        (model, InputError, r"also\[0\] \(Pipeline\) was fitted on other columns"),
        (narrow, UnsupportedModelError, r"also\[0\].*takes 1 columns, the model 2"),
        (soft, UnsupportedModelError, r"also\[0\].*combines several score sums"),
        (PCA().fit(numbers), UnsupportedModelError, r"also\[0\].*PCA cannot be read exactly"),
    ):
        with pytest.raises(error, match=words):
            Explainer(forest, numbers, also=[also])
    with pytest.raises(InputError, match="also must be a list of models"):
        Explainer(forest, numbers, also=forest)


@pytest.mark.slow
def test_questions_about_one_models_decisions_are_refused(lent):
    X, y, model = lent
    other = encoded("labels", LAST[2](0)).fit(X, y)
    explainer = Explainer(model, X, also=[other])
    row = X[model.predict(X) == "refused"].iloc[:1]
    granted = X[(model.predict(X) == "granted") & (other.predict(X) == "granted")].iloc[:1]
    for ask in (
        explainer.reason_codes,
        lambda x: explainer.contrast(x, granted),
        lambda x: explainer.robustness_batch(x, 1.0),
        lambda x: explainer.explain_robust(x, Retraining(0.9)),
        lambda x: explainer.reasons(x, Probability("granted", at_most=0.9)),
    ):
        with pytest.raises(InputError, match=r"one model only.*without further models \(also=\)"):
            ask(row)
    for ask in (
        lambda: explainer.robustness(granted, "refused"),
        lambda: explainer.explain_robust(row, Around({"income": 5})),
        lambda: explainer.reasons(X[model.predict(X) != other.predict(X)].iloc[:1]),
    ):
        with pytest.raises(InputError, match="target"):
            ask()
    with pytest.raises(InputError, match="limits the score of one model"):
        both = Explainer(
            LAST[1](0).fit(X[["age"]], y), X[["age"]], also=[LAST[0](0).fit(X[["age"]], y)]
        )
        both.explain(X[["age"]].iloc[0], target=Score(low=0.0))


@pytest.mark.slow
def test_it_is_told_that_further_models_rule_every_answer_out(lent):
    X, y, _ = lent
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    own = encoded("text", tree).fit(X, y)
    contrary = encoded("text", clone(tree)).fit(X, np.where(y == "granted", "refused", "granted"))
    explainer = Explainer(own, X, also=[contrary])
    row = X[own.predict(X) == "refused"].iloc[:1]
    assert explainer.explain(row, target="granted").status == "infeasible"
    found = explainer.why_not(row, target="granted")
    assert [member.kind for member in found.conflict] == ["also"]


def test_a_session_asks_every_model(lent):
    X, y, model = lent
    other = encoded("labels", LAST[1](1)).fit(X, y)
    explainer = Explainer(model, X, also=[other])
    row = X[(model.predict(X) == "refused")].iloc[:1]
    found = explainer.session(target="granted", strategy="cp").explain(row)
    assert found.distance == pytest.approx(explainer.explain(row, target="granted").distance)
    for own in (model, other):
        assert own.predict(found.counterfactual).tolist() == ["granted"]
