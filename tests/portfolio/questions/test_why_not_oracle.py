"""Conflicts and relaxations equal a brute force over every cell."""

import numpy as np
import pytest

from portfolio import Allowed, Decrease, Explainer, Fixed, Increase, MaxChanges, Range
from tests.support.brute import Spec, all_rows, distances, predicted, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large

BATCH, CASES, LARGE = 8, 2, 150
MOST = 80_000  # rows of a brute force


def exact(value):
    """A number that float32 holds."""
    return float(np.float32(value))


class Case:
    """A random model and question; every row there is, and which demands each of them breaks."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        self.X, self.specs = random_frame(rng)
        self.model = random_model(rng, kind, self.X, int(rng.integers(2, 4)))
        self.x = self.X.iloc[int(rng.integers(len(self.X)))].to_numpy()
        self.norm = [0, 1, 2, "inf"][seed % 4]
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        self.features, self.constraints, self.demands = {}, [], {}
        wide = [self._bounded(spec) for spec in self.specs]
        self._constrain()
        for name, low, high in self.limits():
            column = next(s.columns[0] for s in self.specs if s.name == name)
            cuts[column] = cuts[column] | {v for v in (low, high) if np.isfinite(v)}
        self.rows = all_rows(wide, self.x, self.model, dtype, cuts, MOST)
        if self.rows is None:
            return
        own = predicted(self.model, self.x[None, :])[0]
        self.reaches = predicted(self.model, self.rows) != own
        self.breaks = {words: broken(self.rows) for words, broken in self.demands.items()}
        self.explainer = Explainer(self.model, self.X, features=self.features)

    def limits(self):
        for name, own in self.features.items():
            if "bounds" in own:
                yield name, *own["bounds"]
        for rule in self.constraints:
            if isinstance(rule, Range):
                yield rule.feature, rule.lower, rule.upper

    def _bounded(self, spec):
        """Tight bounds and default actions, as demands; the spec without them."""
        own, rng = self.features.setdefault(spec.name, {}), self.rng
        if spec.kind == "categorical":
            own["columns"] = [self.X.columns[c] for c in spec.columns]
        column, now = spec.columns[0], self.x[spec.columns[0]]
        if spec.kind in ("numeric", "ordinal"):
            values = self.X.iloc[:, column]
            tight = [exact(v) for v in np.quantile(values, [0.2, 0.8])]
            if spec.kind == "ordinal":
                tight = [float(np.floor(tight[0])), float(np.ceil(tight[1]))]
            if rng.random() < 0.5 and tight[0] < tight[1]:
                own["bounds"] = tight
                low, high = min(tight[0], now), max(tight[1], now)
            else:
                low, high = min(spec.lower, now), max(spec.upper, now)
            self.demands["bounds " + spec.name] = lambda rows, c=column, lo=low, hi=high: (
                (rows[:, c] < lo) | (rows[:, c] > hi)
            )
            action = str(rng.choice(["free", "free", "fixed", "increase", "decrease"]))
            if action != "free":
                own["action"] = action
                self.demands["action " + spec.name] = self._directed(action, spec)
            if spec.kind == "ordinal":  # its cells are whole numbers: two beyond either end will do
                return Spec(spec.name, spec.kind, spec.columns, -2.0, 7.0)
            wide = abs(values).max() * 2 + 1
            return Spec(spec.name, spec.kind, spec.columns, -wide, wide)
        return spec

    def _directed(self, action, spec):
        now, columns = self.x[list(spec.columns)], list(spec.columns)
        return {
            "fixed": lambda rows: (rows[:, columns] != now).any(axis=1),
            "increase": lambda rows: rows[:, columns[0]] < now[0],
            "decrease": lambda rows: rows[:, columns[0]] > now[0],
        }[action]

    def _constrain(self):
        for spec in self.specs:
            name, kind = spec.name, self.rng.integers(6)
            action = self.features[name].get("action", "free")
            if kind == 0:
                self._add(Fixed(name), self._directed("fixed", spec))
            elif spec.kind == "categorical":
                if kind == 1:
                    labels = [
                        str(c).removeprefix(f"{name}_") for c in self.X.columns[[*spec.columns]]
                    ]
                    own = int(np.argmax(self.x[list(spec.columns)]))
                    kept = sorted({own, int(self.rng.integers(3))})
                    gone = [c for i, c in enumerate(spec.columns) if i not in kept]
                    self._add(
                        Allowed(name, [labels[i] for i in kept]),
                        lambda rows, gone=gone: rows[:, gone].any(axis=1),
                    )
            elif kind == 1 and action != "decrease":
                self._add(Increase(name), self._directed("increase", spec))
            elif kind == 2 and action != "increase":
                self._add(Decrease(name), self._directed("decrease", spec))
            elif kind in (3, 4) and spec.kind != "binary":
                self._range(spec)
        if self.rng.random() < 0.6:
            count = int(self.rng.integers(0, 2))
            self._add(MaxChanges(count), lambda rows: self.changes(rows) > count)

    def _range(self, spec):
        """A range around the row's own value."""
        column, now = spec.columns[0], self.x[spec.columns[0]]
        near = float(self.X.iloc[:, column].std()) * self.rng.random(2) * 0.5
        low, high = exact(now - near[0]), exact(now + near[1])
        if low <= now <= high:
            self._add(
                Range(spec.name, low, high),
                lambda rows: (rows[:, column] < low) | (rows[:, column] > high),
            )

    def _add(self, rule, broken):
        self.constraints.append(rule)
        self.demands[f"{type(rule).__name__} {getattr(rule, 'feature', '')}"] = broken

    def changes(self, rows):
        return sum((rows[:, s.columns] != self.x[list(s.columns)]).any(axis=1) for s in self.specs)

    def key(self, member):
        if member.kind == "constraint":
            return f"{type(member.constraint).__name__} {member.feature}"
        return f"{member.kind} {member.feature}"

    def possible(self, demands):
        """Rows that reach another class and keep these demands."""
        found = self.reaches.copy()
        for name in demands:
            found &= ~self.breaks[name]
        return found

    def nearest(self, demands):
        rows = self.rows[self.possible(demands)]
        if not len(rows):
            return np.inf
        units = []
        for spec in self.specs:
            low, high = self.features[spec.name].get("bounds", (spec.lower, spec.upper))
            units.append(high - low)
        p = np.inf if self.norm == "inf" else self.norm
        return distances(self.specs, self.x, rows, p, units, np.ones(len(units))).min()


@pytest.mark.slow
@pytest.mark.parametrize("batch", few_and_large(CASES, LARGE))
def test_conflicts_are_minimal_and_relaxations_least(batch):
    conflicts = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case(seed)
        if case.rows is None:
            continue
        found = case.explainer.why_not(
            case.X.iloc[0] * 0 + case.x, norm=case.norm, constraints=case.constraints
        )
        every = set(case.demands)
        where = f"seed {seed}: {case.constraints} {case.features}"
        if case.possible(every).any():
            assert found.status == "feasible", where
            continue
        conflicts += 1
        assert (found.status, found.stop_reason) == ("minimal", "proved"), where
        held = {case.key(member) for member in found.conflict}
        assert len(held) == len(found.conflict) and held <= every, where
        assert not case.possible(held).any(), where
        for name in held:
            assert case.possible(held - {name}).any(), (where, name)
        check_relaxations(case, found, every, held, where)
    assert conflicts >= 2


def check_relaxations(case, found, every, held, where):
    told = {case.key(r.member): r for r in found.relaxations}
    helping = {name for name in held if case.possible(every - {name}).any()}
    assert told.keys() == helping, where
    assert [r.distance for r in found.relaxations] == sorted(r.distance for r in told.values())
    for name, relaxation in told.items():
        others = every - {name}
        assert relaxation.dropped.status == relaxation.result.status == "optimal", where
        assert relaxation.dropped.distance == pytest.approx(case.nearest(others)), (where, name)
        assert relaxation.least, where
        if relaxation.limit == "all":
            assert not name.startswith(("Range", "MaxChanges", "bounds")), where
            continue
        rows = case.rows[case.possible(others)]
        if relaxation.limit == "count":
            measured = case.changes(rows)
            assert relaxation.after == measured.min(), where
            case.breaks["loosened"] = case.changes(case.rows) > relaxation.after
        else:
            column = next(s.columns[0] for s in case.specs if s.name == relaxation.member.feature)
            rule = relaxation.member.constraint
            lower, upper = (rule.lower, rule.upper) if rule else limits(case, relaxation)
            value, every_value = rows[:, column], case.rows[:, column]
            if relaxation.limit == "upper":
                assert relaxation.before == upper
                assert relaxation.after == value[value > upper].min(), (where, name)
                upper = relaxation.after
            else:
                assert relaxation.before == lower
                assert relaxation.after == value[value < lower].max(), (where, name)
                lower = relaxation.after
            case.breaks["loosened"] = (every_value < lower) | (every_value > upper)
        assert relaxation.distance == pytest.approx(case.nearest([*others, "loosened"])), where


def limits(case, relaxation):
    name = relaxation.member.feature
    spec = next(s for s in case.specs if s.name == name)
    now = case.x[spec.columns[0]]
    low, high = case.features[name].get("bounds", (spec.lower, spec.upper))
    return min(low, now), max(high, now)
