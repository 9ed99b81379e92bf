"""What logs say of backends."""

import pytest

from selector import logs
from selector.logs.summary import per_backend
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
