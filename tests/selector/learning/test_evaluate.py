"""Policies judged on data sets that they have not seen."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.core.errors import InputError
from selector.learning.costs import Spent
from selector.learning.evaluate import evaluate, left_out
from selector.learning.policies import by_diagram
from selector.learning.train import Recipe


@pytest.fixture(scope="module")
def scores(six_sets):
    recipe = Recipe(alpha=0.01, thresholds=6)
    found = evaluate(six_sets, {"learned": by_diagram(recipe.diagram)})
    return {score.policy: score for score in found}


@pytest.mark.slow
def test_a_diagram_lies_between_the_virtual_best_and_the_single_best(scores):
    best, single = scores["virtual best"], scores["single best"]
    assert best.par10_s <= scores["learned"].par10_s < single.par10_s
    assert (best.closed, single.closed) == (1.0, 0.0)
    assert scores["learned"].closed > 0.8


def test_the_virtual_best_has_no_regret(scores):
    best = scores["virtual best"]
    assert (best.proved, best.regret_s, best.worst_regret_s) == (1.0, 0.0, 0.0)


def test_the_worst_regret_is_at_least_the_mean(scores):
    assert scores["learned"].worst_regret_s >= scores["learned"].regret_s >= 0


def test_intervals_hold_the_mean(scores):
    low, high = scores["learned"].par10_interval_s
    assert low <= scores["learned"].par10_s <= high


def test_the_mild_penalty_costs_no_more(scores):
    assert scores["learned"].par2_s <= scores["learned"].par10_s


def test_races_are_slowed_down_beyond_the_cores(scores):
    best = scores["virtual best"].par10_s
    assert scores["race of two"].par10_s == pytest.approx(best)
    assert scores["race of all"].par10_s == pytest.approx(1.5 * best)


def test_a_race_keeps_the_cores_busy_that_there_are(scores):
    for race in ("race of two", "race of all"):
        assert scores[race].core_s == pytest.approx(2 * scores[race].par10_s)
    assert scores["single best"].core_s == scores["single best"].par10_s


def test_a_run_without_proof_took_its_limit_at_least(scores):
    single = scores["single best"]
    assert single.at_least_s <= single.par2_s <= single.par10_s
    best = scores["virtual best"]
    assert best.at_least_s == best.par10_s


def test_the_worst_data_set_is_held_against_the_single_best(scores):
    assert scores["single best"].worst_set == 1.0
    assert 0 < scores["virtual best"].worst_set < 1


def test_one_data_set_has_no_interval(six_sets):
    one = six_sets.of(six_sets.groups == six_sets.groups[0])
    halves = np.where(np.arange(len(one)) % 2, "odd", "even")
    for score in evaluate(replace(one, questions=halves), {}, by="question-type"):
        assert np.isnan(score.par10_interval_s).all() and np.isfinite(score.par10_s)


def test_the_paper_s_backend_is_compared_with(scores):
    assert scores["always cp"].par10_s == pytest.approx(5.0)


@pytest.mark.parametrize("policy", ["boosted trees", "nearest neighbours"])
def test_models_without_a_limit_on_their_size_close_the_gap(scores, policy):
    assert scores[policy].closed > 0.5


def test_each_data_set_is_left_out_of_what_judges_it(six_sets):
    seen = []

    def policy(train):
        def fitted(test, factor):
            assert not set(train.groups) & set(test.groups)
            seen.append(set(test.groups))
            best = test.penalised(factor).min(axis=1)
            return Spent(best, best)

        return fitted

    left_out(six_sets, policy)
    assert [len(groups) for groups in seen] == [1] * 6


def test_one_data_set_is_not_enough_to_judge(six_sets):
    one = six_sets.of(six_sets.groups == six_sets.groups[0])
    with pytest.raises(InputError, match="fewer than two"):
        evaluate(one, {})
