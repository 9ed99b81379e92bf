"""What the checker accepts is true; it shares nothing with what made the record."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portfolio.checker
from portfolio.checker import RejectedError, check
from tests.support.parts import few_and_large
from tests.support.proofs import CLAIMS, PROOFS, holds, recorded, spoiled

FEW, LARGE, SPOILED = 12, 408, 25
ALONE = """
import sys
import portfolio.checker
ours = ("encoders", "selector", "portfolio.", "counterfolio", "numba", "ortools")
wrong = [m for m in sys.modules if m.startswith(ours) and not m.startswith("portfolio.checker")]
assert not wrong, wrong
"""


def accepted(record, model):
    try:
        return check(record, model).startswith("verified")
    except Exception:
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
    seldom = {"listed", "stays", "changes", "norm", "filter_more"}  # most change nothing
    assert batch > 0 or all(n for way, n in rejected.items() if way not in seldom), rejected


def test_another_model_is_told():
    record, _ = recorded(0)
    with pytest.raises(RejectedError, match="another model"):
        check(record, recorded(4)[1])


def test_it_stands_alone():
    subprocess.run([sys.executable, "-c", ALONE], check=True)
    lines = Path(portfolio.checker.__file__).read_text().splitlines()
    assert sum(line.strip() != "" for line in lines) <= 400


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", float("nan")), ("weight", float("inf")), ("unit", 0.0), ("step", -1.0)],
)
def test_costs_that_are_none_are_rejected(name, value):
    record, model = recorded(0)
    for feature in record["question"]["features"]:
        feature[name] = value
    record["question"]["power"] = 1
    assert not accepted(record, model)
    record, _ = recorded(0)
    record["question"]["power"] = float("nan")
    with pytest.raises(RejectedError, match="power"):
        check(record, model)
