"""Optima of queries with categories that no training row has, against all rows of small tables."""

import itertools

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from counterfolio import (
    Allowed,
    AllowedPairs,
    Becomes,
    Changes,
    Explainer,
    Forbidden,
    Implies,
    InputError,
    JointCost,
)
from tests.support.parts import few_and_large

FEW, LARGE = 6, 60
NEW = "(new)"
SIZES = range(6)
LABELS = {"text": ["a", "b", "c", "d", "e"], "numbers": [-2, 0, 3, 5, 8]}
MODELS = {
    "catboost": lambda seed: catboost.CatBoostClassifier(
        iterations=4, depth=3, verbose=False, one_hot_max_size=9, cat_features=["kind"],
        allow_writing_files=False, random_seed=seed, thread_count=1,
        grow_policy=["SymmetricTree", "Depthwise", "Lossguide"][seed % 3],
    ),
    "lightgbm": lambda seed: lightgbm.LGBMClassifier(
        n_estimators=4, verbose=-1, min_child_samples=2, min_data_per_group=1, cat_smooth=0.0,
    ),
    "histogram": lambda seed: HistGradientBoostingClassifier(
        max_iter=4, min_samples_leaf=2, categorical_features="from_dtype",
    ),
    "xgboost": lambda seed: xgboost.XGBClassifier(
        n_estimators=4, max_depth=3, enable_categorical=True, max_cat_to_onehot=1 + 8 * (seed % 2),
    ),
}  # fmt: skip


def steps():
    """Return a step that computes numbers and passes categories on."""
    return make_column_transformer(
        (SimpleImputer(), ["size"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")


def fitted(library, seed, random, piped=False):
    """Return a model of a category and a number, its frame without one category, and that one."""
    labels = LABELS[["text", "numbers"][seed % 2]]
    effect = random.normal(size=len(labels))
    index, size = random.integers(len(labels), size=160), random.integers(len(SIZES), size=160)
    y = (effect[index] + (size - 2.5) / 2 * random.choice([-1, 1]) > 0).astype(int)
    kind = pd.Categorical([labels[at] for at in index], categories=labels)
    X = pd.DataFrame({"kind": kind, "size": size.astype(float)})
    model = MODELS[library](seed)
    if piped:
        X = X.astype({"kind": object})
        model = make_pipeline(steps(), model)
    model.fit(X, y)
    unseen = labels[int(random.integers(len(labels)))]
    return model, X[X["kind"] != unseen], labels, unseen


def rules_of(random, known):
    """Constraints that name the unseen category, joint costs, and the test's reading of them.

    Parameters
    ----------
    random : generator of random numbers
    known : labels of training rows
    """
    one, other = random.choice(len(known), 2, replace=False)
    size = float(random.integers(len(SIZES)))
    pairs = [(NEW, size), (known[one], size), (known[other], 5.0 - size)]
    return [
        ([Allowed("kind", [NEW, known[one]])], lambda k, _: k in (NEW, known[one])),
        ([Forbidden(Becomes("kind", NEW))], lambda k, _: k != NEW),
        (
            [Implies(Becomes("kind", NEW), Changes("size"))],
            lambda k, moved: k != NEW or moved[1],
        ),
        (
            [AllowedPairs("kind", "size", pairs)],
            lambda k, moved: (k, moved[0]) in pairs,
        ),
        ([JointCost("kind", "size", {(NEW, s): 0.3 for s in SIZES})], None),
    ]  # fmt: skip


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("seed", few_and_large(FEW, LARGE))
def test_the_unseen_category_stays_or_becomes_a_known_one_at_least_cost(library, seed):
    random = np.random.default_rng(seed)
    model, X, labels, unseen = fitted(library, seed, random)
    explainer = Explainer(model, X)
    grid = list(itertools.product(labels, SIZES))
    rows = pd.DataFrame(grid, columns=X.columns).astype(X.dtypes)
    rows["kind"] = pd.Categorical(rows["kind"], categories=labels)
    decided = model.predict(rows)
    known = [label for label in labels if label != unseen]
    now = grid.index((unseen, int(random.integers(len(SIZES)))))
    for rules, keeps in [([], None), *rules_of(random, known)]:
        costs, priced = [], any(isinstance(rule, JointCost) for rule in rules)
        for (kind, size), label in zip(grid, decided, strict=True):
            named = NEW if kind == unseen else kind
            moved = float(size), size != grid[now][1]
            if label == decided[now] or (keeps and not keeps(named, moved)):
                continue
            joint = 0.3 if priced and named == NEW and moved[1] else 0.0
            costs.append((kind != unseen) + abs(size - grid[now][1]) / 5 + joint)
        found = explainer.explain(rows.iloc[[now]], constraints=rules)
        assert found.status == ("optimal" if costs else "infeasible"), (library, seed, rules)
        assert not costs or found.distance == pytest.approx(min(costs)), (library, seed, rules)


@pytest.mark.parametrize("piped", [False, True], ids=["alone", "behind steps"])
@pytest.mark.parametrize("seed", few_and_large(2 * FEW, LARGE))
def test_a_category_that_only_the_model_knows_is_refused_or_read_as_it_is(seed, piped):
    """Some trees of CatBoost test it in one branch only, so that it seems unknown elsewhere."""
    random = np.random.default_rng(seed)
    model, X, labels, unseen = fitted("catboost", seed, random, piped)
    explainer = Explainer(model, X.astype({"kind": object}))
    grid = list(itertools.product(labels, SIZES))
    rows = pd.DataFrame(grid, columns=X.columns).astype({"kind": object, "size": float})
    decided = model.predict(rows)
    for now in (at for at, (kind, _) in enumerate(grid) if kind == unseen):
        costs = [
            (kind != unseen) + abs(size - grid[now][1]) / 5
            for (kind, size), label in zip(grid, decided, strict=True)
            if label != decided[now]
        ]
        try:
            found = explainer.explain(rows.iloc[[now]])
        except InputError as error:
            assert "treats differently from other new values" in str(error)
            continue
        assert found.status == ("optimal" if costs else "infeasible"), seed
        assert not costs or found.distance == pytest.approx(min(costs)), seed
