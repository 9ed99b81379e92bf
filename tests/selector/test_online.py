"""Online costs: a diagram that is wrong at a leaf is corrected, one that is right loses little."""

import math
from collections import Counter

import numpy as np
import pytest

from selector.online import (
    BUILD_S,
    FEWEST,
    LONGEST,
    NEWEST,
    PEEK,
    SAVED,
    Asked,
    LeafCosts,
    Took,
    after_other,
    lower_bound,
    next_backend,
    reserved,
)
from selector.online_costs import OnlineCosts
from tests.support.own_sessions import DIAGRAM, LIMIT_S, OWN, law, play

SEEDS = range(6)
WRONG = law(cp=5.0, milp=1.0, maxsat=8.0)
RIGHT = law(cp=1.0, milp=4.0, maxsat=8.0)
NEARLY = law(cp=1.0, milp=1.3, maxsat=2.0)
USUAL = LeafCosts(tuple(Took(OWN, 1.0, True) for _ in range(20)), 100.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_where_the_diagram_is_wrong_another_backend_takes_over(seed):
    costs = OnlineCosts(DIAGRAM)
    played = play(costs, WRONG, 400, seed)
    assert played.spent_s < 0.5 * played.usual_s
    later = play(costs, WRONG, 400, 100 + seed, {"milp"})
    assert Counter(later.asked)["milp"] > 350
    assert later.spent_s < 0.35 * later.usual_s  # a fifth would be perfect


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [RIGHT, NEARLY, WRONG], ids=["right", "nearly", "wrong"])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_on_every_path_no_more_is_lost_than_the_share(drawn, share):
    for seed in range(3):
        costs = OnlineCosts(DIAGRAM, share)
        counted = spent = 0.0
        for part in range(30):
            played = play(costs, drawn, 20, 1000 * seed + part)
            counted, spent = counted + played.counted_s, spent + played.spent_s
            assert spent <= (1 + share) * counted + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [RIGHT, NEARLY], ids=["right", "nearly"])
def test_where_the_diagram_is_right_that_holds_of_what_it_would_have_taken(drawn):
    paths = [play(OnlineCosts(DIAGRAM, 0.1), drawn, 500, seed) for seed in SEEDS]
    ratios = [path.spent_s / path.usual_s for path in paths]
    assert 1.0 < np.mean(ratios) < 1.1 and max(ratios) < 1.15
    assert any(set(path.asked) == {OWN, "milp", "maxsat"} for path in paths)  # it did look


@pytest.mark.parametrize("seed", SEEDS)
def test_when_another_backend_grows_worse_it_goes_back_to_the_diagram(seed):
    costs, ready = OnlineCosts(DIAGRAM), set()
    play(costs, WRONG, 300, seed, ready)
    worse = play(costs, law(cp=5.0, milp=15.0, maxsat=8.0), 400, 100 + seed, ready)
    assert costs.leaves[0].reverted >= 1
    assert Counter(worse.asked[-200:])[OWN] > 160
    # The most that may be lost after the change: the saved budget, and the share of later runs.
    most_s = BUILD_S + SAVED * LONGEST * worse.usual_s / 400
    assert worse.spent_s <= 1.05 * worse.counted_s + 1.3 * most_s


def test_nothing_is_given_up_that_never_was_better():
    costs = OnlineCosts(DIAGRAM, 1.0)
    play(costs, RIGHT, 400, 0)
    leaf = costs.leaves[0]
    assert leaf.reverted == 0 and len(leaf.of("milp")) >= FEWEST


def test_when_the_diagram_s_own_grows_better_it_is_found_out():
    costs, ready = OnlineCosts(DIAGRAM), set()
    play(costs, law(cp=2.0, milp=0.5), 300, 1, ready)
    play(costs, law(cp=0.1, milp=0.5), 1500, 2, ready)
    after = play(costs, law(cp=0.1, milp=0.5), 300, 3, ready)
    assert Counter(after.asked)[OWN] > 270


def test_equal_tales_lead_to_equal_choices():
    first, second = OnlineCosts(DIAGRAM), OnlineCosts(DIAGRAM)
    assert play(first, WRONG, 200, 7) == play(second, WRONG, 200, 7)
    assert first.to_json() == second.to_json()


def test_without_a_share_the_diagram_alone_is_followed():
    assert set(play(OnlineCosts(DIAGRAM, 0.0), WRONG, 200, 0).asked) == {OWN}


def test_only_the_newest_count():
    costs = OnlineCosts(DIAGRAM)
    play(costs, RIGHT, NEWEST + 50, 0)
    assert len(costs.leaves[0].newest) == NEWEST


def test_nobody_else_is_asked_before_the_own_one_is_known():
    few = LeafCosts(tuple(Took(OWN, 1.0, True) for _ in range(FEWEST - 1)), 100.0)
    asked = next_backend(few, OWN, ["milp"], LIMIT_S, ())
    assert (asked.backend, asked.seconds, math.isnan(asked.usual_s)) == (OWN, math.inf, True)


def test_another_one_gets_twice_the_usual_time_and_what_building_takes():
    assert next_backend(USUAL, OWN, ["milp"], LIMIT_S, {"milp"}) == Asked("milp", LONGEST, 1.0)
    assert next_backend(USUAL, OWN, ["milp"], LIMIT_S, ()) == Asked("milp", LONGEST + BUILD_S, 1.0)


def test_who_is_many_times_as_fast_is_found_out_soon():
    poor = LeafCosts(USUAL.newest, 0.3)
    peek = next_backend(poor, OWN, ["milp", "search"], LIMIT_S, {"search"})
    assert peek == Asked("search", PEEK, 1.0)
    fast = after_other(
        reserved(poor, peek), peek, OWN, Took("search", 0.01, True), 0.01, math.nan, 0
    )
    assert fast.allowance_s == pytest.approx(1.29)
    assert next_backend(fast, OWN, ["search"], LIMIT_S, {"search"}) == Asked(
        "search", LONGEST * 0.01, 1.0
    )
    slow = after_other(reserved(poor, peek), peek, OWN, Took("search", PEEK, False), PEEK, 1.0, 1)
    assert next_backend(slow, OWN, ["search"], LIMIT_S, {"search"}) == Asked(OWN, usual_s=1.0)


def test_enough_of_the_limit_is_left_for_what_the_own_one_ever_needed():
    slow = LeafCosts((*USUAL.newest, Took(OWN, 9.5, True)), 100.0)
    assert next_backend(slow, OWN, ["milp"], 10.0, {"milp"}).seconds == pytest.approx(0.5)
    assert next_backend(slow, OWN, ["milp"], 9.0, {"milp"}).backend == OWN
    # Where it proves nothing there is nothing to leave time for.
    vain = LeafCosts(tuple(Took(OWN, 10.0, False) for _ in range(20)), 100.0)
    assert next_backend(vain, OWN, ["milp"], 10.0, {"milp"}).seconds == 10.0


def test_what_is_under_way_can_not_be_spent_again():
    asked = next_backend(USUAL, OWN, ["milp"], LIMIT_S, {"milp"})
    covered = LeafCosts(USUAL.newest, LONGEST + 0.2)
    left = reserved(covered, asked)
    assert left.allowance_s == pytest.approx(0.2)
    assert next_backend(left, OWN, ["milp"], LIMIT_S, {"milp"}).backend == OWN
    took = Took("milp", 0.2, True)
    after = after_other(left, asked, OWN, took, 0.2, math.nan, 0.1)
    assert after.allowance_s == pytest.approx(LONGEST + 0.2 + 0.1 + 1.0 - 0.2)


def test_a_try_that_fails_costs_all_of_it():
    asked = next_backend(USUAL, OWN, ["milp"], LIMIT_S, {"milp"})
    left = reserved(LeafCosts(USUAL.newest, 5.0), asked)
    after = after_other(left, asked, OWN, Took("milp", LONGEST, False), LONGEST, 3.0, 0.1)
    assert after.allowance_s == pytest.approx(5.0 - LONGEST + 0.3)


@pytest.mark.parametrize(("mean", "count", "of"), [(0.3, 10, 100), (1.0, 4, 50), (0.01, 300, 500)])
def test_the_bound_is_where_the_divergence_says(mean, count, of):
    low = lower_bound(mean, count, of)
    second = 0.0 if mean == 1 else (1 - mean) * math.log((1 - mean) / (1 - low))
    divergence = mean * math.log(mean / low) + second
    assert 0 < low < mean and divergence * count == pytest.approx(math.log(of))


def test_of_nothing_nothing_is_known():
    assert lower_bound(0.0, 10, 100) == 0.0
    assert lower_bound(0.5, 10, 1) == pytest.approx(0.5)
