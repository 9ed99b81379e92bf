"""The benchmark: counts, ratios, agreement, and Ctrl-C keeps what is done."""

from dataclasses import replace

import pytest

from encoders.core.errors import InputError
from portfolio.bench.benchmark import (
    Benchmark,
    BenchmarkRun,
    disagreements,
    run_benchmark,
    size,
    summarise,
)
from portfolio.data.collection import datasets
from portfolio.data.trained_models import train

WINE = Benchmark(
    folder=None,
    only=("wine",),
    kinds=("soft", "hard", "xgb"),
    backends=("auto", "cp", "plain-cp"),
    trees=5,
    depth=3,
    queries=2,
    seed=0,
    norm="1",
    time_limit_s=30.0,
    threads=1,
)


def test_all_backends_answer_the_same_queries_and_agree():
    runs = []
    run_benchmark(WINE, runs.append)
    assert len(runs) == size(WINE) == 18
    assert disagreements(runs) == []
    for line in summarise(runs, "plain-cp"):
        assert line.proved == 1.0 and line.queries == 2
        assert line.ratio == 1.0 if line.backend == "plain-cp" else line.ratio > 0


def test_a_disagreement_is_found():
    run = BenchmarkRun("d", "soft", 1, "cp", "optimal", 0.1, 0.5, False, 3, 4)
    same = replace(run, backend="search")
    assert disagreements([run, same]) == []
    assert disagreements([run, replace(same, distance=0.4)])
    assert disagreements([run, replace(same, status="infeasible", distance=None)])
    assert disagreements([run, replace(same, status="feasible", distance=0.6)]) == []


def test_time_outs_count_at_the_limit():
    runs = [
        BenchmarkRun("d", "soft", q, b, "optimal", s, 0.5, False, 3, 4)
        for q in (1, 2, 3)
        for b, s in (("auto", 0.1), ("plain-cp", 5.0))
    ]
    lines = {line.backend: line for line in summarise(runs, "plain-cp")}
    assert lines["auto"].ratio == pytest.approx(50)


def test_an_unknown_kind_is_told():
    with pytest.raises(InputError, match="unknown kind"):
        run_benchmark(replace(WINE, kinds=("solid",)), lambda run: None)


def test_a_depth_of_0_is_no_limit():
    (wine,) = datasets(None, ["wine"])
    deepest = [
        max(tree.tree_.max_depth for tree in train(wine, "forest", 5, depth, 0).estimators_)
        for depth in (2, 0)
    ]
    assert deepest[0] == 2 < deepest[1]
