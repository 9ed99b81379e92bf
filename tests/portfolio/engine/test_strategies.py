"""One argument selects how a query is solved; the result reports what was done."""

from collections import UserDict

import pytest


def test_the_plain_formulation_is_not_reduced(explainer, refused):
    result = explainer.explain(refused, "granted", strategy="plain-cp")
    assert result.timings.reduce == 0
    assert [attempt.formulation for attempt in result.attempts] == ["plain"]


def test_a_session_keeps_the_model_of_its_strategy(explainer, refused):
    with explainer.session("granted", strategy="milp") as session:
        assert session.explain(refused).backend == "milp"


def test_the_race_table_is_empty_without_a_race(explainer, refused):
    alone = explainer.explain(refused, "granted", strategy="plain-cp")
    assert len(alone.attempts) == 1 and alone.race.empty
    raced = explainer.explain(refused, "granted", strategy="race")
    assert list(alone.race.columns) == list(raced.race.columns)


class Counted(UserDict):
    """A row that counts how often it is read."""

    reads = 0

    def keys(self):
        self.reads += 1
        return super().keys()


@pytest.mark.slow
def test_a_row_is_read_once_logged_or_not(explainer, refused, tmp_path):
    row = Counted(refused.to_dict())
    explainer.explain(row, log=tmp_path)
    assert row.reads == 1
