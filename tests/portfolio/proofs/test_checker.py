"""What the checker accepts is true; it shares nothing with what made the record."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portfolio.checker
from portfolio.checker.__main__ import MALFORMED
from portfolio.checker.check import check
from portfolio.checker.cover import Cover
from portfolio.checker.space import MOST, Space
from portfolio.checker.trees import RejectedError, read
from tests.support.parts import few_and_large
from tests.support.proofs import CLAIMS, PROOFS, holds, recorded, spoiled

FEW, LARGE, SPOILED = 12, 400, 25
ALONE = """
import sys
import portfolio.checker.__main__
ours = ("encoders", "selector", "portfolio.", "counterfolio", "numba", "ortools")
wrong = [m for m in sys.modules if m.startswith(ours) and not m.startswith("portfolio.checker")]
assert not wrong, wrong
"""


def accepted(record, model):
    try:
        return check(record, model).startswith("verified")
    except (RejectedError, *MALFORMED):
        return False


@pytest.mark.parametrize("batch", few_and_large(FEW // 12, LARGE // 12))
def test_records_are_verified_and_spoiled_ones_only_where_they_are_true(batch):
    rejected = {way.__name__: 0 for way in (*CLAIMS, *PROOFS)}
    for seed in range(12 * batch, 12 * batch + 12):
        record, model = recorded(seed)
        assert record["proof"] is not None, (seed, record["why_no_proof"])
        assert check(record, model), seed
        assert holds(record, model) is not False, seed
        rng = np.random.default_rng(seed)
        for _ in range(SPOILED):
            other, way = spoiled(rng, record)
            if accepted(other, model):
                assert holds(other, model) is not False, (seed, way)
            else:
                rejected[way] += 1
    seldom = {"listed", "stays", "changes", "norm"}  # most of these change nothing that counts
    assert batch > 0 or all(n for way, n in rejected.items() if way not in seldom), rejected


def test_another_model_is_told():
    record, _ = recorded(0)
    with pytest.raises(RejectedError, match="another model"):
        check(record, recorded(4)[1])


def test_it_stands_alone():
    subprocess.run([sys.executable, "-c", ALONE], check=True)
    lines = [
        p.read_text().count("\n") for p in Path(portfolio.checker.__file__).parent.glob("*.py")
    ]
    assert sum(lines) <= 900


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", float("nan")), ("weight", float("inf")), ("unit", 0.0), ("step", -1.0)],
)
def test_costs_that_are_none_are_rejected(name, value):
    record, model = recorded(0)
    for feature in record["question"]["features"]:
        feature[name] = value
    record["question"]["power"] = 1
    with pytest.raises(RejectedError):
        check(record, model)
    record, _ = recorded(0)
    record["question"]["power"] = float("nan")
    with pytest.raises(RejectedError, match="numbers from 0"):
        check(record, model)


def test_prices_of_many_rivals_can_not_wrap():
    """Each by itself is small enough for int64; all of them together are not."""
    record, model = recorded(0)
    space = Space(read(model), record["question"], float(record["proof"]["below"]))
    (given,) = record["proof"]["covers"][:1]
    cover = Cover(space, given["class"], 0.0, given)
    n_trees = len(space.model.trees)
    weight = np.full(space.tree.size, MOST // n_trees, dtype=np.int64)
    cover.rows = [(weight, 1)] * 12
    toll = [0] * len(space.limits)
    cover._charge([], [1] + [0] * 11, toll)
    with pytest.raises(RejectedError, match="too large"):
        cover._charge([], [1] * 12, toll)
