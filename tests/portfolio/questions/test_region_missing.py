"""Regions and their claims where values may be missing, by enumeration through ``predict``."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from portfolio import AllowMissing, Explainer, Forbidden, Within
from tests.support.gaps import KINDS, Space
from tests.support.parts import few_and_large


def box(space, region):
    return [space.where(name, region[name].holds) for name in space.X]


def beside(space, span):
    """Values next to those of a span: nothing between them and the span."""
    others = [v for v in space.values[span.feature] if not span.holds(v)]
    if span.lower is None:
        return others
    numbers = [v for v in others if v is not None]
    above, below = (v for v in numbers if v > span.upper), (v for v in numbers if v < span.lower)
    near = [min(above, default=None), max(below, default=None)]
    return [v for v in near if v is not None] + [v for v in others if v is None]


def check(space, region, label):
    assert region.status == "optimal"
    held = box(space, region)
    assert (space.predicted[np.logical_and.reduce(held)] == label).all()
    for at, name in enumerate(space.X):
        span = region[name]
        assert span.whole == all(map(span.holds, space.values[name])) == (not span.words)
        assert span.missing == span.holds(None) == span.holds(float("nan"))
        rest = np.logical_and.reduce([own for other, own in enumerate(held) if other != at])
        for value in beside(space, span):
            assert (space.predicted[rest & space.equal(name, value)] != label).any(), span


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_and_large(len(KINDS), 60))
def test_every_claim_of_a_region_holds_where_values_may_be_missing(seed):
    space = Space(seed)
    check(space, space.explainer.region(space.x), space.own)


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_and_large(len(KINDS), 60))
def test_regions_of_several_answers_cover_every_answer(seed):
    space = Space(seed)
    given = [name for name in space.X if space.x[name].notna().item()]
    free = [name for name in given if space.rng.random() < 0.6]
    found = space.explainer.several(
        space.x, k=15, different="region", constraints=[AllowMissing(name) for name in free]
    )
    reached = space.predicted != space.own
    for name in set(given) - set(free):
        reached &= ~space.equal(name, None)
    covered = np.zeros(len(space.rows), dtype=bool)
    for answer, region in zip(found, found.regions, strict=False):
        check(space, region, answer.target)
        held = [all(own[n].holds(v) for n, v in values(space, answer)) for own in found.regions]
        assert held.index(True) == found.regions.index(region)
        covered |= np.logical_and.reduce(box(space, region))
    assert not found.complete or not (reached & ~covered).any()


def values(space, answer):
    """Names and values of an answer, None where it has none."""
    row = answer.counterfactual
    for name in space.X:
        value = np.ravel(row[name])[0]
        yield name, None if pd.isna(value) else value


@pytest.mark.parametrize("missing", [False, True])
def test_within_may_hold_a_missing_value(missing):
    space = Space(0)
    low, high = space.values["quarter"][1], space.values["quarter"][3]
    found = space.explainer.explain(
        space.x,
        constraints=[
            Forbidden(Within("quarter", low, high, missing)),
            AllowMissing("quarter"),
            AllowMissing("whole"),
            AllowMissing("label"),
        ],
    )
    reached = space.predicted != space.own
    kept = space.where("quarter", lambda v: not missing if v is None else not low <= v <= high)
    assert (found.counterfactual is not None) == (reached & kept).any()
    if found.counterfactual is not None:
        value = dict(values(space, found))["quarter"]
        assert not missing if value is None else not low <= value <= high


@pytest.mark.slow
@pytest.mark.parametrize("labels", [[10, 11, 12], [1.0, 2.0, 2.5], [True, False], ["a", "b"]])
def test_a_region_holds_the_categories_of_its_own_row(labels):
    column = pd.Categorical([labels[at % len(labels)] for at in range(60)])
    X = pd.DataFrame({"kind": column, "size": np.repeat([0.0, 0.5, 1.0], 20)})
    model = HistGradientBoostingClassifier(
        max_iter=2, categorical_features="from_dtype", early_stopping=False
    )
    explainer = Explainer(model.fit(X, X["size"] > 0.6), X)
    for at in range(len(labels)):
        assert explainer.region(X.iloc[[at]])["kind"].holds(X["kind"].iloc[at])


@pytest.mark.slow
def test_a_span_holds_new_categories_where_the_model_decides_alike_for_them():
    X = pd.DataFrame({"a": ["p", "q", "r"] * 20, "b": [0, 1, 2, 3] * 15})
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, ["a"]), ("passthrough", ["b"]))
    tree = DecisionTreeClassifier(random_state=0)
    model = make_pipeline(columns, tree).fit(X, (X.a == "p") & (X.b > 1))
    row = pd.DataFrame({"a": ["new"], "b": [3]})
    span = Explainer(model, X).region(row, order=["b", "a"])["a"]
    for value in ("p", "q", "r", "new", "another"):
        alike = model.predict(row.assign(a=value)) == model.predict(row)
        assert span.holds(value) == alike.item(), value
    assert span.holds(span.own)
