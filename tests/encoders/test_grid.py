"""Numbers on a grid: what people write, and a proof about just these."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from encoders.core.errors import InputError
from encoders.query.grid import Grid
from portfolio import Explainer


@pytest.mark.parametrize("step", [0.01, 0.25, 1.0, 100.0, 0.3, 7.5, 1e-6])
def test_ends_are_the_nearest_multiples_on_either_side(step):
    grid, random = Grid(step), np.random.default_rng(0)
    bound = np.concatenate([random.normal(size=500) * 1000 * step, np.arange(-20, 20) * step])
    low, high = grid.at_least(bound), grid.at_most(bound)
    assert (low >= bound).all() and (high <= bound).all()
    assert grid.holds(low).all() and grid.holds(high).all()
    assert (low - bound < step).all() and (bound - high < step).all()
    assert (np.abs(grid.nearest(bound) - bound) <= step * 0.5000001).all()


@pytest.mark.parametrize("step", [1.0, 0.3, 1e-6])
def test_every_number_is_a_multiple_where_float64_is_no_finer_than_the_step(step):
    bound = np.array([2.0**53, 1e30, -1e30, -(2.0**60)]) * step
    grid = Grid(step)
    for found in (grid.at_least(bound), grid.at_most(bound), grid.nearest(bound)):
        assert found.tolist() == bound.tolist()
    assert grid.holds(bound).all()


@pytest.mark.parametrize("step", [1.0, 0.3, 0.7, 1e-6])
@pytest.mark.parametrize("magnitude", [2.0**40, 2.0**50, 2.0**52, 2.0**54])
def test_ends_are_multiples_at_any_magnitude(step, magnitude):
    grid, random = Grid(step), np.random.default_rng(1)
    bound = random.uniform(magnitude / 2, magnitude, 500) * step * random.choice([-1, 1], 500)
    low, high = grid.at_least(bound), grid.at_most(bound)
    assert (low >= bound).all() and (high <= bound).all()
    assert grid.holds(low).all() and grid.holds(high).all()


def test_multiples_of_a_hundredth_are_the_numbers_that_people_write():
    assert Grid(0.01).nearest(np.array([0.0704, 1.1])).tolist() == [0.07, 1.1]
    assert Grid(0.3).nearest(np.array([0.91, 1.5])).tolist() == [0.9, 1.5]


@pytest.mark.parametrize("step", [0, -1, float("inf"), True, "x"])
def test_a_step_that_is_none_is_told(step):
    with pytest.raises(InputError, match="a step must be a finite number above 0"):
        Grid(step)


def test_the_optimum_on_a_grid_is_that_of_trying_all_of_it():
    random = np.random.default_rng(4)
    X = pd.DataFrame(random.normal(size=(200, 2)) * [30, 2], columns=["income", "debt"])
    y = (X.income - 10 * X.debt + random.normal(size=200) * 5 > 0).astype(int)
    forest = RandomForestClassifier(15, max_depth=5, random_state=0).fit(X, y)
    asked = {"income": {"step": 5}, "debt": {"digits": 1}}
    explainer = Explainer(forest, X, features=asked)
    spread = X.max() - X.min()
    grids = [
        np.arange(np.ceil(X.income.min() / 5), np.floor(X.income.max() / 5) + 1) * 5,
        np.arange(np.ceil(X.debt.min() * 10), np.floor(X.debt.max() * 10) + 1) / 10,
    ]
    for place in range(6):
        row = X.iloc[place]
        result = explainer.explain(row)
        values = [np.append(grid, own) for grid, own in zip(grids, row, strict=True)]
        every = np.stack(np.meshgrid(*values), axis=-1).reshape(-1, 2)
        good = forest.predict(pd.DataFrame(every, columns=X.columns)) == result.target
        cost = (np.abs(every - row.to_numpy()) / spread.to_numpy()).sum(axis=1)
        assert result.distance == pytest.approx(cost[good].min(), rel=1e-9)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"step": 5, "digits": 1}, "has both step=5 and digits=1"),
        ({"digits": 99}, "digits must be a whole number"),
        ({"step": -5}, "feature a: a step must be a finite number above 0"),
        ({"kind": "ordinal", "step": 5}, "step and digits are for numeric features"),
    ],
)
def test_a_grid_that_cannot_be_is_told(entry, words):
    X = pd.DataFrame({"a": [0.5, 1.5, 2.5, 3.5]})
    forest = RandomForestClassifier(2, random_state=0).fit(X, [0, 0, 1, 1])
    with pytest.raises(InputError, match=words):
        Explainer(forest, X, features={"a": entry})
