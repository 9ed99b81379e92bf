"""Encodings that queries share are those of each query alone."""

import itertools
import pickle

import numpy as np
import pytest

from encoders.backends.prepared import structure_key
from encoders.core.errors import NothingAdmissibleError
from encoders.formulation import known_axes, layout
from encoders.formulation.encodings import Encodings
from encoders.formulation.pose import pose
from encoders.query.goal import ClassGoal
from portfolio import Explainer, Fixed, Increase, MaxChanges
from portfolio.engine.question import Question
from tests.support.category_tables import fitted, table
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.questions import random_constraints

ROWS = 6


def check_queries(explainer, rows, rules):
    """Compare encodings of some rows, without rules and with them; return how many are shared."""
    asker, encodings, shared = explainer._asker, Encodings(), 0
    model = asker.model
    cases = [(row, ()) for row in rows] + list(zip(rows, rules, strict=True))
    for (row, given), (target, view) in itertools.product(cases, enumerate(model.views)):
        goal, known = ClassGoal(target), list(encodings._known.values())
        try:
            query = Question(constraints=given).query(model, asker.read(row), goal)
            alone = pose(view.ensemble, view.cells, model.space, query)
        except NothingAdmissibleError:
            continue
        posed = encodings.pose(view.ensemble, view.cells, model.space, query)
        shared += any(posed.problem.axis is other.problem.axis for _, other in known)
        check_same(posed, alone, view.near(goal))
    return shared


def check_same(posed, alone, codes):
    """Check that two encodings are equal."""
    assert structure_key(posed.problem) == structure_key(alone.problem)
    np.testing.assert_array_equal(posed.problem.cost, alone.problem.cost)
    np.testing.assert_array_equal(posed.value, alone.value)
    np.testing.assert_array_equal(posed.source, alone.source)
    if len(codes):
        np.testing.assert_array_equal(posed.closest(codes, 5), alone.closest(codes, 5))


def test_shared_encodings_are_those_of_each_query():
    shared = 0
    for seed, kind in enumerate(KINDS):
        rng = np.random.default_rng(seed)
        X, specs = random_frame(rng)
        explainer = Explainer(random_model(rng, kind, X, 3), X)
        rows = [X.iloc[int(at)] for at in rng.integers(len(X), size=ROWS)]
        rules = [random_constraints(rng, specs, row.to_numpy())[0] for row in rows]
        shared += check_queries(explainer, rows, rules)
    assert shared > ROWS * len(KINDS)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_shared_encodings_of_native_categories_and_gaps(kind):
    shared = 0
    for seed in range(4):
        X, y = table(seed, gaps=seed % 2 == 0, categories=True)
        rows = [X.iloc[at] for at in range(ROWS)]
        rules = [[Fixed("job")], [Fixed("income"), MaxChanges(1)]][seed % 2]
        explainer = Explainer(fitted(kind, seed, X, y), X)
        shared += check_queries(explainer, rows, [rules] * ROWS)
    assert shared > ROWS


def test_copies_for_other_processes_have_no_encodings():
    X, y = table(0, gaps=False, categories=False)
    explainer = Explainer(fitted("lightgbm", 0, X, y), X)
    explainer.explain(X.iloc[0])
    views = explainer._asker.model.views
    assert any(view.encodings._known for view in views)
    assert not any(view.encodings._known for view in pickle.loads(pickle.dumps(views)))


@pytest.mark.parametrize("most_levels", [known_axes.MOST_LEVELS, 50])
def test_known_axes_are_those_of_each_query(most_levels, monkeypatch):
    """Queries with other costs and values share an object, which may have to forget axes."""
    monkeypatch.setattr(known_axes, "MOST_LEVELS", most_levels)
    rng = np.random.default_rng(3)
    X, y = table(1, gaps=True, categories=True)
    explainer = Explainer(fitted("lightgbm", 1, X, y), X)
    asker, encodings, computed = explainer._asker, Encodings(), []
    monkeypatch.setattr(layout, "_axes", counting(layout._axes, computed))
    model, view = asker.model, asker.model.views[1]
    n_features, queries = len(model.space.features), 0
    for at in rng.integers(8, size=60).tolist():
        settings = COSTS[int(rng.integers(len(COSTS)))]
        rules = [(), (Fixed("job"),), (Increase("income"),)][int(rng.integers(3))]
        asked = Question(constraints=rules, **settings)
        query = asked.query(model, asker.read(X.iloc[at]), ClassGoal(1))
        posed = encodings.pose(view.ensemble, view.cells, model.space, query)
        queries += 1
        some = len(computed)
        check_same(posed, pose(view.ensemble, view.cells, model.space, query), [])
        del computed[some:]
    assert len(computed) < queries * n_features / 2 or most_levels == 50
    assert sum(memory._sizes[0] for memory in encodings._axes) <= most_levels + max(computed)


COSTS = (
    {},
    {"norm": 0},
    {"norm": 2},
    {"norm": {"income": lambda before, after: abs(after - before)}},
    {"weights": {"income": 3.0}},
)


def counting(compute, sizes):
    """A function that notes the number of levels of each result."""

    def counted(*arguments):
        axes = compute(*arguments)
        sizes.append(sum(axis.cell.size for several in axes.by_column.values() for axis in several))
        return axes

    return counted


def test_values_that_compare_equal_or_unequal_have_axes_of_their_own():
    X, y = table(0, gaps=True, categories=False)
    explainer = Explainer(fitted("lightgbm", 0, X, y), X)
    asker, encodings = explainer._asker, Encodings()
    view, space = asker.model.views[1], asker.model.space
    for value in (0.0, -0.0, np.nan, 0.0, np.nan):
        row = X.iloc[0].copy()
        row["income"] = value
        query = Question().query(asker.model, asker.read(row), ClassGoal(1))
        posed = encodings.pose(view.ensemble, view.cells, space, query)
        alone = pose(view.ensemble, view.cells, space, query)
        assert posed.value.tobytes() == alone.value.tobytes()
