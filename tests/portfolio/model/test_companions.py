"""Isolation forests and further models over raw tables, against brute force with every predict."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

from encoders.backends.registry import all_backends
from portfolio import Explainer, Plausibility
from tests.support import category_tables
from tests.support.companions import asked_about, by_default, compare, joined, said
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
    numbers = KBinsDiscretizer(5, encode="ordinal", strategy="uniform", quantile_method="linear")
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


def plausible_pipeline(seed):
    X, y = loans(seed, gaps=seed % 2 == 0)
    X = thinned(X)
    model = encoded(FORMS[seed % 2], LAST[seed % len(LAST)](seed)).fit(X, y)
    target, places = asked_about([model], X, seed)
    plausibility = forest_of(seed, X, y)
    forest = plausibility.forest_of(target)
    own = seed % 3 == 2
    by_value = ("age",) if own and seed % 2 else ()
    of_forest = raws(forest, X, by_value) if own else by_default(forest, X)
    explainer = Explainer(model, X, plausibility=plausibility)
    return (
        explainer,
        joined(raws(model, X, by_value), of_forest),
        X,
        [model],
        forest,
        target,
        places,
    )


NATIVE = ("xgboost", "lightgbm", "histograms", "catboost")
PLAIN = ("forest", "xgboost", "lightgbm", "histograms", "zero_as_missing", "missing=0")


def plausible_table(seed):
    kind = NATIVE[seed // 2 % 4] if seed % 2 else PLAIN[seed // 2 % len(PLAIN)]
    categories = seed % 2 == 1
    gaps = seed % 5 < 3
    X, y = category_tables.table(seed, gaps, categories)
    model = category_tables.fitted(kind, seed, X, y)
    target, places = asked_about([model], X, seed)
    labels = said(model, X)
    if gaps and not categories:  # the forest itself takes what is missing
        own = IsolationForest(n_estimators=3, max_samples=6, contamination=0.3, random_state=seed)
        plausibility = Plausibility(own.fit(X[labels == target]))
    else:
        plausibility = Plausibility.fit(X, labels, 0.4, n_estimators=2, seed=seed)
    forest = plausibility.forest_of(target)
    parts = joined(category_tables.raws(model, X, kind), by_default(forest, X))
    explainer = Explainer(model, X, plausibility=plausibility)
    return explainer, parts, X, [model], forest, target, places


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
    explainer = Explainer(models[0], X, also=models[1:])
    return explainer, parts, X, models, None, *asked_about(models, X, seed)


def also_tables(seed):
    categories = seed % 2 == 0
    X, y = category_tables.table(seed, seed % 3 > 0, categories)
    y = pd.Series(y).map({"no": 0, "yes": 1, "perhaps": 2}).to_numpy()
    kinds = NATIVE if categories else PLAIN
    chosen = [kinds[(seed + 2 * at + seed // 5) % len(kinds)] for at in range(2 + seed % 2)]
    models = [fitted(kind, seed + at, X, y) for at, kind in enumerate(chosen)]
    columns = zip(models, chosen, strict=True)
    parts = joined(*(category_tables.raws(model, X, kind) for model, kind in columns))
    explainer = Explainer(models[0], X, also=models[1:])
    return explainer, parts, X, models, None, *asked_about(models, X, seed)


def fitted(kind, seed, X, y):
    names = np.array(["no", "yes", "perhaps"])
    if kind == "xgboost":
        return category_tables.fitted(kind, seed, X, names[y])
    return category_tables.fitted(kind, seed, X, y)


KINDS = (plausible_pipeline, plausible_table, also_pipelines, also_tables)


def outcomes(kind, seed):
    explainer, parts, X, models, forest, target, places = kind(seed)

    def accepted(rows):
        good = np.all([said(model, rows) == target for model in models], axis=0)
        return good if forest is None else good & (said(forest, rows) == 1)

    for at, place in enumerate(places):
        backend = BACKENDS[(seed + at) % len(BACKENDS)]
        yield compare(explainer, parts, X, place, target, accepted, backend)


@pytest.mark.parametrize("part", few_and_large(1, 9))
@pytest.mark.parametrize("kind", KINDS)
def test_optimum_equals_brute_force(kind, part):
    seeds = range(2) if part == 0 else range(6 * part, 6 * part + 6)
    seen = [outcome for seed in seeds for outcome in outcomes(kind, seed)]
    assert seen.count("optimal") >= 1, seen
