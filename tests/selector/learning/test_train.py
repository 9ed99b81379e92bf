"""Recipes, the choice of what a split must save, and whether a new diagram is better."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.core.errors import InputError
from selector.descriptors import NAMES
from selector.diagram import Diagram, Leaf
from selector.learning.train import Recipe, choose_alpha, compare, in_folds, manifest
from selector.schedule import alone

RECIPE = Recipe(alpha=0.01, thresholds=6)
ALWAYS_CP = Diagram((Leaf(alone("cp")),))


def test_accuracy_counts_rows(six_sets):
    learned = replace(RECIPE, objective="accuracy", alpha=0.0).learn(six_sets)
    best = six_sets.penalised().argmin(axis=1)
    rows = [dict(zip(NAMES, row, strict=True)) for row in six_sets.values.tolist()]
    picked = [learned.diagram.decide(row).leaf for row in rows]
    assert all(len(leaf.schedule) == 1 for leaf in picked)
    wrong = sum(six_sets.backends[k] != leaf.backend for k, leaf in zip(best, picked, strict=True))
    assert wrong == pytest.approx(learned.cost)


def test_an_unknown_skeleton_is_refused_with_those_that_are_known(six_sets):
    with pytest.raises(InputError, match=r"unknown skeleton '9'\. Use one of 1, 1-2"):
        replace(RECIPE, skeleton="9").learn(six_sets)


def test_a_split_that_saves_much_is_cheap_enough(six_sets):
    assert choose_alpha(six_sets, Recipe(thresholds=3), (0.0, 0.9)).alpha == 0.0


def test_splits_on_noise_are_too_dear(six_sets):
    noise = replace(six_sets, values=six_sets.values.copy())
    place = NAMES.index("left_options")
    noise.values[:, place] = np.random.default_rng(0).normal(size=len(six_sets))
    assert choose_alpha(noise, Recipe(thresholds=3), (0.0, 0.9)).alpha == 0.9


def test_one_data_set_is_enough_to_learn(six_sets):
    one = six_sets.of(six_sets.groups == six_sets.groups[0])
    assert choose_alpha(one, Recipe(thresholds=3), (0.0, 0.9)).alpha in (0.0, 0.9)


def test_folds_are_of_whole_data_sets(six_sets):
    folded = in_folds(six_sets)
    assert len(set(folded.groups.tolist())) == 5
    pairs = set(zip(six_sets.groups.tolist(), folded.groups.tolist(), strict=True))
    assert len(pairs) == 6


def test_a_better_diagram_may_take_the_place_of_the_old_one(six_sets):
    verdict = compare(six_sets, RECIPE.diagram, ALWAYS_CP)
    assert verdict.better and verdict.unseen_s < verdict.old_unseen_s


def test_neither_a_worse_one_nor_the_same_one_may(six_sets):
    good = RECIPE.diagram(six_sets)
    assert not compare(six_sets, lambda train: ALWAYS_CP, good).better
    assert not compare(six_sets, lambda train: good, good).better


def test_the_manifest_tells_what_was_learned_from(six_sets):
    told = manifest(six_sets, RECIPE, RECIPE.learn(six_sets))
    assert told["rows"] == 180 and told["metrics"] == ["total"]
    assert told["data_sets"] == [f"set{i}" for i in range(6)]
    assert told["flow"][0] == 1.0
