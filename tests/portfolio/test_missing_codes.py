"""Codes for a missing value: categories beside the numbers of a column."""

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from counterfolio import (
    Allowed,
    AllowMissing,
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
    Together,
    Within,
)
from encoders.query.codec import decode_constraints, encode
from tests.support.coded_tables import CODES, FEATURES, least, table

MODELS: dict[str, Any] = {
    "forest": RandomForestClassifier(n_estimators=6, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=8, max_depth=3, min_samples_leaf=4),
    "xgboost": XGBClassifier(n_estimators=8, max_depth=3),
    "lightgbm": LGBMClassifier(n_estimators=8, max_depth=3, min_child_samples=4, verbose=-1),
    "pipeline": make_pipeline(
        StandardScaler(), RandomForestClassifier(n_estimators=6, max_depth=4, random_state=0)
    ),
}


def is_code(name: str, value: float) -> bool:
    return value in CODES[name]


def number(row: dict[str, float], name: str) -> bool:
    return not is_code(name, row[name])


def always(_row: Any, _other: Any) -> bool:
    return True


# constraints, codes that they admit, prices of these, and what an answer keeps
CASES: dict[str, tuple[list[Any], dict[str, Any], dict[str, float], Any]] = {
    "none": ([], {}, {}, always),
    "admit": ([AllowMissing("late", 0.3)], {"late": CODES["late"]}, {"late": 0.3}, always),
    "admit one": (
        [AllowMissing("late", 0.2), Allowed("late", [-7, 0, 1, 2, 3])],
        {"late": (-7.0,)},
        {"late": 0.2},
        lambda _, o: o["late"] in (-7, 0, 1, 2, 3),
    ),
    "listed": (
        [Allowed("open", [99, 0, 1])],
        {"open": (99.0,)},
        {},
        lambda _, o: o["open"] in (99, 0, 1),
    ),
    "range": ([Range("late", -10, 4)], {}, {}, lambda _, o: 0 <= o["late"] <= 4),
    "increase": (
        [Increase("late"), Fixed("open")],
        {},
        {},
        lambda r, o: (
            (o["late"] >= r["late"] if number(r, "late") else o["late"] == r["late"])
            and o["open"] == r["open"]
        ),
    ),
    "one change": (
        [MaxChanges(1), AllowMissing("open")],
        {"open": CODES["open"]},
        {"open": 1.0},
        lambda r, o: sum(r[n] != o[n] for n in r) <= 1,
    ),
    "within": (
        [Implies(Within("late", -10, 3), Within("age", 3, 9)), AllowMissing("late")],
        {"late": CODES["late"]},
        {},
        lambda _, o: not (number(o, "late") and o["late"] <= 3) or o["age"] >= 3,
    ),
    "within or a code": (
        [Forbidden(Within("late", 1, 3, codes=(-7,)), Changes("age"))],
        {},
        {},
        lambda r, o: not ((1 <= o["late"] <= 3 or o["late"] == -7) and o["age"] != r["age"]),
    ),
    "rises": (
        [Implies(Rises("open"), Changes("age")), AllowMissing("open", 0.1)],
        {"open": CODES["open"]},
        {"open": 0.1},
        lambda r, o: (
            not (number(r, "open") and number(o, "open") and o["open"] > r["open"])
            or o["age"] != r["age"]
        ),
    ),
    "becomes": (
        [Forbidden(Becomes("late", -7, 2)), AllowMissing("late", 0.1)],
        {"late": CODES["late"]},
        {"late": 0.1},
        lambda _, o: o["late"] not in (-7, 2),
    ),
    "together": (
        [Together("late", "open"), AllowMissing("late"), AllowMissing("open")],
        {"late": CODES["late"], "open": CODES["open"]},
        {},
        lambda r, o: (o["late"] != r["late"]) == (o["open"] != r["open"]),
    ),
    "sum": (
        [Linear({"late": 1, "open": 2}, "<=", 5), AllowMissing("late", 0.4)],
        {"late": CODES["late"]},
        {"late": 0.4},
        lambda _, o: (
            not (number(o, "late") and number(o, "open")) or o["late"] + 2 * o["open"] <= 5
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_optima_are_those_of_all_rows(name):
    frame, label = table(3)
    model = MODELS[name].fit(frame, label)
    explainer = Explainer(model, frame, FEATURES)
    coded = frame[(frame["late"] < 0) | (frame["open"] > 50)]
    queries = [*coded.to_dict("records")[:3], *frame.drop(coded.index).to_dict("records")[:2]]
    for at, (case, (rules, into, price, keeps)) in enumerate(CASES.items()):
        for row in queries:
            norm = (0, 1, 2, np.inf)[at % 4] if case != "sum" else 1
            best = least(model, row, norm, into, price, keeps)
            found = explainer.explain(row, norm=norm, constraints=rules)
            if best == np.inf:
                assert found.status == "infeasible", (name, case, row)
                continue
            assert found.status == "optimal", (name, case, row, str(found))
            assert found.distance == pytest.approx(best, rel=1e-9), (name, case, row, str(found))


def sentinel_table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 20, 200).astype(float), "b": rng.normal(size=200)})
    frame.loc[rng.random(200) < 0.2, "a"] = -9999
    return frame, ((frame["a"] > 9) ^ (frame["b"] > 0)).astype(int)


STEPS = [
    [],
    ["passthrough"],
    [SimpleImputer(strategy="median")],
    [SimpleImputer(add_indicator=True)],
]


@pytest.mark.parametrize("steps", STEPS)
def test_the_number_that_xgboost_takes_for_missing_is_a_code(steps):
    frame, label = sentinel_table()
    model = XGBClassifier(n_estimators=6, max_depth=3, missing=-9999)
    model = make_pipeline(*steps, model) if steps else model
    explainer = Explainer(model.fit(frame, label), frame)
    own = explainer.features.named("a")
    assert (own.codes, own.lower, own.upper) == ((-9999.0,), 0.0, 19.0)
    assert "the model treats -9999 as missing" in str(explainer.features)
    row = frame[frame["a"] == -9999].iloc[[0]]
    moved = explainer.explain(row, constraints=[Fixed("b")])
    assert moved.changed[0].cost == 1 and 0 <= moved.changed[0].after <= 19
    assert str(moved.changed[0]).startswith("Change a from -9999 (missing) to ")


@pytest.mark.parametrize("absent", [np.nan, -9999.0])
@pytest.mark.parametrize("norm", [0, 1, np.inf])
def test_a_missing_whole_number_is_filled_in_by_a_whole_number(absent, norm):
    """The median of the column, 2.5, is none that an answer may hold."""
    numbers = np.tile([0, 1, 2, 3, 4, 5, absent, absent], 20)
    frame = pd.DataFrame({"a": numbers, "b": np.repeat([0.0, 1.0, 2.0, 3.0], 40)})
    label = ~((frame["a"] >= 0) & (frame["a"] <= 3))
    model = XGBClassifier(n_estimators=2, max_depth=2, missing=absent).fit(frame, label.astype(int))
    found = Explainer(model, frame).explain(frame.iloc[[6]], norm=norm)
    assert (found.status, found.distance) == ("optimal", 1)
    assert found.changed[0].after in (0, 1, 2, 3)


def test_a_scaled_column_does_not_reach_the_model_as_its_missing_number():
    frame, label = sentinel_table()
    model = make_pipeline(StandardScaler(), XGBClassifier(n_estimators=6, missing=-9999))
    explainer = Explainer(model.fit(frame, label), frame)
    assert explainer.features.named("a").codes == ()
    assert "missing_codes" in str(explainer.features)


def test_codes_pass_files_and_the_wire(tmp_path):
    frame, label = table(3)
    model = MODELS["forest"].fit(frame, label)
    (tmp_path / "features.json").write_text(json.dumps(FEATURES))
    explainer = Explainer(model, frame, tmp_path / "features.json")
    assert explainer.features == Explainer(model, frame, FEATURES).features
    rule = Forbidden(Within("late", 1, 3, codes=[-7]), Changes("age"))
    assert decode_constraints(encode([rule]), "rules") == [rule]
    with pytest.raises(InputError, match="list of codes"):
        Within("late", 1, 3, codes=-7)


def test_a_map_names_what_it_can_not_hold():
    frame, label = table(3)
    explainer = Explainer(MODELS["forest"].fit(frame, label), frame, FEATURES)
    with pytest.raises(InputError, match="codes for a missing value"):
        explainer.session(strategy="map")


@pytest.mark.parametrize("seed", range(9))
def test_codes_beside_two_values(seed):
    """A flag with a code is binary; the query may be at the code."""
    rng = np.random.default_rng(seed)
    flag, code = [([1, 3], 2), ([0, 1], -7), ([0.0, 1.0], 9)][seed % 3]
    values = {"flag": [*flag, code], "other": [0, 1, 2]}
    frame = pd.DataFrame({name: rng.choice(own, 90) for name, own in values.items()})
    label = ((frame["flag"] == code) ^ (frame["other"] > 0)).astype(int)
    model = RandomForestClassifier(4, max_depth=4, random_state=seed).fit(frame, label)
    explainer = Explainer(model, frame, features={"flag": {"missing_codes": [code]}})
    rows = pd.DataFrame([*itertools.product(*values.values())], columns=frame.columns)
    rows = rows.astype(frame.dtypes.to_dict())
    predicted = model.predict(rows)
    for at in range(5):
        own, admitted = frame.iloc[at], [AllowMissing("flag", 0.25)] if at % 2 else []
        into = 0.25 if admitted else np.inf
        moved = np.where(rows["flag"] == code, into, 1.0)
        cost = np.where(rows["flag"] == own["flag"], 0.0, moved)
        cost = cost + abs(rows["other"] - own["other"]).to_numpy() / 2
        best = cost[predicted != model.predict(frame.iloc[[at]])[0]].min()
        found = explainer.explain(frame.iloc[[at]], constraints=admitted)
        assert found.status == ("infeasible" if best == np.inf else "optimal"), (seed, at)
        assert best == np.inf or found.distance == pytest.approx(best), (seed, at)
