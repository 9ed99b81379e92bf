"""Answers that may be missed by a little: brute force over cells and distances to them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from portfolio import Around, Explainer, Fixed, Retraining
from tests.support.brute import candidates, distances, predicted, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large

BATCH, CASES, LARGE = 8, 2, 100
MOST = 200_000  # rows of a brute force


class Case:
    """A random model, a row, radii, and every row where a cell or a distance to one ends."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.X, self.specs = random_frame(rng)
        self.model = random_model(rng, KINDS[seed % len(KINDS)], self.X, int(rng.integers(2, 4)))
        self.x = self.X.iloc[int(rng.integers(len(self.X)))]
        self.norm = [0, 1, 2, "inf"][seed % 4]
        self.radius = self._radius(rng)
        self.fixed = [spec.name for spec in self.specs if rng.random() < 0.15]
        if not self.radius:
            return
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        self.points = [self._points(spec, cuts, dtype) for spec in self.specs]
        if np.prod([float(len(p)) for p in self.points]) > MOST:
            self.radius = {}
            return
        shape = [len(points) for points in self.points]
        index = np.indices(shape).reshape(len(shape), -1)
        self.rows = np.empty((index.shape[1], self.X.shape[1]))
        for spec, points, at in zip(self.specs, self.points, index, strict=True):
            self.rows[:, spec.columns] = np.array(points)[at]
        self.shape = shape
        self.labels = predicted(self.model, self.rows)
        self.label = predicted(self.model, self.x.to_numpy()[None, :])[0]

    def _radius(self, rng):
        found = {}
        for spec in self.specs:
            if spec.kind in ("numeric", "ordinal") and rng.random() < 0.8:
                width = float(self.X.iloc[:, spec.columns[0]].std())
                found[spec.name] = (
                    1.0 if spec.kind == "ordinal" else float(width * rng.choice([0.1, 0.4]))
                )
        return found

    def _points(self, spec, cuts, dtype):
        own = candidates(spec, self.x.to_numpy(), cuts[spec.columns[0]], dtype)
        if spec.name not in self.radius or spec.kind == "ordinal":
            return sorted(own)
        radius, values = self.radius[spec.name], {value for (value,) in own}
        for value in sorted(values):
            for moved in (value - radius, value + radius):
                values |= {float(np.nextafter(moved, side)) for side in (-np.inf, np.inf)} | {moved}
        return [(v,) for v in sorted(values) if spec.lower <= v <= spec.upper]

    def safe(self, right):
        """Rows around which all are right, bool of the shape of the points."""
        right = right.reshape(self.shape)
        for axis, (spec, points) in enumerate(zip(self.specs, self.points, strict=True)):
            if spec.name not in self.radius:
                continue
            radius = Fraction(self.radius[spec.name])
            exact = [Fraction(point[0]) for point in points]
            near = np.array([[abs(a - b) <= radius for b in exact] for a in exact])
            moved = np.moveaxis(right, axis, 0)
            right = np.moveaxis(np.array([moved[own].all(axis=0) for own in near]), 0, axis)
        return right.ravel()

    def nearest(self, right):
        stays = np.ones(len(self.rows), dtype=bool)
        for spec in self.specs:
            if spec.name in self.fixed:
                own = self.x.to_numpy()[list(spec.columns)]
                stays &= (self.rows[:, spec.columns] == own).all(axis=1)
        rows = self.rows[self.safe(right) & stays]
        if not len(rows):
            return np.inf
        units = [spec.upper - spec.lower for spec in self.specs]
        p = np.inf if self.norm == "inf" else self.norm
        x = self.x.to_numpy()
        return distances(self.specs, x, rows, p, units, np.ones(len(units))).min()


@pytest.mark.slow
@pytest.mark.parametrize("batch", few_and_large(CASES, LARGE))
def test_answers_are_the_nearest_around_which_every_row_holds(batch):
    seen = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case(seed)
        if not case.radius:
            continue
        explainer = Explainer(case.model, case.X)
        others = [label for label in np.unique(case.labels) if label != case.label]
        target = others[0] if seed % 3 == 0 and others else None
        right = case.labels != case.label if target is None else case.labels == target
        found = explainer.explain_robust(
            case.x,
            Around(case.radius),
            target,
            norm=case.norm,
            constraints=[Fixed(name) for name in case.fixed],
        )
        where = f"seed {seed}: {case.radius} {case.fixed} {target} {found}"
        best = case.nearest(right)
        if best == np.inf:
            assert found.status == "infeasible", where
            continue
        assert found.status == "optimal", where
        assert found.distance == pytest.approx(best, rel=1e-6, abs=1e-9), (where, best)
        seen += 1
    assert seen >= 1


@pytest.mark.parametrize("trees", [1, 2, 7, 10, 100, 501])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_share_is_the_least_that_has_a_majority(trees, confidence):
    share = Retraining(confidence).share(trees)
    assert binom.cdf(trees // 2, trees, share) == pytest.approx(1 - confidence)
    assert Retraining(confidence).votes(trees) == int(np.ceil(share * trees))
    assert share > 0.5
    if trees >= 100:
        sure = Retraining(confidence, certainty=0.95)
        votes = sure.votes(trees)
        assert binom.sf(votes - 1, trees, share) <= 0.05 < binom.sf(votes - 2, trees, share)
