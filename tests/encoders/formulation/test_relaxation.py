"""Planes are nowhere on the wrong side of a term, and close to it where they are to be."""

import numpy as np
import pytest

from encoders.formulation.relaxation import Relaxation, above
from encoders.formulation.requirements import Requirement
from encoders.trees.blend import (
    Curve,
    Expression,
    Nested,
    Step,
    Term,
    odds_of,
    sigmoid_of,
    vote_of,
)

POINTS = Step("points", x=np.array([-1.0, 0.0, 0.001, 2.0]), y=np.array([0.0, 0.1, 0.6, 0.9]))
CURVES = {
    "none": Curve(),
    "sigmoid": sigmoid_of(1.7, 1e-15),
    "sigmoid in float32": sigmoid_of(1.0, 1e-6, 1e-5),
    "points": Curve((POINTS,), 1e-9),
    "points of a sigmoid": Curve((*sigmoid_of(1.0, 1e-7).steps, POINTS), 1e-9),
    "logit of a sigmoid": Curve(
        (*sigmoid_of(1.0, 1e-7).steps, Step("logit", shift=1e-12, error=1e-7),
         *sigmoid_of(0.8, 1e-7).steps), 1e-9,
    ),
    "odds that end at 1": odds_of(0.0),
    "odds that go on as a line": odds_of(1.0),
    "vote": vote_of(0.0),
    "vote with a band": vote_of(0.1),
}  # fmt: skip
TREES, LEAVES = 3, 3


def term(name, weight, n_leads):
    minimum = "plain" if "vote" in name else "smooth"
    return Term(weight, CURVES[name], np.eye(n_leads), np.zeros(n_leads), minimum)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("weight", [1.5, -0.7])
def test_a_plane_is_nowhere_below_the_term_and_close_in_a_narrow_box(name, weight):
    rng = np.random.default_rng(0)
    for n_leads in (1, 3):
        own = term(name, weight, n_leads)
        for width in (30.0, 3.0, 1e-2):
            low = rng.normal(size=n_leads) * 2
            high = low + width * rng.random(n_leads)
            inside = low + (high - low) * rng.random((300, n_leads))
            given = np.concatenate([inside, [low, high]])
            plane = above(own, low, high, inside[0])
            inner = own.curve.limits(own.inner(given))[int(weight > 0)]
            heights = given @ plane.slope + plane.level
            assert (heights >= weight * inner - 1e-15).all()
            if width < 0.1 and name in ("none", "sigmoid"):
                assert (heights - weight * inner < 2e-2 * abs(weight)).all()


class Choices:
    """Stands for a problem whose choices are the leaves themselves."""

    tree_start = np.arange(TREES + 1) * LEAVES

    @staticmethod
    def active_leaves(levels):
        return levels


@pytest.mark.slow
@pytest.mark.parametrize("nested", [0.0, 1.3, -0.8])
@pytest.mark.parametrize("name", ["none", "sigmoid in float32", "points", "vote with a band"])
def test_parts_lose_no_choice_and_split_down_to_those_that_reach_the_goal(name, nested):
    rng = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(*[np.arange(LEAVES)] * TREES), axis=-1).reshape(-1, TREES)
    choices = grid + Choices.tree_start[:-1]
    for _ in range(2):
        score = rng.normal(size=(TREES * LEAVES, 3))
        sums = score[choices].sum(axis=1)
        others = (*term_of_one(name, -0.6), *term_of_one("sigmoid", 0.5))
        own = Expression(np.zeros(3), 0.2, (term(name, 1.0, 3), *others))
        if nested:
            inner = Expression(np.array([0.5, 0.0, -1.0]), 0.1, (*own.terms, *others), 1e-7)
            curve = Nested(nested, CURVES["sigmoid in float32"], inner)
            own = Expression(np.array([0.0, 0.1, 0.0]), 0.2, others[:1], nested=(curve,))
        reached_by = own.limits(sums)[1]
        needed = float(np.quantile(reached_by, 0.7))
        relaxation = Relaxation(score, Choices.tree_start, np.zeros(3), [Requirement(own, needed)])
        open_, kept = [relaxation.whole], set()
        splits = 0
        while open_:
            part = open_.pop()
            rows = relaxation.rows(part)
            admitted = np.all(
                [row.weight[choices].sum(axis=1) >= row.minimum for row in rows], axis=0
            )
            refused = np.flatnonzero(admitted & (reached_by < needed - 1e-9))
            halves = None
            for choice in choices[refused]:
                row = relaxation.cut(part, Choices, choice)
                if row is not None:
                    assert (row.weight[choices[admitted & (reached_by >= needed)]].sum(axis=1)
                            >= row.minimum).all()  # fmt: skip
                    continue
                halves = relaxation.split(part, Choices, choice)
                if halves is not None:
                    break
            if halves is None:
                kept |= set(np.flatnonzero(admitted).tolist())
            else:
                splits += 1
                open_ += halves
            assert splits < 1000
        assert set(np.flatnonzero(reached_by >= needed).tolist()) <= kept


def term_of_one(name, weight):
    minimum = "plain" if "vote" in name else "smooth"
    return (Term(weight, CURVES[name], np.array([[0.0, 1.0, -1.0]]), np.zeros(1), minimum),)
