"""Rounds of a run are one record."""

import pandas as pd
import pytest

from selector import logs
from selector.logs.summary import whole_runs
from tests.support.records import record


@pytest.fixture
def rounds(tmp_path):
    """Two queries of cp, one of them in three rounds, and a run of milp that had but one."""
    took = ((0, 3.0), (2, 0.25), (1, 1.0))
    made = [record("q", "cp", s, run=f"q-run-{at}", pose_s=0.5, solve_s=s / 2) for at, s in took]
    others = [record("p", "cp", 2.0), record("q", "milp", 7.0, run="q-other-0")]
    logs.append(tmp_path, [*made, *others])
    return logs.read(tmp_path)


def test_rounds_took_as_long_as_all_of_them(rounds):
    whole = whole_runs(rounds).set_index(["query", "backend"])
    assert whole["total_s"].to_dict() == {
        ("q", "cp"): 0.5 + (3.0 - 0.5) + (1.0 - 0.5),  # what is shared once, and nothing below 0
        ("p", "cp"): 2.0,
        ("q", "milp"): 7.0,
    }
    assert whole.loc[("q", "cp"), "solve_s"] == 1.5 + 0.125 + 0.5
    assert whole.loc[("q", "cp"), "run"] == "q-run-2"


def test_records_without_a_mode_are_rounds_of_each_other(rounds):
    told = whole_runs(rounds)["total_s"].tolist()
    assert whole_runs(rounds.assign(mode=None))["total_s"].tolist() == told


def test_copies_in_another_mode_are_runs_of_their_own(rounds):
    twice = pd.concat([rounds, rounds.assign(mode="session")], ignore_index=True)
    assert len(whole_runs(twice)) == 2 * len(whole_runs(rounds)) == 6
