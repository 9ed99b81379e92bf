"""Answers on disk: whole lines, one batch at a time."""

import pytest

from encoders.core.errors import InputError
from portfolio.batch.answer_log import LINES, AnswerLog
from portfolio.batch.job import FIELDS
from tests.support.answers import here, lines, same


def test_a_torn_line_is_cut_off(explainer, rows, expected, tmp_path):
    explainer.explain_batch(rows.iloc[:10], executor=here, out=tmp_path)
    with (tmp_path / LINES).open("a") as file:
        file.write('{"key": "abc", "stat')
    same(explainer.explain_batch(rows, executor=here, out=tmp_path, resume=True), expected)
    assert len(lines(tmp_path)) == 40
    (tmp_path / LINES).write_text("not ours\n")
    with pytest.raises(InputError, match="damaged at byte 0"):
        explainer.explain_batch(rows, executor=here, out=tmp_path, resume=True)


def test_one_batch_a_folder(explainer, rows, tmp_path):
    held = AnswerLog(tmp_path, False, FIELDS)
    with pytest.raises(InputError, match="another batch is writing"):
        explainer.explain_batch(rows.head(2), executor=here, out=tmp_path, resume=True)
    held.close()
    assert len(explainer.explain_batch(rows.head(2), executor=here, out=tmp_path, resume=True)) == 2
