"""Laws of certificates, held against the enumeration of all rows of a region."""

from dataclasses import dataclass
from functools import reduce
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.query.goal import ClassGoal
from portfolio.engine.certificate import Certificate, Times, join_all
from portfolio.engine.verify import Verified

COSTS = st.lists(st.integers(1, 9).map(float), max_size=4)
REASONS = st.sampled_from(["time_limit", "gap", "interrupted", "error"])


@dataclass(frozen=True)
class Searched:
    """Costs of all answers in a region, and a certificate that a correct search may return."""

    costs: tuple[float, ...]
    certificate: Certificate
    cutoff: float = inf


def verified(cost):
    return Verified(np.zeros(1), cost, (), ClassGoal(0))


@st.composite
def searches(draw, costs=None, cutoff=inf):
    """Draw a region and a search of it, which may have been proved or cut off."""
    costs = tuple(draw(COSTS) if costs is None else costs)
    least, seconds = min(costs, default=inf), Times(solve_s=1.0)
    if draw(st.booleans()):
        answer = None if least == inf or least >= cutoff else verified(least)
        certificate = Certificate(answer, min(least, cutoff), "proved", seconds)
        return Searched(costs, certificate, cutoff)
    known = draw(st.sampled_from([None, *costs]))
    lower = draw(st.sampled_from([0.0, 0.5, min(least, cutoff, 10.0)]))
    answer = None if known is None else verified(known)
    return Searched(costs, Certificate(answer, lower, draw(REASONS), seconds), cutoff)


def assert_true_of(certificate, costs, cutoff=inf):
    """Assert that a certificate claims nothing about a region that enumeration refutes."""
    assert certificate.answer is None or certificate.distance in costs
    assert certificate.lower <= min(costs, default=inf)
    assert certificate.lower <= certificate.distance
    if certificate.status == "optimal":
        assert certificate.distance == min(costs)
    if certificate.status == "infeasible":
        assert all(cost >= cutoff for cost in costs)


@given(searches(), searches())
def test_a_joint_certificate_is_true_of_the_union(first, second):
    joint = first.certificate.join(second.certificate)
    assert_true_of(joint, first.costs + second.costs)
    assert joint.times.total == 2.0
    swapped = second.certificate.join(first.certificate)
    assert (joint.status, joint.distance, joint.lower) == (
        swapped.status,
        swapped.distance,
        swapped.lower,
    )


@given(st.lists(searches(), min_size=2, max_size=4))
def test_a_union_is_proved_where_no_open_region_may_hold_a_cheaper_answer(regions):
    joint = join_all(each.certificate for each in regions)
    assert_true_of(joint, sum((each.costs for each in regions), ()))
    open_ = [each.certificate for each in regions if not each.certificate.proved]
    bounded = joint.distance < inf and all(each.lower >= joint.distance for each in open_)
    assert joint.proved == (not open_ or bounded)
    backwards = reduce(
        lambda right, left: left.join(right), reversed([r.certificate for r in regions])
    )
    assert (backwards.status, backwards.distance, backwards.lower) == (
        joint.status,
        joint.distance,
        joint.lower,
    )


@given(st.data(), COSTS)
def test_a_further_search_of_a_region_loses_neither_answer_nor_bound(data, costs):
    first = data.draw(searches(costs)).certificate
    cutoff = data.draw(st.sampled_from([first.distance, 5.0, inf]))
    later = data.draw(searches(costs, min(cutoff, first.distance))).certificate
    both = first.then(later.restrict(cutoff))
    assert_true_of(both, costs, min(cutoff, first.distance))
    assert both.distance == min(first.distance, later.distance)
    assert both.lower == min(max(first.lower, later.lower), both.distance)
    if first.status == "optimal":
        assert later.distance >= first.distance
    if later.proved and cutoff >= first.distance:
        assert both.proved


@given(searches(), COSTS, REASONS)
def test_a_region_that_was_searched_in_part_is_not_proved(part, rest, reason):
    whole = part.certificate.cut(reason)
    assert_true_of(whole, (*part.costs, *rest))
    assert (whole.proved, whole.lower, whole.stop_reason) == (False, 0.0, reason)


@given(st.data(), COSTS, st.integers(1, 9))
def test_a_proof_below_a_cutoff_is_about_cheaper_rows_only(data, costs, cutoff):
    known = data.draw(st.sampled_from([None, *(each for each in costs if each > cutoff)]))
    if min(costs, default=inf) < cutoff:
        known = min(costs)
    least = min([*costs, float(cutoff)])
    answer = None if known is None else verified(known)
    searched = Certificate(answer, min(least, known or inf), "proved")
    restricted = searched.restrict(cutoff)
    assert_true_of(restricted, costs, cutoff)
    assert restricted.proved and restricted.lower == searched.lower
    open_ = Certificate(answer, 0.0, "time_limit").restrict(cutoff)
    assert open_.answer is answer, "an unproved answer stays, whatever it costs"


@given(searches(), st.integers(0, 9))
def test_a_further_bound_or_answer_is_added(searched, number):
    certificate, least = searched.certificate, min(searched.costs, default=inf)
    raised = certificate.raised(min(number, least))
    assert_true_of(raised, searched.costs)
    assert raised.lower >= certificate.lower
    if searched.costs and not certificate.proved:
        known = searched.costs[number % len(searched.costs)]
        including = certificate.including(verified(known))
        assert_true_of(including, searched.costs)
        assert including.distance == min(certificate.distance, known)


@pytest.mark.slow
@given(searches(), st.data())
def test_a_proof_for_rows_with_a_lead_may_have_an_answer_without_it(searched, data):
    costs = searched.costs
    leading = costs[: data.draw(st.integers(0, len(costs)))]
    clear = data.draw(searches(leading)).certificate
    both = searched.certificate.clear_of_ties(clear, "ties")
    assert both.distance == min(searched.certificate.distance, clear.distance)
    assert both.proved == clear.proved and both.message == "ties"
    assert both.lower <= min(leading, default=inf)


@settings(max_examples=25)
@given(searches())
def test_a_doubt_withdraws_proof_and_bound(searched):
    certificate = searched.certificate
    assert certificate.doubted("") is certificate
    doubted = certificate.doubted("rounding")
    assert (doubted.proved, doubted.lower, doubted.message) == (False, 0.0, "rounding")
    assert doubted.stop_reason == ("error" if certificate.proved else certificate.stop_reason)
    assert doubted.answer is certificate.answer
