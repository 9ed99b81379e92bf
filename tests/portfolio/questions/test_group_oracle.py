"""Actions that rows share equal a brute force over all actions of small models."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from portfolio import Explainer, InputError, Range
from tests.support.brute import candidates, predicted, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large
from tests.support.questions import rules_for_many

BATCH, CASES, LARGE = 8, 1, 75
MOST = 25_000  # actions of a brute force
CLOSE = 1 + 1e-9


@dataclass
class Case:
    """A random model, rows of one class, and whom each action there is serves."""

    seed: int
    sizes: tuple[int, int] = (2, 7)  # of the group, the second is excluded

    def __post_init__(self):
        self.rng = rng = np.random.default_rng(self.seed)
        self.kind = KINDS[self.seed % len(KINDS)]
        self.X, self.specs = random_frame(rng)
        self.model = random_model(rng, self.kind, self.X, int(rng.integers(2, 4)))
        labels = predicted(self.model, self.X.to_numpy())
        self.target = rng.choice(np.unique(labels))
        adverse = np.flatnonzero(labels != self.target)
        self.at = rng.permutation(adverse)[: int(rng.integers(*self.sizes))]
        self.rows = self.X.to_numpy()[self.at]
        self.norm = rng.choice([0, 1, 2, math.inf])
        self.constraints, self.masks = rules_for_many(rng, self.specs)
        self.cost = self.served = None
        if len(self.at):
            self._enumerate()

    def _options(self, spec, cuts, dtype):
        """Each option of a feature as the columns' values that it makes of every row."""
        own = self.rows[:, spec.columns]
        found = [own]
        if spec.kind == "categorical":
            return found + [np.tile(one, (len(own), 1)) for one in np.eye(len(spec.columns))]
        values = {v for x in self.rows for (v,) in candidates(spec, x, cuts, dtype)}
        rules = [r for r in self.constraints if isinstance(r, Range) and r.feature == spec.name]
        limits = {float(limit) for rule in rules for limit in (rule.lower, rule.upper)}
        values = np.array(sorted(values | limits))
        if len(values) > 12:  # the ends of each cell, and some in between
            read, ends = values.astype(dtype).astype(float), np.zeros(values.size, bool)
            for side in ("left", "right"):  # whichever side a threshold itself belongs to
                apart = np.diff(np.searchsorted(sorted(cuts), read, side)) > 0
                ends |= np.r_[True, apart] | np.r_[apart, True]
            kept = ends | np.isin(values, list(limits)) | (self.rng.random(values.size) < 0.1)
            values = values[kept]
        found += [np.maximum(own, v) for v in values]
        return found + [np.minimum(own, v) for v in values]

    def _enumerate(self):
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        options = [self._options(s, cuts[s.columns[0]], dtype) for s in self.specs]
        if math.prod(map(len, options)) > MOST:
            return
        chosen = np.array(list(itertools.product(*(range(len(o)) for o in options))))
        n = len(self.rows)
        self.cost, served = np.full((len(chosen), n), np.inf), np.zeros((len(chosen), n), bool)
        for row in range(n):
            after = np.tile(self.rows[row], (len(chosen), 1))
            for spec, own, at in zip(self.specs, options, chosen.T, strict=True):
                after[:, spec.columns] = np.array([o[row] for o in own])[at]
            before = np.tile(self.rows[row], (len(chosen), 1))
            good = np.ones(len(chosen), bool)
            for mask in self.masks:
                good &= mask(after, before)
            for spec in self.specs:
                if spec.kind in ("numeric", "ordinal"):
                    value = after[:, spec.columns[0]]
                    good &= (value >= spec.lower) & (value <= spec.upper)
            unique, inverse = np.unique(after, axis=0, return_inverse=True)
            good &= (predicted(self.model, unique) == self.target)[np.ravel(inverse)]
            served[:, row] = good
            self.cost[:, row] = self._distance(after, before)
        self.served = served

    def _distance(self, after, before):
        parts = []
        for spec in self.specs:
            moved = (after[:, spec.columns] != before[:, spec.columns]).any(axis=1).astype(float)
            if spec.kind in ("numeric", "ordinal") and self.norm != 0:
                gap = np.abs(after - before)[:, spec.columns[0]] / (
                    (spec.upper - spec.lower) or 1.0
                )
                moved = gap if math.isinf(self.norm) else gap**self.norm
            parts.append(moved)
        table = np.column_stack(parts)
        return table.max(axis=1) if math.isinf(self.norm) else table.sum(axis=1)

    def budget(self):
        """None, what some row's nearest answer costs, or something in between."""
        known = np.where(self.served, self.cost, np.inf).min(axis=0)
        known = known[np.isfinite(known)]
        if self.rng.random() < 0.2 or not known.size:
            return None
        scale = self.rng.choice([1.0, 1.0, 1.3, 2.0, 0.9])
        return float(self.rng.choice(known) * scale)

    def most(self, k, budget):
        """The most rows that k actions serve."""
        good = self.served & (self.cost <= (math.inf if budget is None else budget * CLOSE))
        patterns = np.unique(good, axis=0)
        return max(
            int(np.any(some, axis=0).sum())
            for some in itertools.combinations_with_replacement(patterns, k)
        )


@pytest.mark.parametrize("batch", few_and_large(CASES, LARGE))
def test_actions_serve_as_many_rows_as_any(batch):
    check_seeds(range(batch * BATCH, (batch + 1) * BATCH), (2, 7))


@pytest.mark.slow
@pytest.mark.parametrize("batch", few_and_large(1, LARGE))
def test_actions_serve_as_many_rows_of_larger_groups_as_any(batch):
    check_seeds(range(10_000 + batch * BATCH, 10_000 + (batch + 1) * BATCH), (9, 25))


def check_seeds(seeds, sizes):
    """Compare the answers about random groups with those of a brute force."""
    seen = 0
    for seed in seeds:
        case = Case(seed, sizes)
        if case.served is None:
            continue
        explainer = Explainer(case.model, case.X)
        budget = case.budget()
        for k in (1, 2):
            where = f"seed {seed}, {case.kind}, k {k}, budget {budget}, {case.constraints}"
            most = case.most(k, budget)
            norm = "inf" if math.isinf(case.norm) else case.norm
            try:
                found = explainer.explain_group(
                    case.X.iloc[case.at],
                    actions=k,
                    budget=budget,
                    target=case.target,
                    norm=norm,
                    constraints=case.constraints,
                )
            except InputError as error:
                assert "contradictory" in str(error) and most == 0, where
                continue
            assert found.status == ("optimal" if most else "infeasible"), where
            assert found.covered == found.bound == most, where
            _check(case, found, budget, where)
            seen += 1
    assert seen >= 1


def _check(case, found, budget, where):
    """Every row served is, as the model itself says, within budget, by the action's own words."""
    if not found.covered:
        assert not found.actions and found.counterfactuals.empty, where
        return
    after = found.counterfactuals.to_numpy()
    assert (predicted(case.model, after) == case.target).all(), where
    alone = (case.served & (case.cost <= (math.inf if budget is None else budget * CLOSE))).any(0)
    before = case.X.loc[found.counterfactuals.index].to_numpy()
    distance = {m.id: m.distance for m in found.members}
    cost = case._distance(after, before)
    assert np.allclose([distance[i] for i in found.counterfactuals.index], cost, rtol=1e-9), where
    assert budget is None or (cost <= budget * CLOSE).all(), where
    assert all(mask(after, before).all() for mask in case.masks), where
    for member, able in zip(found.members, alone, strict=True):
        assert (member.state == "out of reach") == (not able), where
    for action in found.actions:
        for name in action.rows:
            row = case.X.loc[name].copy()
            for step in action.steps:
                _step(case, row, step)
            assert np.array_equal(row.to_numpy(), found.counterfactuals.loc[name].to_numpy()), where


def _step(case, row, step):
    spec = next(s for s in case.specs if s.name == step.feature)
    columns = [case.X.columns[c] for c in spec.columns]
    if step.way == "at least":
        row[columns[0]] = max(row[columns[0]], step.value)
    elif step.way == "at most":
        row[columns[0]] = min(row[columns[0]], step.value)
    elif spec.kind == "binary":
        row[columns[0]] = step.value
    else:
        row[columns] = [float(c.endswith(step.value)) for c in columns]
