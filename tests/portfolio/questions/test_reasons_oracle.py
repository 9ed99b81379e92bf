"""Reasons, necessary features, contrasts and radii equal a brute force over every cell."""

import itertools
import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from portfolio import Explainer, InputError
from portfolio.questions.side import Side
from tests.support.brute import all_rows, distances, predicted, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large
from tests.support.questions import random_constraints

BATCH, CASES, LARGE = 8, 1, 75
MOST = 60_000  # rows of a brute force


class Case:
    """A random model, a row, and every row there is with the model's own decisions."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.X, self.specs = self._frame()
        self.model = random_model(rng, self.kind, self.X, int(rng.integers(2, 4)))
        self.at = int(rng.integers(len(self.X)))
        self.x = self.X.iloc[self.at].to_numpy()
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        self.rows = all_rows(self.specs, self.x, self.model, dtype, cuts, MOST)
        if self.rows is None:
            return
        self.cuts, self.dtype = cuts, dtype
        self.labels = predicted(self.model, self.rows)
        self.label = predicted(self.model, self.x[None, :])[0]
        self.flips = self.labels != self.label
        self.apart = self.differences(self.rows, self.x)
        self.explainer = Explainer(self.model, self.X)

    def _frame(self):
        """Up to six features, for which two frames are put side by side."""
        first, specs = random_frame(self.rng)
        if self.rng.random() < 0.4:
            return first, specs
        second, more = random_frame(self.rng)
        second.columns = [f"g{name}" for name in second.columns]
        at = first.shape[1]
        more = [
            replace(s, name=f"g{s.name}", columns=tuple(c + at for c in s.columns)) for s in more
        ]
        return pd.concat([first, second], axis=1), specs + more

    def differences(self, rows, x):
        """Where rows differ from another one, bool (n_rows, n_features)."""
        return np.column_stack(
            [(rows[:, s.columns] != x[list(s.columns)]).any(1) for s in self.specs]
        )

    def suffices(self, kept):
        """Whether no row that keeps these features is decided otherwise."""
        return not (self.flips & ~self.apart[:, list(kept)].any(axis=1)).any()

    @property
    def names(self):
        return [spec.name for spec in self.specs]


@lru_cache(BATCH)
def made(seed):
    """Tests of one part share its models."""
    return Case(seed)


def cases(batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = made(seed)
        if case.rows is not None:
            yield seed, case


PARTS = few_and_large(CASES, LARGE)


@pytest.mark.slow
@pytest.mark.parametrize("batch", PARTS)
def test_reasons_are_those_of_deletion_and_the_fewest(batch):
    seen = 0
    for seed, case in cases(batch):
        order = (
            list(np.random.default_rng(seed).permutation(len(case.specs)))
            if seed % 2
            else range(len(case.specs))
        )
        kept = set(range(len(case.specs)))
        for feature in order:
            if case.suffices(kept - {feature}):
                kept -= {feature}
        named = [case.names[i] for i in order] if seed % 2 else None
        found = case.explainer.reasons(case.X.iloc[case.at], order=named)
        where = f"seed {seed}, {case.kind}"
        assert found.status == "optimal" and found.holds and found.label == case.label, where
        assert found.features == tuple(case.names[i] for i in sorted(kept)), where
        for name, row in found.flips.items():
            assert predicted(case.model, row.to_numpy()[None, :])[0] != case.label, where
            apart = case.differences(row.to_numpy()[None, :], case.x)[0]
            others = [i for i in kept if case.names[i] != name]
            assert apart[case.names.index(name)] and not apart[others].any(), where
        sizes = range(len(case.specs) + 1)
        sets = (s for n in sizes for s in itertools.combinations(range(len(case.specs)), n))
        fewest = len(next(s for s in sets if case.suffices(s)))
        small = case.explainer.reasons(case.X.iloc[case.at], smallest=True)
        assert small.status == "optimal" and small.size == fewest == small.lower_bound, where
        assert case.suffices([case.names.index(name) for name in small.features]), where
        assert found.lower_bound <= fewest, where
        seen += 1
    assert seen >= BATCH // 2


@pytest.mark.parametrize("batch", PARTS)
def test_reasons_are_the_same_whatever_walks_find(batch, monkeypatch):
    walk = Side.walk
    for seed, case in cases(batch):
        kept = set(range(len(case.specs)))
        for feature in range(len(case.specs)):
            if case.suffices(kept - {feature}):
                kept -= {feature}
        for turn in range(2):
            luck = np.random.default_rng((seed, turn))

            def some(side, free, luck=luck):
                return walk(side, free) if luck.random() < 0.6 else None

            with monkeypatch.context() as patch:
                patch.setattr(Side, "walk", some)
                found = case.explainer.reasons(case.X.iloc[case.at])
            where = f"seed {seed}, {case.kind}, {turn}"
            assert found.status == "optimal", where
            assert found.features == tuple(case.names[i] for i in sorted(kept)), where
            for name, row in found.flips.items():
                apart = case.differences(row.to_numpy()[None, :], case.x)[0]
                others = [i for i in kept if case.names[i] != name]
                assert apart[case.names.index(name)] and not apart[others].any(), where


@pytest.mark.slow
@pytest.mark.parametrize("batch", PARTS)
def test_radius_equals_brute_force(batch):
    for seed, case in cases(batch):
        p = float(np.random.default_rng(seed).choice([0, 1, 2, math.inf]))
        bounds = None if seed % 3 == 0 else "features"
        rows, flips = case.rows, case.flips
        if bounds is None:
            most = float(np.finfo(case.dtype).max)
            wide = [
                replace(s, lower=-most, upper=most) if s.kind == "numeric" else s
                for s in case.specs
            ]
            with np.errstate(over="ignore"):
                rows = all_rows(wide, case.x, case.model, case.dtype, case.cuts, MOST)
            if rows is None:
                continue
            flips = predicted(case.model, rows) != case.label
        ones = [1.0] * len(case.specs)
        with np.errstate(over="ignore"):
            nearest = distances(case.specs, case.x, rows[flips], p, ones, ones).min(
                initial=math.inf
            )
        norm = "inf" if math.isinf(p) else p
        x, where = case.X.iloc[case.at], f"seed {seed}, {case.kind}, norm {norm}, {bounds}"
        found = case.explainer.robustness(x, norm=norm, bounds=bounds)
        assert found.status == ("infeasible" if math.isinf(nearest) else "optimal"), where
        assert found.distance == nearest or math.isclose(found.distance, nearest, rel_tol=1e-9), (
            where
        )
        if math.isinf(nearest):
            assert case.explainer.verify(x, 10.0, norm=norm, bounds=bounds).robust, where
            continue
        for share in (0.3, 0.99, 1.0, 1.5):
            held = case.explainer.verify(x, share * found.distance, norm=norm, bounds=bounds)
            assert held.robust is (share < 1), f"{where}, {share}"
            assert (held.adversarial is None) == (share < 1), where
            assert held.status == ("infeasible" if share < 1 else "optimal"), where
            if share >= 1:
                row = held.adversarial.to_numpy()[None, :]
                assert predicted(case.model, row)[0] != case.label, where


@pytest.mark.parametrize("batch", PARTS)
def test_necessary_features_equal_brute_force(batch):
    for seed, case in cases(batch):
        constraints, masks = random_constraints(np.random.default_rng(seed), case.specs, case.x)
        good = case.flips.copy()
        for mask in masks:
            good &= mask(case.rows)
        where = f"seed {seed}, {case.kind}, {constraints}"
        try:
            found = case.explainer.necessary(case.X.iloc[case.at], constraints=constraints)
        except InputError as error:
            assert "contradictory" in str(error) and not good.any(), where
            continue
        if not good.any():
            assert found.status == "infeasible" and not found.features, where
            continue
        wanted = [n for i, n in enumerate(case.names) if case.apart[good, i].all()]
        assert found.status == "optimal" and list(found.features) == wanted, where


@pytest.mark.parametrize("batch", PARTS)
def test_reason_codes_are_ranked_by_what_each_alone_costs(batch):
    for seed, case in cases(batch):
        units = [(s.upper - s.lower) or 1.0 for s in case.specs]
        cost = distances(case.specs, case.x, case.rows, 1, units, [1.0] * len(units))
        alone = {}
        for i, name in enumerate(case.names):
            only = case.flips & case.apart[:, i] & (case.apart.sum(axis=1) == 1)
            if only.any():
                alone[name] = cost[only].min()
        where = f"seed {seed}, {case.kind}"
        found = case.explainer.reason_codes(case.X.iloc[case.at])
        if not case.flips.any():
            assert found.status == "infeasible" and not found.codes, where
            continue
        assert found.status == "optimal" and len(found.codes) <= 4, where
        single = [code for code in found.codes if code.alone]
        assert len(single) == min(4, len(alone)), where
        assert np.allclose([c.cost for c in single], sorted(alone.values())[:4], rtol=1e-9), where
        assert all(math.isclose(c.cost, alone[c.feature], rel_tol=1e-9) for c in single), where
        rest = [i for i, name in enumerate(case.names) if name not in alone]
        together = [code for code in found.codes if not code.alone]
        if len(alone) < 4 and together:
            inside = ~np.delete(case.apart, rest, axis=1).any(axis=1) & case.flips
            assert math.isclose(together[0].cost, cost[inside].min(), rel_tol=1e-9), where
        assert [code.rank for code in found.codes] == list(range(1, len(found.codes) + 1)), where


@pytest.mark.parametrize("batch", PARTS)
def test_contrast_takes_the_fewest_values(batch):
    for seed, case in cases(batch):
        labels = predicted(case.model, case.X.to_numpy())
        others = np.flatnonzero(labels != case.label)
        if not others.size:
            continue
        y = case.X.iloc[int(np.random.default_rng(seed).choice(others))]
        differ = np.flatnonzero(case.differences(y.to_numpy()[None, :], case.x)[0])
        label = predicted(case.model, y.to_numpy()[None, :])[0]
        for size in range(1, differ.size + 1):
            sets = list(itertools.combinations(differ.tolist(), size))
            mixed = np.repeat(case.x[None, :], len(sets), axis=0)
            for row, features in zip(mixed, sets, strict=True):
                for i in features:
                    row[list(case.specs[i].columns)] = y.to_numpy()[list(case.specs[i].columns)]
            if (predicted(case.model, mixed) == label).any():
                break
        found = case.explainer.contrast(case.X.iloc[case.at], y)
        where = f"seed {seed}, {case.kind}"
        assert found.status == "optimal" and found.after == label, where
        assert len(found.features) == size == found.lower_bound, where
        assert [case.names.index(n) for n in found.differences] == differ.tolist(), where
        row = found.row.to_numpy()
        taken = case.differences(row[None, :], y.to_numpy())[0]
        assert not taken[[case.names.index(n) for n in found.features]].any(), where
        assert predicted(case.model, row[None, :])[0] == label, where
