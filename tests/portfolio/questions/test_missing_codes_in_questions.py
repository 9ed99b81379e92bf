"""Claims of further questions where numbers are codes for a missing value, by enumeration."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from counterfolio import AllowMissing, Around, Explainer
from tests.support.coded_tables import CODES, FEATURES, rows, table

EVERY = rows()


@pytest.fixture(scope="module", params=["forest", "xgboost", "inside"])
def asked(request):
    """An explainer, its class for every row, rows to ask about, the model, and its codes."""
    frame, label = table(1)
    features, codes = dict(FEATURES), dict(CODES)
    if request.param == "inside":  # a code that lies between numbers
        features["age"], codes["age"] = {"missing_codes": [3]}, (3.0,)
    model = RandomForestClassifier(n_estimators=5, max_depth=4, random_state=1)
    if request.param == "xgboost":
        model = XGBClassifier(n_estimators=6, max_depth=3)
    model.fit(frame, label)
    explainer = Explainer(model, frame, features)
    coded = frame[(frame["late"] < 0) & (frame["open"] < 50)].head(2)
    plain = frame[(frame["late"] >= 0) & (frame["open"] < 50)].head(1)
    other = frame[(frame["open"] > 50)].head(1)
    return explainer, model.predict(EVERY), pd.concat([coded, plain, other]), model, codes


def holds(region):
    """Which rows lie in a region."""
    return np.logical_and.reduce(
        [[region[name].holds(value) for value in EVERY[name]] for name in EVERY]
    )


@pytest.mark.slow
def test_regions_hold_and_can_not_grow(asked):
    explainer, predicted, queries, model, codes = asked
    for row in queries.to_dict("records"):
        label = model.predict(pd.DataFrame([row]))[0]
        region = explainer.region(row)
        assert region.status == "optimal"
        own = EVERY.eq(pd.Series(row)).all(axis=1).to_numpy()
        held = holds(region)
        assert held[own].all() and (predicted[held] == label).all()
        for name in EVERY:
            others = np.logical_and.reduce(
                [[region[o].holds(v) for v in EVERY[o]] for o in EVERY if o != name]
            )
            span = region[name]
            whole = EVERY[name].map(span.holds).all()
            assert whole == span.whole == (span.words == "")
            for value in set(EVERY[name]):
                near = value in codes[name] or span.lower is None
                near = near or value in (span.lower - 1, span.upper + 1)
                if not span.holds(value) and near and span.lower is not None:
                    assert (predicted[others & (EVERY[name] == value)] != label).any(), span


@pytest.mark.slow
def test_regions_of_several_answers_cover_all(asked):
    explainer, predicted, queries, model, _ = asked
    for row in queries.to_dict("records")[:3]:
        label = model.predict(pd.DataFrame([row]))[0]
        rules = [AllowMissing("late")]
        found = explainer.several(row, k=40, different="region", constraints=rules)
        reached = (predicted != label) & ((EVERY["open"] != 99) | (row["open"] == 99))
        covered = np.logical_or.reduce([holds(region) for region in found.regions])
        assert found.complete and not (reached & ~covered).any()


def test_reasons_suffice_and_all_are_needed(asked):
    explainer, predicted, queries, model, _ = asked
    for row in queries.to_dict("records"):
        label = model.predict(pd.DataFrame([row]))[0]
        reason = explainer.reasons(row)
        same = {name: (EVERY[name] == row[name]).to_numpy() for name in EVERY}
        kept = [same[name] for name in reason.features]
        assert (predicted[np.logical_and.reduce([np.ones(len(EVERY), bool), *kept])] == label).all()
        for name in reason.features:
            others = [same[other] for other in reason.features if other != name]
            rest = np.logical_and.reduce([np.ones(len(EVERY), bool), *others])
            assert (predicted[rest] != label).any()


@pytest.mark.slow
def test_robust_answers_hold_around_and_contrasts_are_between_two_rows(asked):
    explainer, predicted, queries, model, codes = asked
    for row in queries.to_dict("records"):
        label = model.predict(pd.DataFrame([row]))[0]
        found = explainer.explain_robust(row, Around({"late": 1, "age": 1}))
        if found.result.row is not None:
            answer = dict(zip(EVERY, found.result.row.values, strict=True))
            near = np.ones(len(EVERY), dtype=bool)
            for name, radius in (("late", 1), ("open", 0), ("age", 1)):
                gap = (EVERY[name] - answer[name]).abs()
                coded = EVERY[name].isin(codes[name]) | (answer[name] in codes[name])
                near &= np.where(coded, gap == 0, gap <= radius)
            assert (predicted[near] != label).all()
        far = EVERY[predicted != label].sample(1, random_state=3).iloc[0].to_dict()
        if all(v not in codes[n] or v in codes[n] for n, v in far.items()):
            contrast = explainer.contrast(row, far)
            assert contrast.status == "optimal"


def test_why_not_and_diverse_answers(asked):
    explainer, predicted, queries, model, codes = asked
    for row in queries.to_dict("records"):
        label = model.predict(pd.DataFrame([row]))[0]
        found = explainer.diverse(row, k=2)
        answers = [dict(zip(EVERY, each.row.values, strict=True)) for each in found]
        for answer in answers:
            at = EVERY.eq(pd.Series(answer)).all(axis=1).to_numpy()
            assert (predicted[at] != label).all()
            assert all(v not in codes[n] or v == row[n] for n, v in answer.items())
