"""Every backend proves once more what is true, and contradicts what is not."""

import math
from dataclasses import replace

import pytest

from encoders.backends.registry import BUILT_IN
from portfolio.api.variants import asker_of
from portfolio.engine.question import Options, Question
from portfolio.engine.second import once_more
from tests.support.enumerated import enumerated
from tests.support.parts import few_and_large

pytestmark = pytest.mark.usefixtures("forked_children")

FEW, LARGE = 1, 25
SEEDS = 4  # of a part: one of each norm


def check(case, name):
    """Check three claims: the truth, twice the cost, and that no answer exists."""
    best = case.cost[case.reached].min(initial=math.inf)
    right = case.explainer.explain(case.x, **case.given)
    twice = replace(right, distance=2 * best, lower_bound=2 * best)
    none = replace(right, status="infeasible", distance=math.inf, lower_bound=math.inf, row=None)

    def said(claim):
        asked = (Question(**case.given), Options(threads=1), case.x, claim, name)
        return once_more(asker_of(case.explainer), *asked)

    told = said(right)
    assert told.status == ("optimal" if math.isfinite(best) else "infeasible"), told.message
    assert told.distance == pytest.approx(best)
    for claim in (twice, none) if math.isfinite(best) else ():
        told = said(claim)
        assert (told.status, told.stop_reason, told.verified) == ("feasible", "error", True)
        assert best * (1 - 1e-9) <= told.distance < claim.distance


@pytest.mark.slow
@pytest.mark.parametrize("part", few_and_large(FEW, LARGE))
@pytest.mark.parametrize("backend", BUILT_IN, ids=lambda backend: backend.name)
def test_claims_are_confirmed_or_contradicted(backend, part):
    for seed in range(SEEDS * part, SEEDS * part + SEEDS):
        case = enumerated(seed)
        if case.given["norm"] != "inf" or "max" in backend.capability.aggregates:
            check(case, backend.name)
