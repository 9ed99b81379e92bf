"""Logs as a scenario of ASlib."""

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
