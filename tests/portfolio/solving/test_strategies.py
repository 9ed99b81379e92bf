"""One argument says how a question is answered; the result tells what was done."""

from collections import UserDict

import pytest

from selector import logs


@pytest.mark.parametrize(
    ("strategy", "old"),
    [
        ("cp", {"backend": "cp"}),
        ("plain-cp", {"backend": "cp", "reduce": False}),
        (["search", "cp"], {"race": ["search", "cp"]}),
    ],
)
def test_a_strategy_answers_as_the_old_arguments_do(explainer, refused, tmp_path, strategy, old):
    new = explainer.explain(refused, "granted", strategy=strategy, log=tmp_path / "new")
    before = explainer.explain(refused, "granted", **old, log=tmp_path / "old")
    assert (new.status, new.distance) == ("optimal", pytest.approx(before.distance))
    one, two = (logs.read(tmp_path / name) for name in ("new", "old"))
    assert set(one["mode"]) == set(two["mode"])


def test_the_plain_formulation_is_not_reduced(explainer, refused):
    result = explainer.explain(refused, "granted", strategy="plain-cp")
    assert result.timings.reduce == 0
    assert [attempt.formulation for attempt in result.attempts] == ["plain"]


def test_a_batch_knows_the_answers_of_the_old_spelling(explainer, credit, tmp_path):
    rows = credit[1].iloc[:3]
    asked = []

    def workers(job, tasks):
        for task in tasks:
            asked.append(task)
            yield job.answer(task)

    explainer.explain_batch(rows, backend="cp", out=tmp_path, executor=workers)
    explainer.explain_batch(rows, strategy="cp", out=tmp_path, resume=True, executor=workers)
    assert len(asked) == 3


def test_a_session_keeps_the_model_of_its_strategy(explainer, refused):
    with explainer.session("granted", strategy="milp") as session:
        assert session.explain(refused).backend == "milp"


def test_where_nothing_raced_the_table_of_the_race_is_empty(explainer, refused):
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


def test_a_row_is_read_once_logged_or_not(explainer, refused, tmp_path):
    row = Counted(refused.to_dict())
    explainer.explain(row, log=tmp_path)
    assert row.reads == 1
