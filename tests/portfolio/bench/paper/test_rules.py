"""Verdicts about claims."""

import math
from dataclasses import replace

import pytest

from portfolio.bench.anytime import optima_of
from portfolio.bench.paper.published import Claim
from portfolio.bench.paper.rules import judge
from portfolio.bench.paper.runs import runs_of
from tests.support.records import ENSEMBLE

EVERY = "rounds > 0"


def claim(rule, first="cp", others=("milp",), **more):
    told = {"name": "1a", "source": "", "says": "", "theirs": "", "part": "all", "where": EVERY}
    return Claim(**told, rule=rule, first=first, others=others, **more)


def judged(frame, of, timing="total"):
    runs = runs_of(frame)
    return judge(of, runs[runs["timing"] == timing], optima_of(runs))


def pairs(count, cp, milp, **more):
    """Queries with what both backends took."""
    return [
        (f"q{k}{more}", name, seconds, more)
        for k in range(count)
        for name, seconds in (("cp", cp), ("milp", milp))
    ]


@pytest.mark.parametrize(
    ("cp", "milp", "verdict"),
    [(1.0, 2.0, "holds"), (2.0, 1.0, "falls"), (None, 1.0, "falls"), (1.0, None, "holds")],
)
def test_who_proves_sooner_on_all_queries_is_sooner(frame_of, cp, milp, verdict):
    found = judged(frame_of(*pairs(6, cp, milp)), claim("sooner"))
    assert found.verdict == verdict and found.estimate.count == 6


def test_five_queries_decide_nothing(frame_of):
    assert judged(frame_of(*pairs(5, 1.0, 2.0)), claim("sooner")).verdict == "undecided"


def test_two_runs_without_proof_tell_nothing(frame_of):
    assert judged(frame_of(*pairs(9, None, None)), claim("sooner")).verdict == "no logs"


def test_a_limit_before_the_others_proof_tells_nothing(frame_of):
    short = {"limit_s": 3.0, "total_s": 3.0, "solve_s": 3.0}
    told = [(f"q{k}", "cp", 5.0, {}) for k in range(6)]
    told += [(f"q{k}", "milp", None, short) for k in range(6)]
    assert judged(frame_of(*told), claim("sooner")).verdict == "no logs"


def test_one_that_gave_up_is_not_sooner(frame_of):
    gap = {"stop_reason": "gap", "total_s": 0.1, "solve_s": 0.1}
    told = [(f"q{k}", "cp", 5.0, {}) for k in range(6)]
    told += [(f"q{k}", "milp", None, gap) for k in range(6)]
    assert judged(frame_of(*told), claim("sooner")).verdict == "holds"


def test_solver_seconds_leave_building_out(frame_of):
    told = pairs(6, 1.0, 2.0)
    told = [(q, b, s, {"solve_s": 0.5 if b == "milp" else 0.9}) for q, b, s, _ in told]
    frame = frame_of(*told)
    assert judged(frame, claim("sooner")).verdict == "holds"
    assert judged(frame, claim("sooner"), "solver").verdict == "falls"


def test_what_reduction_proved_counts_as_our_own(frame_of):
    frame = frame_of(*((f"q{k}", "reduce", 0.1, {"mode": "solo"}) for k in range(3)))
    assert set(runs_of(frame)["backend"]) == {"search"}


@pytest.mark.parametrize(
    "other",
    [
        {"norm": "inf"},
        {"constraints": "ranges"},
        {"ensemble": replace(ENSEMBLE, max_depth=30)},
        {"ensemble": replace(ENSEMBLE, trees=1000)},
    ],
)
def test_what_the_paper_does_not_ask_counts_for_nothing(frame_of, other):
    frame = frame_of(("a", "cp", 1.0, {}), ("b", "cp", 1.0, other))
    assert set(runs_of(frame)["query"]) == {"a"}


def test_too_few_proofs_within_a_short_limit_refute_nothing(frame_of):
    of = claim("proves", bar=0.9)
    assert judged(frame_of(*pairs(9, None, None)), of).verdict == "undecided"


@pytest.mark.parametrize(("milp", "verdict"), [(1.5, "holds"), (3.0, "falls"), (0.2, "falls")])
def test_alike_is_within_twice_and_half(frame_of, milp, verdict):
    found = judged(frame_of(*pairs(6, 1.0, milp)), claim("alike", bar=2.0))
    assert found.verdict == verdict and found.estimate.value == pytest.approx(milp)


def test_a_lead_that_grows_is_seen_in_pairs_of_the_same_row(frame_of):
    told = []
    for k in range(6):
        told += pairs(1, 1.0, 2.0, row=f"r{k}", norm="1")
        told += pairs(1, 1.0, 6.0, row=f"r{k}", norm="2")
    of = claim("grows", before="norm == '1'", after="norm == '2'")
    found = judged(frame_of(*told), of)
    assert found.verdict == "holds" and found.estimate.value == pytest.approx(3.0)


def test_plausibility_costs_where_the_optimum_is_dearer(frame_of):
    told = []
    for k in range(8):
        own = {"row": f"r{k}", "verified": True}
        told.append((f"a{k}", "cp", 1.0, {**own, "upper": 1.0, "plausible": False}))
        told.append((f"b{k}", "cp", 2.0, {**own, "upper": 1.0 + (k < 6), "plausible": True}))
    conditions = {"before": "not plausible", "after": "plausible"}
    frame = frame_of(*told)
    found = judged(frame, claim("costs", "any", (), bar=0.1, **conditions))
    assert found.verdict == "holds" and found.estimate.value == 0.75
    assert judged(frame, claim("longer", "cp", (), **conditions)).verdict == "holds"


def test_one_answer_that_is_not_confirmed_refutes_that_all_are(frame_of):
    told = [(f"q{k}", "cp", 1.0, {"verified": k > 0}) for k in range(9)]
    assert judged(frame_of(*told), claim("valid", "any", ())).verdict == "falls"


def test_good_answers_come_earlier_where_the_error_over_time_is_lower(frame_of):
    soon, late = ((0.1, 2.0, 0.0), (0.2, 1.0, 1.0)), ((5.0, 3.0, 0.0), (6.0, 1.0, 1.0))
    told = []
    for k in range(6):
        told.append((f"q{k}", "cp", 7.0, {"trace": soon, "upper": 1.0}))
        told.append((f"q{k}", "milp", 7.0, {"trace": late, "upper": 1.0}))
        told.append((f"x{k}", "cp", None, {"trace": ((0.1, math.inf, 0.0),)}))
    found = judged(frame_of(*told), claim("earlier"))
    assert found.verdict == "holds" and found.estimate.count == 6
