"""Logs as a scenario of ASlib."""

import pandas as pd
import pytest

from encoders.core.errors import InputError
from selector.logs.aslib import export

FILES = {
    "description.txt", "algorithm_runs.arff", "feature_values.arff", "feature_costs.arff",
    "cv.arff",
}  # fmt: skip


def test_a_scenario_has_all_its_files(frame, tmp_path):
    assert export(frame, tmp_path) == 3
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_every_solo_run_is_there(frame, tmp_path):
    export(frame, tmp_path)
    runs = (tmp_path / "algorithm_runs.arff").read_text().split("@DATA\n")[1].splitlines()
    assert sorted(runs)[0] == "a,1,cp,1,ok" and len(runs) == 6


def test_a_query_that_was_asked_twice_is_there_once(frame, tmp_path):
    again = frame.assign(run=frame["run"] + "-again", total_s=9.0)
    export(pd.concat([frame, again], ignore_index=True), tmp_path)
    runs = (tmp_path / "algorithm_runs.arff").read_text().split("@DATA\n")[1].splitlines()
    assert len(runs) == 6 and all(",1,ok" in run for run in runs)


def test_rounds_of_a_run_take_as_long_as_all_of_them(frame, tmp_path):
    rounds = [frame[frame["mode"] == "solo"].assign(run=lambda own: own["query"] + own["backend"])]
    rounds = [rounds[0].assign(run=rounds[0]["run"] + f"-{at}") for at in range(3)]
    export(pd.concat(rounds, ignore_index=True), tmp_path)
    runs = (tmp_path / "algorithm_runs.arff").read_text().split("@DATA\n")[1].splitlines()
    assert sorted(runs)[0] == "a,1,cp,3,ok" and len(runs) == 6


def test_without_solo_runs_there_is_no_scenario(frame, tmp_path):
    with pytest.raises(InputError, match="no run of a backend alone"):
        export(frame[frame["mode"] == "session"], tmp_path / "none")
    assert not (tmp_path / "none").exists()
