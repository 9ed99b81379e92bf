"""Regions hold, and can't be widened, by a brute force over every cell."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer, Plausibility
from tests.support.brute import all_rows, predicted, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large

BATCH, CASES, LARGE = 8, 2, 100
MOST = 80_000  # rows of a brute force


class Case:
    """A random model, a row, and every row of the feature space with the model's own decisions."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.X, self.specs = random_frame(rng)
        self.model = random_model(rng, KINDS[seed % len(KINDS)], self.X, int(rng.integers(2, 4)))
        self.x = self.X.iloc[int(rng.integers(len(self.X)))]
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        self.rows = all_rows(self.specs, self.x.to_numpy(), self.model, dtype, cuts, MOST)
        if self.rows is None:
            return
        self.labels = predicted(self.model, self.rows)
        self.explainer = Explainer(self.model, self.X)
        self.order = [self.specs[i].name for i in rng.permutation(len(self.specs))[:2]]

    def inside(self, spec, lower, upper):
        value = self.rows[:, spec.columns[0]]
        return (lower <= value) & (value <= upper)

    def among(self, spec, labels):
        if spec.kind == "binary":
            return np.isin(self.rows[:, spec.columns[0]], [float(v) for v in labels])
        named = [c for c in spec.columns if self.X.columns[c].split("_")[1] in labels]
        return self.rows[:, named].any(axis=1)

    def box(self, region):
        return {
            spec.name: (
                self.among(spec, region[spec.name].labels)
                if region[spec.name].lower is None
                else self.inside(spec, region[spec.name].lower, region[spec.name].upper)
            )
            for spec in self.specs
        }

    def wider(self, spec, span):
        """The feature's values with one more cell, or one more category."""
        if span.lower is None:
            every = (
                [str(self.X.columns[c]).split("_")[1] for c in spec.columns]
                if spec.kind == "categorical"
                else [int(v) for v in spec.levels]
            )
            for label in every:
                if label not in span.labels:
                    yield self.among(spec, [*span.labels, label])
            return
        value = np.unique(self.rows[:, spec.columns[0]])
        if (value > span.upper).any():
            yield self.inside(spec, span.lower, value[value > span.upper].min())
        if (value < span.lower).any():
            yield self.inside(spec, value[value < span.lower].max(), span.upper)


def cases(batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case(seed)
        if case.rows is not None:
            yield seed, case


def check(case, region, label, where):
    assert (region.status, region.stop_reason) == ("optimal", "proved"), where
    box = case.box(region)
    assert (case.labels[np.logical_and.reduce([*box.values()])] == label).all(), where
    for spec in case.specs:
        others = [own for name, own in box.items() if name != spec.name]
        assert region[spec.name].whole == (not [*case.wider(spec, region[spec.name])])
        for more in case.wider(spec, region[spec.name]):
            decided = case.labels[np.logical_and.reduce([more, *others])]
            assert (decided != label).any(), (where, spec)


@pytest.mark.slow
@pytest.mark.parametrize("batch", few_and_large(CASES, LARGE))
def test_regions_hold_and_are_as_wide_as_they_get(batch):
    seen = 0
    for seed, case in cases(batch):
        label = predicted(case.model, case.x.to_numpy()[None, :])[0]
        order = case.order if seed % 2 else None
        check(case, case.explainer.region(case.x, order=order), label, f"seed {seed}")
        result = case.explainer.explain(case.x)
        if result.changed:
            check(case, result.region(), result.target, f"answer of seed {seed}")
            seen += 1
    assert seen >= BATCH // 2


def test_regions_with_a_forest_of_each_class_are_those_without():
    """Every class then has trees of its own, which regions do not ask."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = (X.a + X.b > 0).astype(int) + (X.c > 0.5)
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    plausible = Plausibility.fit(X, model.predict(X), contamination=0.2, n_estimators=3)
    for at in range(3):
        found = Explainer(model, X, plausibility=plausible).region(X.iloc[at])
        assert found.status == "optimal"
        for name, own in (("a", 0), ("b", 1), ("c", 2)):
            span = found[name]
            rows = np.repeat(X.iloc[[at]].to_numpy(), 50, axis=0)
            rows[:, own] = np.linspace(span.lower, span.upper, 50)
            assert (predicted(model, rows) == predicted(model, rows[:1])).all()
