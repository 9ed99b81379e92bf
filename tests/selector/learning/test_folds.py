"""What is learned from, and what judges."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.core.errors import InputError
from selector.learning.evaluate import MOST_FOLDS, check_left_out, folds_of, joined_evenly
from tests.support.records import record


@pytest.fixture
def four(learned_from):
    """Of two norms and two data sets; one of them with a kept model, which came first."""
    return learned_from(
        record("a", "cp", 1.0, "x", time="2026-01-02", norm="0"),
        record("bb", "cp", 1.0, "y", time="2026-01-03"),
        record("ccc", "cp", 1.0, "x", time="2026-01-04", plausible=True),
        record("dddd", "cp", 1.0, "y", mode="session", time="2026-01-01"),
    )  # fmt: skip


@pytest.mark.parametrize(("by", "count"), [("data-set", 2), ("question-type", 4), ("norm", 2)])
def test_every_row_judges_what_its_group_had_no_part_in(four, by, count):
    folds = folds_of(four, by)
    assert len(folds) == count
    assert np.sum([fold.test for fold in folds], axis=0).tolist() == [1] * 4
    assert not any((fold.train & fold.test).any() for fold in folds)


def test_types_of_questions_say_what_records_tell(four):
    kinds = set(four.questions.tolist())
    assert len(kinds) == 4
    assert any(kind.startswith("norm 0, votes") for kind in kinds)
    assert any(kind.endswith("plausible") for kind in kinds)
    assert any(kind.endswith("kept model") for kind in kinds)


def test_rows_of_one_metric_are_judged_by_what_all_taught(four):
    folds = folds_of(four, "data-set", ~four.solver)
    assert not any(fold.test[four.solver].any() for fold in folds)
    assert any(fold.train[four.solver].any() for fold in folds)


def test_in_time_order_only_what_is_older_teaches(four):
    folds = folds_of(four, "time", ~four.solver)
    assert len(folds) == 2
    for fold in folds:
        assert max(four.time[fold.train]) < min(four.time[fold.test])
    assert sum(int(fold.test.sum()) for fold in folds) == 2


def test_very_many_types_are_joined(six_sets):
    own = np.array([f"type {row}" for row in range(len(six_sets))])
    folds = folds_of(replace(six_sets, questions=own), "question-type")
    assert len(folds) == MOST_FOLDS
    assert {int(fold.test.sum()) for fold in folds} <= {4, 5}


def test_groups_are_joined_to_about_equal_numbers():
    assert joined_evenly(np.array([5, 3, 3, 1]), 2) == [0, 1, 1, 0]


def test_a_norm_alone_can_not_be_left_out(six_sets):
    with pytest.raises(InputError, match="leaves norms out, but the logs have fewer than two"):
        folds_of(six_sets, "norm")


def test_unknown_protocols_are_refused_with_those_that_are_known():
    with pytest.raises(
        InputError, match=r"unknown hold-out scheme 'luck'\. Use one of data-set, question"
    ):
        check_left_out(["time", "luck"])
