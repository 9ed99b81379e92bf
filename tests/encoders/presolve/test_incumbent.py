"""Incumbents: choices that keep every row, found by walks."""

import numpy as np

from encoders.presolve import incumbent
from encoders.presolve.incumbent import AGREED, WALKS, find_incumbent
from encoders.problem.flat_problem import tabulate
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem


def test_incumbents_keep_all_rows(seeds):
    found = 0
    for seed in seeds:
        problem = random_problem(seed)
        starts_from = np.zeros((1, problem.n_axes), dtype=np.int64)
        levels = find_incumbent(problem, tabulate(problem), starts_from)
        if levels is not None:
            found += 1
            assert problem.admits(levels)
            assert problem.distance(levels) >= optimum(problem)[0] - 1e-12
    assert found > len(seeds) // 3


def test_starts_that_end_where_others_did_are_soon_enough(monkeypatch, seeds):
    walk, walked = incumbent.descend_all, []

    def counted(*arguments):
        held = walk(*arguments)
        walked.append(held)
        return held

    soon = 0
    monkeypatch.setattr(incumbent, "descend_all", counted)
    for seed in seeds:
        problem, walked[:] = random_problem(seed), []
        t = tabulate(problem)
        find_incumbent(problem, t, np.repeat(t.best[None], 20, axis=0))
        # The query itself is where the second walk began: each start ends where that one did.
        again = AGREED if walked[-1] else 20
        assert len(walked) == len(WALKS) + again
        soon += walked[-1]
    assert soon > len(seeds) // 3


def test_walks_from_afar_keep_limits_on_changes(seeds):
    """Starts that break the limit come back to it, and mostly find an answer where there is one."""
    found = possible = 0
    many = range(4 * seeds.start, 4 * seeds.stop)  # one in ten has a limit and no group
    for seed in many:
        problem = random_problem(seed)
        last = np.diff(problem.level_start) - 1
        starts = np.array([last // part for part in (1, 2, 3)])
        if not problem.level_rows or problem.one_hot or not np.isfinite(optimum(problem)[0]):
            continue
        possible += 1
        found += find_incumbent(problem, tabulate(problem), starts) is not None
    assert possible > len(many) // 40 and found > 0.9 * possible
