"""Answers of forests trained anew: brute force over cells, with the threshold by its definition."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from portfolio import Explainer, HardVotingClassifier, InputError, Retraining
from tests.support.brute import all_rows, as_frame, distances, predicted, thresholds
from tests.support.ensembles import random_frame
from tests.support.parts import few_and_large
from tests.support.questions import random_constraints

BATCH, CASES, LARGE = 10, 1, 125
MOST = 60_000  # rows of a brute force
NORMS = (0, 1, 2, "inf")
SCALES = ("range", "none", "std")
LABELS = np.array(["no", "perhaps", "yes"])


def needed_share(confidence, trees):
    """The least probability of a vote with which new trees have a strict majority so surely."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        enough = binom.cdf(trees // 2, trees, middle) <= 1 - confidence
        low, high = (low, middle) if enough else (middle, high)
    return high


def needed_votes(confidence, certainty, trees):
    """The first number of votes that is rare enough below that probability; None if none is."""
    share = needed_share(confidence, trees)
    for votes in range(trees + 1):
        tail = math.fsum(binom.pmf(k, trees, share) for k in range(votes, trees + 1))
        if tail <= 1 - certainty + 1e-12:
            return votes
    return None


class Case:
    """A random forest, a row, what is asked, and every row that could be nearest."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.X, self.specs = random_frame(rng)
        self.hard, self.trees = seed % 3 == 2, int(rng.integers(1, 8))
        self.model = self._forest(seed)
        self.x = self.X.iloc[int(rng.integers(len(self.X)))]
        values = self.x.to_numpy()
        cuts, dtype = thresholds(self.model, self.X.shape[1])
        self.rows = all_rows(self.specs, values, self.model, dtype, cuts, MOST)
        if self.rows is None:
            return
        self.norm, self.scale = NORMS[seed // 3 % 4], SCALES[seed // 12 % 3]
        certainty = float(rng.choice([0.55, 0.6, 0.8])) if rng.random() < 0.3 else None
        self.against = Retraining(float(rng.choice([0.5, 0.6, 0.75, 0.9, 0.99])), certainty)
        self.constraints, self.masks = random_constraints(rng, self.specs, values)
        self.weights = [float(w) for w in rng.choice([0.5, 1.0, 2.0], len(self.specs))]
        classes = self.model.classes_
        own = predicted(self.model, values[None, :])[0]
        self.target = rng.choice(classes[classes != own])
        self.given = None if len(classes) == 2 and rng.random() < 0.5 else self.target

    def _forest(self, seed):
        rng, X = self.rng, self.X.to_numpy()
        n_classes = 2 if self.hard else int(rng.integers(2, 4))
        wave = X / (X.std(axis=0) + 1e-9) @ rng.normal(size=X.shape[1])
        wave += rng.normal(size=len(X)) * 0.3
        y = np.digitize(wave, np.quantile(wave, np.linspace(0, 1, n_classes + 1)[1:-1]))
        kind = (RandomForestClassifier, ExtraTreesClassifier)[seed % 2]
        depth = int(rng.integers(1, 4))
        forest = kind(self.trees, max_depth=depth, random_state=seed)
        return (HardVotingClassifier(forest) if self.hard else forest).fit(self.X, LABELS[y])

    def good(self):
        """Rows that are decided so, and have what is needed."""
        good = predicted(self.model, self.rows) == self.target
        for mask in self.masks:
            good &= mask(self.rows)
        at = list(self.model.classes_).index(self.target)
        sure, certain = self.against.confidence, self.against.certainty
        votes = None if certain is None else needed_votes(sure, certain, self.trees)
        if certain is not None and votes is None:
            return None
        if not self.hard:
            share = needed_share(sure, self.trees) if certain is None else votes / self.trees
            probability = self.model.predict_proba(as_frame(self.model, self.rows))[:, at]
            return good & (probability >= share - 1e-12) & (probability > 0.5)
        own = np.sum([self._vote(tree) == at for tree in self.model.forest_.estimators_], axis=0)
        share = needed_share(sure, self.trees) * self.trees - 1e-9
        return good & (own >= (share if certain is None else votes))

    def _vote(self, tree):
        return np.ravel(tree.predict(self.rows)).astype(int)

    def costs(self):
        units = []
        for spec in self.specs:
            values = self.X.iloc[:, spec.columns[0]]
            width = (spec.upper - spec.lower) or 1.0
            units.append(
                {"range": width, "none": 1.0, "std": float(values.std(ddof=0))}[self.scale]
            )
        p = math.inf if self.norm == "inf" else self.norm
        return distances(self.specs, self.x.to_numpy(), self.rows, p, units, self.weights)


@pytest.mark.slow
@pytest.mark.parametrize("batch", few_and_large(CASES, LARGE))
def test_answers_are_the_nearest_with_so_many_votes(batch):
    seen = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case(seed)
        if case.rows is None:
            continue
        good, where = case.good(), f"seed {seed}: {case.against} {case.constraints} {case.given}"

        def ask(case=case):
            return Explainer(case.model, case.X).explain_robust(
                case.x,
                case.against,
                case.given,
                norm=case.norm,
                scale=case.scale,
                weights=case.weights,
                constraints=case.constraints,
            )

        if good is None:
            with pytest.raises(InputError, match="too few"):
                ask()
            continue
        best = case.costs()[good].min(initial=math.inf)
        found = ask()
        assert found.status == ("infeasible" if math.isinf(best) else "optimal"), (where, best)
        assert math.isclose(found.distance, best, rel_tol=1e-9, abs_tol=1e-12), (where, best, found)
        seen += 1
    assert seen >= BATCH // 2
