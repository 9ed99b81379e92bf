"""Audits equal a brute force over the cells of every adverse row, and statistics by hand."""

import math
from collections import Counter

import numpy as np
import pytest

from portfolio import Explainer, Range
from tests.support.brute import all_rows, distances, predicted, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large
from tests.support.questions import rules_for_many
from tests.support.statistics import Bootstrap, fisher, newcombe, permuted, wilson

BATCH, CASES, LARGE = 2, 1, 125
MOST = 20_000  # rows of a brute force
NORMS = (0, 1, 2, "inf")
CONFIDENCES = (0.95, 0.9, 0.8)
RESAMPLES = 20_000


class Case:
    """A random model, some rows in groups, and what recourse costs each of the adverse ones."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.X, self.specs = random_frame(rng)
        self.model = random_model(rng, KINDS[seed % len(KINDS)], self.X, int(rng.integers(2, 4)))
        self.norm = NORMS[seed // len(KINDS) % 4]
        self.confidence = CONFIDENCES[seed % 3]
        self.rows = self.X.iloc[rng.permutation(len(self.X))[: int(rng.integers(8, 36))]]
        labels = predicted(self.model, self.rows.to_numpy())
        self.target = rng.choice(np.unique(labels))
        self.adverse = labels != self.target
        self.by, self.group = self._groups()
        self.rules, self.masks = rules_for_many(rng, self.specs)
        self.cost = self._costs()

    def _groups(self):
        """What parts the rows: a feature of the model, or something beside it."""
        named = [spec for spec in self.specs if spec.kind in ("binary", "ordinal")]
        if named and self.rng.random() < 0.5:
            spec = named[int(self.rng.integers(len(named)))]
            return spec.name, self.rows.iloc[:, spec.columns[0]].tolist()
        told = self.rng.choice(["a", "b", "c"], len(self.rows), p=[0.5, 0.3, 0.2]).tolist()
        told[0] = None
        return told, ["missing" if name is None else name for name in told]

    def _costs(self):
        """The cheapest admissible row of all, inf without one; None if there are too many."""
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        for rule in self.rules:
            if isinstance(rule, Range):
                spec = next(s for s in self.specs if s.name == rule.feature)
                cuts[spec.columns[0]] = cuts[spec.columns[0]] | {rule.lower, rule.upper}
        units = [(s.upper - s.lower) or 1.0 for s in self.specs]
        p, found = math.inf if self.norm == "inf" else self.norm, []
        for x in self.rows.to_numpy()[self.adverse]:
            rows = all_rows(self.specs, x, self.model, dtype, cuts, MOST)
            if rows is None:
                return None
            good = predicted(self.model, rows) == self.target
            before = np.repeat(x[None, :], len(rows), axis=0)
            for mask in self.masks:
                good &= mask(rows, before)
            cost = distances(self.specs, x, rows, p, units, [1.0] * len(units))
            found.append(cost[good].min(initial=math.inf))
        return np.array(found)

    def costs_of(self, name):
        return self.cost[np.array(self.group, dtype=object)[self.adverse] == name]


def here(job, tasks):
    """Answers a batch in this process."""
    for task in tasks:
        yield job.answer(task.now() or task)


def mean(*samples):
    return samples[0].mean(axis=-1) - (samples[1].mean(axis=-1) if len(samples) > 1 else 0.0)


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def check_interval(found, samples, statistic, confidence, where):
    """The number itself, and the bootstrap's interval."""
    assert found.exact and close(found.low, float(statistic(*samples))), where
    if min(map(len, samples)) < 2:
        assert found.ci_low is None and found.ci_high is None, where
        return
    if all(np.ptp(sample) <= 1e-12 * max(1.0, sample.max()) for sample in samples):
        assert close(found.ci_low, found.low) and close(found.ci_high, found.low), where
        return
    # Costs that differ by rounding alone are one cost.
    own = Bootstrap([np.round(s, 12) for s in samples], statistic, 1, RESAMPLES)
    for side, end in ((-1, found.ci_low), (1, found.ci_high)):
        places = own.places(confidence, side, accelerated=statistic is mean)
        assert own.near(end, places), (where, side, end, places)


def median(sample):
    return np.median(sample, axis=-1)


def check_group(case, group, counts, where):
    name, own = group.name, case.costs_of(group.name)
    assert (group.rows, group.adverse, group.unproved) == (counts[name], len(own), 0), where
    low, high = wilson(len(own), counts[name], case.confidence)
    share = group.adverse_share
    assert close(share.low, len(own) / counts[name]) and close(share.high, share.low), where
    assert close(share.ci_low, low) and close(share.ci_high, high), where
    if not len(own):
        assert group.without is None and group.mean is None and group.median is None, where
        return
    stuck, known = int(np.isinf(own).sum()), own[np.isfinite(own)]
    low, high = wilson(stuck, len(own), case.confidence)
    assert group.without.exact and close(group.without.low, stuck / len(own)), where
    assert close(group.without.ci_low, low) and close(group.without.ci_high, high), where
    if not len(known):
        assert group.mean is None and group.median is None, where
        return
    check_interval(group.mean, [known], mean, case.confidence, where)
    check_interval(group.median, [known], median, case.confidence, where)


def check_difference(case, gap, where):
    one, other = (case.costs_of(name) for name in (gap.name, gap.reference))
    tables = [(int(np.isinf(own).sum()), len(own)) for own in (one, other)]
    low, high = newcombe(*tables, case.confidence)
    assert gap.without.exact, where
    assert close(gap.without.low, tables[0][0] / tables[0][1] - tables[1][0] / tables[1][1]), where
    assert close(gap.without.ci_low, low) and close(gap.without.ci_high, high), where
    assert math.isclose(gap.without_p, fisher(*tables), rel_tol=1e-6), where
    known = [own[np.isfinite(own)] for own in (one, other)]
    if not all(map(len, known)):
        assert gap.mean is None and gap.mean_p is None, where
        return
    check_interval(gap.mean, known, mean, case.confidence, where)
    if min(map(len, known)) < 2:
        assert gap.mean_p is None, where
        return
    p, exact = permuted(*known, 2, RESAMPLES)
    room = 0 if exact else 5 * math.sqrt(2 * p * (1 - p / 2) * 2 / RESAMPLES) + 4 / RESAMPLES
    assert abs(gap.mean_p - p) <= room + 1e-9, (where, gap.mean_p, p, exact)


@pytest.mark.parametrize("batch", few_and_large(CASES, LARGE))
def test_audits_are_those_of_brute_force(batch):
    seen = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case(seed)
        if case.cost is None:
            continue
        where = f"seed {seed}, {KINDS[seed % len(KINDS)]}, norm {case.norm}, {case.rules}"
        audit = Explainer(case.model, case.X).audit(
            case.rows,
            case.by,
            case.target,
            norm=case.norm,
            constraints=case.rules,
            executor=here,
            confidence=case.confidence,
            resamples=RESAMPLES,
        )
        counts = Counter(case.group)
        assert audit.status == "optimal" and audit.stop_reason == "proved", where
        assert [g.name for g in audit.groups] == sorted(counts, key=lambda n: (-counts[n], str(n)))
        if case.adverse.any():
            told = audit.answers["distance"].to_numpy(dtype=float)
            # Brute force goes by what float32 tells apart; a limit may lie a little nearer.
            assert np.allclose(told, case.cost, rtol=1e-6, atol=1e-9), where
            case.cost = told
        for group in audit.groups:
            check_group(case, group, counts, where)
        first, needy = audit.groups[0], [g.name for g in audit.groups[1:] if g.adverse]
        names = [(gap.reference, gap.name) for gap in audit.differences]
        assert names == [(first.name, name) for name in needy if first.adverse], where
        for gap in audit.differences:
            check_difference(case, gap, where)
        seen += len(audit.groups)
    assert seen
