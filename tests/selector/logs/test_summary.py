"""What logs say of backends."""

import pytest

from selector import logs
from selector.logs.summary import per_backend, second_opinions
from tests.support.records import record


def test_there_is_a_summary_for_each_mode_and_backend(frame):
    found = {(one.mode, one.backend): one for one in per_backend(frame)}
    assert len(found) == 8
    assert found["plain", "cp"].proved == 1.0 and found["plain", "cp"].records == 3


def test_a_run_without_proof_counts_ten_limits_and_is_never_the_best(tmp_path):
    logs.append(
        tmp_path, [record("a", "cp", None), record("b", "cp", 1.0), record("a", "milp", 2.0)]
    )
    cp, milp = per_backend(logs.read(tmp_path))
    assert cp.par10_s == pytest.approx((200.0 + 1.0) / 2)
    assert (cp.best, milp.best) == (0.5, 1.0)


def test_second_opinions_are_counted_of_what_was_proved(tmp_path):
    second = {"mode": "second"}
    wrong = {"status": "feasible", "stop_reason": "error", "upper": 1.0}
    told = [
        *(record(query, "search", 1.0, upper=2.0, lower=2.0) for query in "abc"),
        record("a", "cp", 3.0, upper=2.0, lower=2.0, **second),
        record("b", "cp", None, verified=False, **second),
        record("c", "cp", 1.0, **second, **wrong),
        record("d", "cp", 1.0, upper=2.0, lower=2.0, **second),  # nobody had proved it
    ]
    logs.append(tmp_path, told)
    frame = logs.read(tmp_path)
    (of,) = second_opinions(frame)
    assert (of.asked, of.confirmed, of.contradicted, of.median_s) == (3, 1, 1, 3.0)
    (words,) = logs.check(frame)
    assert "1 record(s) with an answer that contradicts a proof" in words
