"""Maps of models: the same answers, by the map where it reaches, kept on disk, refused in words."""

import io
import os

import numpy as np
import pandas as pd
import pytest
import xgboost

from encoders.core.errors import InputError
from encoders.search.maps.region_map import Budget
from portfolio import AtLeast, Explainer, Fixed, Increase, Less, MaxChanges, Probability
from portfolio.engine.make_maps import budget_before
from portfolio.model.oracle import Oracle
from tests.support.answers import here


@pytest.fixture(scope="module")
def boosted():
    """Three classes over numbers, and the explainer of it."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(np.round(rng.normal(size=(150, 4)), 2), columns=list("abcd"))
    y = (X["a"] + X["b"] * X["c"] > 0).astype(int) + (X["d"] > 0.8)
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3).fit(X, y)
    return Explainer(model, X), X


@pytest.fixture(scope="module")
def on_map(boosted):
    return boosted[0].with_map()


@pytest.mark.parametrize("norm", [0, 1, 2, "inf", lambda name, was, new: abs(new - was) ** 0.5])
def test_a_map_answers_as_without_whatever_the_cost(boosted, on_map, norm):
    explainer, X = boosted
    for _, x in X.head(8).iterrows():
        own, other = on_map.explain(x, norm=norm), explainer.explain(x, norm=norm)
        assert (own.backend, own.status, own.verified) == ("map", "optimal", True)
        assert own.distance == pytest.approx(other.distance, rel=1e-9)
        assert own.lower_bound == own.distance and not own.attempts
        assert own.trace and own.timings.total > 0


def test_constraints_on_single_features_are_costs(boosted, on_map):
    explainer, X = boosted
    asked = {"constraints": [Fixed("a"), Increase("b")], "weights": {"c": 3.0}}
    by = set()
    for _, x in X.head(12).iterrows():
        own, other = on_map.explain(x, **asked), explainer.explain(x, **asked)
        assert own.status == other.status
        assert own.distance == pytest.approx(other.distance, rel=1e-9)
        by.add(own.backend)
    assert "map" in by


@pytest.mark.parametrize(
    "asked",
    [{"constraints": [MaxChanges(1)]}, {"margin": 0.5}, {"target": Probability(2, at_least=0.6)},
     {"strategy": "search"}],
)  # fmt: skip
def test_what_a_map_does_not_reach_is_solved_as_without(boosted, on_map, asked):
    explainer, X = boosted
    own, other = on_map.explain(X.iloc[0], **asked), explainer.explain(X.iloc[0], **asked)
    assert own.backend != "map"
    assert (own.status, own.distance) == (other.status, pytest.approx(other.distance, rel=1e-9))


def test_what_the_model_refuses_is_solved_as_without(boosted, on_map, monkeypatch):
    _, X = boosted
    found = on_map.explain(X.iloc[0])
    answers = Oracle.answers

    def refusing(self, query, row, goal):
        if refused and (row == refused[0]).all():
            refused.clear()
            return False, None
        return answers(self, query, row, goal)

    refused = [found.counterfactual.to_numpy()]
    monkeypatch.setattr(Oracle, "answers", refusing)
    other = on_map.explain(X.iloc[0])
    assert not refused and other.backend != "map"
    assert other.distance == pytest.approx(found.distance, rel=1e-9)


def test_goals_have_maps_too(boosted):
    explainer, X = boosted
    target = Probability(1, at_least=0.7)
    own = explainer.with_map(target)
    for _, x in X.head(5).iterrows():
        result, other = own.explain(x, target), explainer.explain(x, target)
        assert result.distance == pytest.approx(other.distance, rel=1e-9)


def test_a_regressor_has_a_map_of_a_limit():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=2).fit(X, X["a"] * X["b"])
    explainer = Explainer(model, X)
    own = explainer.with_map(AtLeast(0.5))
    result = own.explain(X.iloc[0], AtLeast(0.5))
    assert result.backend == "map"
    assert result.distance == pytest.approx(explainer.explain(X.iloc[0], AtLeast(0.5)).distance)
    with pytest.raises(InputError, match="is another target for each row"):
        explainer.with_map(Less(by=0.5))


def test_a_batch_and_a_session_make_maps_themselves(boosted):
    explainer, X = boosted
    rows = X.head(12)
    plain = explainer.explain_batch(rows, executor=here)
    own = explainer.explain_batch(rows, executor=here, strategy="map")
    assert set(own["backend"]) == {"map"} and (own["status"] == "optimal").all()
    assert np.allclose(own["distance"], plain["distance"], rtol=1e-9)
    with pytest.raises(InputError, match='needs strategy="map"'):
        explainer.explain_batch(rows, executor=here, map_folder="maps")
    with pytest.raises(InputError, match=r"far more than the budget of 60 s and 1e-06 MB"):
        explainer.explain_batch(rows, executor=here, strategy="map", map_mb=1e-6)
    with pytest.raises(InputError, match="seconds"):
        explainer.explain_batch(rows, executor=here, strategy="map", map_seconds=-1.0)
    with explainer.session(1, strategy="map") as session:
        results = [session.explain(x) for _, x in rows.iterrows()]
    assert {result.backend for result in results} <= {"map", "none"}
    with pytest.raises(InputError, match="is for many rows"):
        explainer.explain(X.iloc[0], strategy="map")


def test_a_map_is_kept_by_what_it_is_of(boosted, tmp_path):
    explainer, X = boosted
    first = explainer.with_map(1, folder=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = explainer.with_map(1, folder=tmp_path)
    assert len(kept) == 1
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert str(again.map) == str(first.map)
    assert again.explain(X.iloc[0], 1).distance == first.explain(X.iloc[0], 1).distance
    explainer.with_map(1, margin=0.1, folder=tmp_path)
    explainer.with_map(2, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_batch_keeps_its_map_for_the_next(boosted, tmp_path):
    explainer, X = boosted
    settings = {"executor": here, "strategy": "map", "map_folder": tmp_path / "maps"}
    first = explainer.explain_batch(X.head(4), **settings)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "maps").iterdir()}
    again = explainer.explain_batch(X.head(4), **settings)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "maps").iterdir()} == kept != {}
    assert set(first["backend"]) == {"map"}
    assert again["distance"].tolist() == first["distance"].tolist()


def array_alone(_):
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-40], lambda b: b"", lambda b: b[::-1], lambda b: b[:60] + b"\xff" * 9 + b[69:],
     array_alone],
)  # fmt: skip
def test_a_damaged_file_is_made_anew(boosted, tmp_path, damage):
    explainer, X = boosted
    explainer.with_map(1, folder=tmp_path)
    path = next(tmp_path.iterdir())
    path.write_bytes(damage(path.read_bytes()))
    assert explainer.with_map(1, folder=tmp_path).explain(X.iloc[0], 1).backend == "map"


def test_a_file_of_another_target_and_a_pipe_are_not_taken(boosted, tmp_path):
    explainer, X = boosted
    explainer.with_map(1, folder=tmp_path / "one")
    explainer.with_map(2, folder=tmp_path / "two")
    one, two = (next((tmp_path / name).iterdir()) for name in ("one", "two"))
    two.write_bytes(one.read_bytes())
    own = explainer.with_map(2, folder=tmp_path / "two")
    assert (
        own.map.maps[0].regions.tree.shape == explainer.with_map(2).map.maps[0].regions.tree.shape
    )
    for _, x in X.head(10).iterrows():
        assert own.explain(x, 2).distance == pytest.approx(explainer.explain(x, 2).distance)
    two.unlink()
    os.mkfifo(two)
    assert explainer.with_map(2, folder=tmp_path / "two").explain(X.iloc[0], 2).backend == "map"


def test_a_map_of_another_space_or_with_other_boxes_is_not_taken(boosted, tmp_path):
    explainer, _ = boosted
    whole = explainer.with_map(1, folder=tmp_path).map
    path = next(tmp_path.iterdir())
    with np.load(path) as file:
        parts = dict(file)
    parts["tree"][-1, 0] = -2 if parts["tree"][-1, 0] == -1 else -1
    np.savez(path, **parts)
    assert str(explainer.with_map(1, folder=tmp_path).map).startswith(str(whole)[:20])
    with np.load(path) as file:
        assert (file["tree"] != parts["tree"]).any()


def test_a_map_that_is_cut_short_is_made_again_with_more(boosted, tmp_path):
    explainer, X = boosted
    whole = explainer.with_map(1)
    most = sum(len(own.regions.tree) for own in whole.map.maps)
    partly = explainer.with_map(1, megabytes=12e-6 * most / 2, folder=tmp_path)
    assert "unexplored" in str(partly.map)
    for _, x in X.head(10).iterrows():
        assert partly.explain(x, 1).distance == pytest.approx(whole.explain(x, 1).distance)
    more = explainer.with_map(1, folder=tmp_path)
    assert "unexplored" not in str(more.map)
    assert "unexplored" not in str(explainer.with_map(1, megabytes=1, folder=tmp_path).map)


def test_maps_that_are_far_too_large_are_refused_in_a_sentence(boosted):
    with pytest.raises(InputError, match=r"would have about .* boxes"):
        boosted[0].with_map(megabytes=1e-4)
    with pytest.raises(InputError, match="seconds must be a number of at least 0"):
        boosted[0].with_map(seconds=-1)


def test_categories_as_they_are_have_no_map(trades):
    with pytest.raises(InputError, match="cannot be mapped"):
        Explainer(*trades).with_map()


def test_logs_say_that_a_map_answered(boosted, on_map, tmp_path):
    from selector.logs.files import read

    on_map.explain(boosted[1].iloc[0], log=tmp_path)
    record = read(tmp_path).iloc[0]
    assert (record["backend"], record["mode"], record["status"]) == ("map", "map", "optimal")


def test_large_batches_make_a_map_where_that_saves_time(boosted, monkeypatch):
    explainer, X = boosted
    rows = X.head(6)
    monkeypatch.setattr("selector.choose.LEAST_ROWS", 6)
    assert set(explainer.explain_batch(rows.head(5), executor=here)["backend"]) != {"map"}
    monkeypatch.setattr("selector.choose.LOOKS_A_ROW", 1)
    assert set(explainer.explain_batch(rows, executor=here)["backend"]) != {"map"}
    monkeypatch.setattr("selector.choose.LOOKS_A_ROW", 1e9)
    assert set(explainer.explain_batch(rows, executor=here)["backend"]) == {"map"}
    changes = [MaxChanges(3)]
    limited = explainer.explain_batch(rows, constraints=changes, executor=here)
    assert set(limited["backend"]) != {"map"}


def test_a_large_batch_is_never_refused_for_its_map(boosted, monkeypatch):
    explainer, X = boosted
    monkeypatch.setattr("selector.choose.LEAST_ROWS", 6)
    monkeypatch.setattr("selector.choose.LOOKS_A_ROW", 1e9)
    monkeypatch.setattr("portfolio.engine.make_maps.USUAL", Budget(megabytes=1e-4))
    frame = explainer.explain_batch(X.head(6), executor=here)
    assert (frame["status"] == "optimal").all() and "map" not in set(frame["backend"])


def test_a_deadline_leaves_rows_half_of_its_seconds():
    assert budget_before(None, None, None) == budget_before(1000.0, None, None) == Budget()
    assert budget_before(3.0, None, 9.0) == Budget(seconds=1.5, megabytes=9.0)
    assert budget_before(0.0, None, None).seconds == 0
