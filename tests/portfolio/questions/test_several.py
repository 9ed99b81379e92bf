"""Several answers: each the cheapest that differs, against brute force over every cell."""

import itertools
import json
import math
import os

import numpy as np
import pytest

from portfolio import Fixed, InputError, MaxChanges
from tests.support.enumerated import enumerated

STRATEGIES = ("search", "cp", "milp", "maxsat")


def check_one(seed, k=6, strategy="auto"):
    """Each answer against the cheapest candidate that is left; how many there were."""
    case = enumerated(seed)
    several = case.explainer.several(case.x, k=k, **case.given, threads=1, strategy=strategy)
    where = f"seed {seed}, {strategy}, {case.given}"
    left = case.reached.copy()
    for answer in several:
        best = case.cost[left].min(initial=math.inf)
        assert answer.status == "optimal" and answer.verified, where
        assert math.isclose(answer.distance, best, rel_tol=1e-7, abs_tol=1e-12), where
        own = np.isin(case.names, [change.feature for change in answer.changed])
        left &= ~case.changed[:, own].all(axis=1)
    assert several.complete is not left.any(), where
    assert several.complete or len(several) == k, where
    assert several.status == ("optimal" if len(several) else "infeasible"), where
    return len(several)


def check_regions(seed, k=4):
    """Each answer against the cheapest candidate outside earlier regions; how many there were."""
    case = enumerated(seed)
    several = case.explainer.several(case.x, k=k, **case.given, threads=1, different="region")
    where, left = f"seed {seed}, {case.given}", case.reached.copy()
    for at, answer in enumerate(several):
        best = case.cost[left].min(initial=math.inf)
        assert answer.status == "optimal" and answer.verified, where
        assert math.isclose(answer.distance, best, rel_tol=1e-7, abs_tol=1e-12), where
        if at < len(several.regions):
            left &= ~_inside(case, several.regions[at])
    assert several.complete or len(several) == k, where
    assert not (several.complete and left.any()), where
    return len(several)


def _inside(case, region):
    group = np.array(["x", "y", "z"])[case.rows[:, 5:].argmax(axis=1)]
    columns = dict(zip(case.names, [*case.rows[:, :5].T, group], strict=True))
    own = [[s.holds(value) for value in columns[s.feature]] for s in region.spans]
    return np.all(own, axis=0)


@pytest.mark.slow
def test_each_is_the_cheapest_outside_the_regions_of_those_before():
    assert sum(check_regions(seed) for seed in range(6)) >= 10


def test_no_other_is_in_the_region_of_one(explainer, refused):
    several = explainer.several(refused, k=3, target="granted", different="region")
    assert several.status == "optimal" and len(several) == 3 and len(several.regions) == 2
    for at, region in enumerate(several.regions):
        for later in several[at + 1 :]:
            values = explainer.features.values(later.row.values).tolist()
            shown = [f.show(v) for f, v in zip(explainer.features.features, values, strict=True)]
            assert not all(s.holds(v) for s, v in zip(region.spans, shown, strict=True))
    assert len(json.loads(several.to_json())["regions"]) == 2
    with pytest.raises(InputError, match="different must be"):
        explainer.several(refused, different="value")


@pytest.mark.slow
def test_each_is_the_cheapest_that_is_left():
    found = [check_one(seed) for seed in range(18)]
    assert sum(n > 1 for n in found) >= 9, found


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_backend_takes_the_question(strategy):
    assert sum(check_one(seed, 3, strategy) for seed in range(60, 64)) >= 4


@pytest.mark.large
def test_many_random_questions():
    count = int(os.environ.get("SEVERAL_QUESTIONS", "700"))
    found = [check_one(seed) for seed in range(1000, 1000 + count)]
    print(f"several: {sum(map(bool, found))} questions with answers, {sum(found)} answers")
    more = [check_regions(seed) for seed in range(1000, 1000 + count)]
    print(f"regions: {sum(map(bool, more))} questions with answers, {sum(more)} answers")


def test_an_answer_is_no_earlier_one_with_more_changes(explainer, refused):
    several = explainer.several(refused, k=4, target="granted")
    sets = [{change.feature for change in answer.changed} for answer in several]
    assert len(several) > 1
    assert all(not one <= other for one, other in itertools.combinations(sets, 2))
    assert [a.distance for a in several] == sorted(a.distance for a in several)
    assert several[0].distance == explainer.explain(refused, target="granted").distance


def test_it_says_when_there_are_no_more(explainer, refused):
    free = {change.feature for change in explainer.explain(refused, target="granted").changed}
    names = [feature.name for feature in explainer.features.features]
    constraints = [Fixed(name) for name in names if name not in free]
    several = explainer.several(refused, k=9, target="granted", constraints=constraints)
    assert 1 <= len(several) < 9 and several.complete and several.status == "optimal"
    assert "No more answers: any other one changes all features of one of these (proved)." in str(
        several
    )
    nothing = explainer.several(refused, target="granted", constraints=[MaxChanges(0)])
    assert nothing.status == "infeasible" and not nothing
    assert "no answer exists (proved)" in str(nothing)


def test_what_is_granted_needs_no_change(credit, explainer):
    model, X = credit
    row = X[model.predict(X) == "granted"].iloc[0]
    several = explainer.several(row, k=3, target="granted")
    assert len(several) == 1 and several[0].distance == 0 and several.complete


def test_it_is_a_sequence_a_table_and_json(explainer, refused):
    several = explainer.several(refused, k=2, target="granted")
    assert list(several[:1]) == [several[0]]
    assert list(several.table().columns) == ["status", "distance", "lower_bound", "changes"]
    plain = json.loads(several.to_json())
    assert plain["status"] == "optimal" and len(plain["answers"]) == len(several)
    assert "proved: no other is cheaper" in str(several)


def test_no_time_is_no_proof(explainer, refused):
    several = explainer.several(refused, k=5, target="granted", time_limit_s=1e-9)
    assert several.status in ("unknown", "feasible") and not several.complete
    assert several.stop_reason == "time_limit"


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_k_must_be_a_number_of_answers(explainer, refused, k):
    with pytest.raises(InputError, match="k must be a whole number"):
        explainer.several(refused, k=k, target="granted")


def test_limits_among_some_features(explainer, refused):
    free = explainer.explain(refused, target="granted")
    names = [change.feature for change in free.changed]
    other = explainer.explain(
        refused, target="granted", constraints=[MaxChanges(len(names) - 1, names)]
    )
    assert set(names) - {change.feature for change in other.changed}
    for among, words in (
        ("income", "needs a list of feature names"),
        (["rooms"], "unknown feature 'rooms'"),
    ):
        with pytest.raises(InputError, match=words):
            explainer.explain(refused, constraints=[MaxChanges(1, among)])


def test_a_limit_among_some_features_is_loosened_as_far_as_need_be(explainer, refused):
    names = [change.feature for change in explainer.explain(refused, target="granted").changed]
    others = [f.name for f in explainer.features.features if f.name not in names]
    limits = [MaxChanges(0, names), *map(Fixed, others)]
    found = explainer.why_not(refused, target="granted", constraints=limits)
    assert f"t most 0 of {', '.join(names)} may change" in str(found)
