"""What is logged of answers."""

import os

import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer
from portfolio.engine.logbook import Logbook
from selector import logs
from selector.logs.summary import whole_runs


def solo(frame):
    return frame[frame["mode"] == "solo"]


@pytest.fixture(scope="module")
def frame(real_logs):
    return logs.read(real_logs)


@pytest.mark.slow
def test_records_are_right(frame):
    assert logs.check(frame) == [] and frame["run"].is_unique


def test_every_way_to_ask_has_its_mode(frame):
    assert set(frame["mode"]) == {"solo", "plain", "race", "session"}
    assert set(frame["backend"]) <= {"search", "cp", "reduce"}


def test_a_logbook_names_the_data_set(frame):
    assert set(solo(frame)["dataset"]) == {"credit"}


def test_what_was_not_cut_off_is_optimal(frame):
    assert (frame["status"] == "optimal").all() or frame["censored"].any()


def test_the_model_and_its_features_are_described(frame, explainer):
    first = frame.iloc[0]
    kinds = [feature.kind for feature in explainer.features.features]
    assert (first["numeric"], first["categorical"]) == (kinds.count("numeric"), 1)
    assert (first["trees"], first["classes"]) == (8, 2)
    assert not first["votes"] and not first["boosted"]


def test_records_of_a_query_tell_the_same_row(frame):
    assert (frame.groupby("query")["row"].nunique() == 1).all() and (frame["row"] != "").all()


def test_the_machine_is_told(frame):
    (machine,) = set(frame["machine"])
    assert f"{os.cpu_count()} cores" in machine


def test_times_add_up(frame):
    alone = frame[frame["mode"] != "race"]
    parts = alone[["pose_s", "reduce_s", "build_s", "solve_s", "verify_s"]].sum(axis=1)
    assert (parts <= alone["total_s"] * 1.05 + 0.005).all()


def test_the_whole_problem_is_not_reduced(frame):
    whole = frame[frame["mode"] == "plain"]
    assert (whole["reduce_s"] == 0).all() and (whole["left_options"] > 0).all()


def test_memory_and_time_beyond_the_limit_are_told(frame):
    assert (frame["stop_s"].dropna() >= 0).all()
    assert (frame.loc[frame["mode"] == "plain", "peak_bytes"] > 10**7).all()


def test_an_interrupted_loser_is_censored(explainer, credit, tmp_path):
    rows = [row for _, row in credit[1].iterrows() if explainer.predict(row) == "refused"][:8]
    for row in rows:
        explainer.explain(row, "granted", strategy=["cp:plain", "milp"], log=tmp_path)
        explainer.explain(row, "granted", strategy="cp", log=tmp_path)
    frame = logs.read(tmp_path)
    raced = frame[frame["mode"] == "race"]
    for _, group in raced.groupby("race"):
        assert (group["status"] == "optimal").any()
        losers = group[group["stop_reason"] == "interrupted"]
        assert losers["censored"].all() and losers["stop_s"].isna().all()
    assert not raced.loc[raced["stop_reason"] == "proved", "censored"].any()


def test_a_log_that_cannot_be_written_costs_no_answer(explainer, refused):
    with pytest.warns(UserWarning, match="can't write logs to /proc/nothing"):
        result = explainer.explain(refused, "granted", log="/proc/nothing")
    assert result.status == "optimal"


def test_own_norms_are_questions_of_their_own(explainer, refused, tmp_path):
    for factor in (1.0, 5.0):
        log = Logbook(tmp_path)
        explainer.explain(refused, norm=lambda f, a, b, k=factor: k * (a != b), log=log)
    frame = logs.read(tmp_path)
    assert frame["query"].nunique() == 2 and logs.check(frame) == []


@pytest.mark.slow
def test_solves_of_several_classes_count_as_one_run(tmp_path):
    X, y = load_digits(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    explainer = Explainer(forest, X)
    for place in range(20):
        result = explainer.explain(X.iloc[[place]], threads=1, time_limit_s=5.0, log=tmp_path)
        if len(result.attempts) > 1:
            break
    frame = logs.read(tmp_path)
    several = frame[frame["query"] == frame["query"].iloc[-1]]
    assert len(several) == len(result.attempts) > 1
    [run] = whole_runs(several).itertuples()
    assert run.total_s == pytest.approx(result.timings.total, rel=0.3)
    assert run.total_s > several["total_s"].max()
