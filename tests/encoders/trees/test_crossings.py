"""Searches for the numbers at which answers change, once or several times."""

import numpy as np
import pytest

from encoders.trees.floats import (
    Stretches,
    bracket_zeros,
    find_crossings,
    floats,
    ordered,
    unsure_around,
)


def test_whole_numbers_stand_in_the_order_of_floats():
    random = np.random.default_rng(0)
    values = np.sort(np.concatenate([random.normal(size=99) * 1e300, random.normal(size=99), [0]]))
    assert (np.diff(ordered(values)) > 0).all()
    assert np.array_equal(floats(ordered(values)), values)
    assert np.array_equal(floats(ordered(values) + 1), np.nextafter(values, np.inf))


@pytest.mark.parametrize("falling", [False, True])
def test_crossings_are_found_to_the_last_bit(falling):
    edge = np.array([-3.7, -1e-300, 0.0, 2.5e-9, 41.0, 9.9])
    low, high = np.full(edge.size, -10.0), np.full(edge.size, 50.0)
    found = find_crossings(lambda values: (values <= edge) != falling, low, high)
    assert np.array_equal(found.last, edge) and (found.falls == falling).all()
    never = find_crossings(lambda values: (values <= edge + 100) != falling, low, high)
    assert (never.last == (-np.inf if falling else np.inf)).all()


@pytest.mark.parametrize("questions", [1, 3, 300, 5000])
def test_as_many_questions_as_there_are_find_theirs(questions):
    random = np.random.default_rng(questions)
    edge = random.normal(size=questions) * 10.0 ** random.integers(-300, 300, questions)
    low, high = edge - random.random(questions) * abs(edge), np.full(questions, 1e308)
    low[0] = high[0] = edge[0]  # one number alone
    low[-1] = edge[-1]  # the first one is the last one before
    found = find_crossings(lambda values: values <= edge, low, high)
    assert np.array_equal(found.last[1:], edge[1:]) and not found.falls.any()
    assert found.last[0] == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_no_answer_outside_a_stretch_is_another_than_expected(seed):
    random = np.random.default_rng(seed)
    edge, noise = (
        random.normal(size=7) * 10.0 ** random.integers(-9, 9, 7),
        random.integers(0, 9, 7),
    )
    limit = ordered(edge)

    def ask(values):
        moved = ordered(values)
        return moved + moved * 2654435761 % 17 * noise % (1 + 16 * noise) <= limit

    low, high = edge - np.abs(edge) - 1, edge + np.abs(edge) + 1
    found = find_crossings(ask, low, high)
    after, until, wide = unsure_around(ask, found, low, high)
    assert not wide.any() and ((after <= found.last) & (found.last <= until)).all()
    near = floats(ordered(found.last) + np.arange(-900, 900)[:, None])
    wrong = ask(near) != found.expected(near)
    inside = (near > after) & (near <= until)
    assert not (wrong & ~inside).any()
    assert (wrong.any(axis=0) == (after < until)).all()
    assert ordered(until).max() and (ordered(until) - ordered(after) <= 300).all()


def test_what_is_no_matter_of_last_bits_is_told():
    found = find_crossings(lambda v: np.sin(v) <= 0.5, np.array([0.0]), np.array([2.0]))
    ask = lambda v: (np.sin(v * 1e6) <= 0.5) | (v < 0.4)  # noqa: E731
    assert unsure_around(ask, found, np.array([0.0]), np.array([2.0]))[2].all()


def test_stretches_that_overlap_are_joined():
    found = Stretches.joined(np.array([5.0, 1.0, 2.0, 8.0]), np.array([6.0, 3.0, 4.0, 8.0]))
    assert found.after.tolist() == [1.0, 5.0] and found.until.tolist() == [4.0, 6.0]
    values = np.array([0.0, 1.0, 1.5, 4.0, 4.5, 6.0, 7.0, np.nan])
    assert found.hold(values).tolist() == [False, False, True, True, False, True, False, False]
    assert found.down(values)[:7].tolist() == [0, 1, 1, 1, 4.5, 5, 7]
    beyond = np.nextafter([4.0, 4.0, 6.0], np.inf)
    assert found.up(values)[[2, 3, 5]].tolist() == beyond.tolist()
    empty = Stretches.joined(np.zeros(0), np.zeros(0))
    assert not empty.hold(values).any() and np.array_equal(empty.up(values), values, equal_nan=True)


@pytest.mark.parametrize("falling", [False, True])
def test_zeros_of_linear_functions_are_bracket_zeros(falling):
    random = np.random.default_rng(0)
    slope = random.lognormal(0, 5, 400) * (-1 if falling else 1)
    shift = random.normal(size=400) * 10.0 ** random.integers(-3, 6, 400)
    low, high = np.full(400, -1e15), np.full(400, 1e15)

    def excess(values):
        return slope * (values - shift)

    below, above, found = bracket_zeros(excess, low, high)
    assert found.mean() > 0.95 and (ordered(above[found]) - ordered(below[found]) <= 64).all()
    assert (below[~found] == low[~found]).all() and (above[~found] == high[~found]).all()
    crossings = find_crossings(lambda values: excess(values) <= 0, low, high)
    assert ((below <= crossings.last) & (crossings.last <= above)).all()


@pytest.mark.parametrize(
    "excess",
    [
        lambda values: np.where(values < 3.3, -1.0, 1.0),
        lambda values: np.where(values < 3.3, np.nan, values),
        lambda values: np.exp(values) - 1e9,
        lambda values: np.ones_like(values),
        lambda values: np.full_like(values, np.inf),
    ],
)
def test_intervals_without_a_crossing_are_never_returned(excess):
    low, high = np.array([-700.0]), np.array([700.0])
    below, above, found = bracket_zeros(excess, low, high)
    answers = excess(np.stack([low, below, above, high]))[:, 0] <= 0
    assert low <= below < above <= high
    assert not found[0] or (answers.tolist() == [answers[0]] * 2 + [not answers[0]] * 2)
