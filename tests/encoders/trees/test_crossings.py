"""Searches for the numbers at which answers change, once or several times."""

import numpy as np
import pytest

from encoders.trees.crossings import LimitTests, find_crossings, unsure_around
from encoders.trees.floats import Stretches, floats, ordered


def search(functions, low, high, limit=0.0):
    """Return the crossings of a limit by functions of a column each, and their evaluations."""
    n, calls = len(low), []
    tests = LimitTests(np.arange(n), np.zeros(n, dtype=np.int64), np.broadcast_to(limit, n).copy())
    starts = {at: np.unique([low[at], high[at]]) for at in range(n)}

    def outputs_of(numbers):
        calls.append(sum(part.size for part in numbers.values()))
        return {at: functions(at, part)[:, None] for at, part in numbers.items()}

    return find_crossings(outputs_of, tests, starts), (outputs_of, tests, starts), calls


def as_outputs(answer):
    """Return outputs that are at most 0 where an answer is yes."""
    return lambda at, values: np.where(answer(at, values), 0.0, 1.0)


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
    found = search(as_outputs(lambda at, values: (values <= edge[at]) != falling), low, high)[0]
    assert np.array_equal(found.last, edge) and (found.falls == falling).all()
    constant = as_outputs(lambda at, values: (values <= edge[at] + 100) != falling)
    never = search(constant, low, high)[0]
    assert (never.last == (-np.inf if falling else np.inf)).all()


@pytest.mark.parametrize("n_columns", [1, 3, 300])
def test_as_many_columns_as_there_are_find_theirs(n_columns):
    random = np.random.default_rng(n_columns)
    edge = random.normal(size=n_columns) * 10.0 ** random.integers(-300, 300, n_columns)
    low, high = edge - random.random(n_columns) * abs(edge), np.full(n_columns, 1e308)
    low[0] = high[0] = edge[0]  # one number alone
    low[-1] = edge[-1]  # the first one is the last one before
    found = search(as_outputs(lambda at, values: values <= edge[at]), low, high)[0]
    assert np.array_equal(found.last[1:], edge[1:]) and not found.falls.any()
    assert found.last[0] == np.inf


@pytest.mark.parametrize("n_limits", [1, 4, 40, 900, 5000])
@pytest.mark.parametrize("name", ["linear", "falling", "plateaus", "curved", "steps"])
def test_limits_of_one_column_are_found_by_a_plain_bisection_too(name, n_limits):
    random = np.random.default_rng(n_limits)
    function = {
        "linear": lambda v: (v - 45.3) / 17.7,
        "falling": lambda v: 3.0 - v * 0.013,
        "plateaus": lambda v: (v + 1e9) * 7.0,
        "curved": lambda v: np.cbrt(v + 1.0),
        "steps": lambda v: np.floor(v / 3.0),
    }[name]
    ends = np.array([-1e6, 2e6])
    limit = np.quantile(function(random.normal(0, 50, 9)), random.random(n_limits))
    column = np.zeros(n_limits, dtype=np.int64)
    found = find_crossings(
        lambda numbers: {at: function(each)[:, None] for at, each in numbers.items()},
        LimitTests(column, column, limit),
        {0: ends},
    )
    low, high = (np.full(n_limits, rank) for rank in ordered(ends))
    begins = function(ends[:1]) <= limit
    while (low + 1 < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # without overflow
        same = (function(floats(middle)) <= limit) == begins
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    assert np.array_equal(found.last, floats(low)) and (found.falls == ~begins).all()


@pytest.mark.parametrize("name", ["few", "many"])
def test_linear_functions_need_few_evaluations(name):
    n_limits = {"few": 5, "many": 6000}[name]
    column, calls = np.zeros(n_limits, dtype=np.int64), []

    def outputs_of(numbers):
        calls.append(numbers[0].size)
        return {0: (numbers[0][:, None] - 45.3) / 17.7}

    limit = np.random.default_rng(0).uniform(1, 9, n_limits)
    find_crossings(outputs_of, LimitTests(column, column, limit), {0: np.array([-1e6, 1e6])})
    assert len(calls) <= {"few": 3, "many": 6}[name]
    assert sum(calls) <= {"few": 200, "many": 5 * n_limits}[name]


@pytest.mark.parametrize("seed", range(5))
def test_no_answer_outside_a_stretch_is_another_than_expected(seed):
    random = np.random.default_rng(seed)
    edge, noise = (
        random.normal(size=7) * 10.0 ** random.integers(-9, 9, 7),
        random.integers(0, 9, 7),
    )
    limit = ordered(edge)

    def ask(at, values):
        moved = ordered(values)
        return moved + moved * 2654435761 % 17 * noise[at] % (1 + 16 * noise[at]) <= limit[at]

    low, high = edge - np.abs(edge) - 1, edge + np.abs(edge) + 1
    found, (outputs_of, tests, starts), _ = search(as_outputs(ask), low, high)
    after, until, wide = unsure_around(outputs_of, tests, found, starts)
    assert not wide.any() and ((after <= found.last) & (found.last <= until)).all()
    near = floats(ordered(found.last) + np.arange(-900, 900)[:, None])
    wrong = tests.answers(outputs_of, near) != found.expected(near)
    inside = (near > after) & (near <= until)
    assert not (wrong & ~inside).any()
    assert (wrong.any(axis=0) == (after < until)).all()
    assert ordered(until).max() and (ordered(until) - ordered(after) <= 300).all()


def test_what_is_no_matter_of_last_bits_is_told():
    ends = np.array([0.0]), np.array([2.0])
    found = search(lambda at, values: np.sin(values), *ends, limit=0.5)[0]
    waves = as_outputs(lambda at, values: (np.sin(values * 1e6) <= 0.5) | (values < 0.4))
    _, (outputs_of, tests, starts), _ = search(waves, *ends)
    assert unsure_around(outputs_of, tests, found, starts)[2].all()


def test_a_start_with_another_answer_than_expected_is_no_matter_of_last_bits():
    jumps = as_outputs(lambda at, values: (values <= 1.5) & (values != 1.0))
    _, (outputs_of, tests, starts), _ = search(jumps, np.array([0.0]), np.array([2.0]))
    found = find_crossings(outputs_of, tests, starts)
    assert found.last[0] == 1.5 and not unsure_around(outputs_of, tests, found, starts)[2].any()
    starts = {0: np.array([0.0, 1.0, 2.0])}
    assert unsure_around(outputs_of, tests, found, starts)[2].all()


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


@pytest.mark.parametrize(
    ("function", "last"),
    [
        (lambda v: np.where(v < 3.3, -1.0, 1.0), np.nextafter(3.3, 0)),
        (lambda v: np.where(v < 3.3, -1.0, np.nan), np.nextafter(3.3, 0)),
        (lambda v: np.where(v < 3.3, -np.inf, np.inf), np.nextafter(3.3, 0)),
        (lambda v: np.where(v < 3.3, -1e308, 1e308), np.nextafter(3.3, 0)),
        (lambda v: np.ones_like(v), -np.inf),
        (lambda v: np.full_like(v, -np.inf), np.inf),
    ],
)
def test_outputs_that_cannot_be_interpolated_are_searched(function, last):
    ends = np.array([-700.0]), np.array([700.0])
    assert search(lambda at, values: function(values), *ends)[0].last.tolist() == [last]
