"""Random questions with relations, and what the oracle of tests.support.related needs of them."""

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from portfolio import (
    AllowedPairs,
    Becomes,
    Changes,
    Falls,
    Forbidden,
    Implies,
    JointCost,
    Linear,
    Rises,
    Stays,
    Together,
    Within,
)
from tests.support.related import holds

LABELS = ("x", "y", "z")


def table(seed):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": random.normal(size=120).round(2),
            "b": random.normal(size=120).round(2),
            "n": random.integers(0, 5, 120),
        }
    )
    own = random.integers(0, 3, 120)
    for code, label in enumerate(LABELS):
        X[f"c_{label}"] = (own == code).astype(int)
    weights = random.normal(size=4)
    y = (X[["a", "b", "n"]] @ weights[:3] + weights[3] * X["c_y"]).to_numpy()
    return X, (y > np.median(y)).astype(int), random


def model_of(kind, seed):
    match kind:
        case "tree":
            return DecisionTreeClassifier(max_depth=4, random_state=seed)
        case "forest":
            return RandomForestClassifier(3, max_depth=2, random_state=seed)
        case "extra":
            return ExtraTreesClassifier(3, max_depth=2, random_state=seed)
        case "xgboost":
            return XGBClassifier(n_estimators=3, max_depth=2, random_state=seed, n_jobs=1)
    return LGBMClassifier(n_estimators=3, max_depth=2, verbose=-1, random_state=seed, n_jobs=1)


def random_condition(random, before):
    name = str(random.choice(["a", "b", "n", "c"]))
    if name == "c":
        kinds = [Changes("c"), Stays("c"), Becomes("c", *random.choice(LABELS, 2, replace=False))]
        return kinds[random.integers(3)]
    by = float(random.choice([0.0, 0.25, 1.0]))
    low = round(float(before[name] + random.normal()), 2)
    kinds = [
        Changes(name),
        Stays(name),
        Rises(name, by),
        Falls(name, by),
        Within(name, low, round(low + 1.5, 2)),
    ]
    return kinds[random.integers(5)]


def random_relations(random, before):
    """A few relations, a judge of rows, sums and a joint cost for the oracle."""
    relations, judges, sums, joint = [], [], [], None
    for kind in random.choice(["implies", "together", "never", "pairs", "sum", "joint", "two"], 2):
        if kind == "implies":
            one, two = (random_condition(random, before) for _ in range(2))
            relations.append(Implies(one, two))
            judges.append(
                lambda r, one=one, two=two: not holds(one, r, before) or holds(two, r, before)
            )
        elif kind == "never":
            several = [random_condition(random, before) for _ in range(random.integers(1, 4))]
            relations.append(Forbidden(*several))
            judges.append(lambda r, several=several: not all(holds(c, r, before) for c in several))
        elif kind == "together":
            names = [str(n) for n in random.choice(["a", "b", "n", "c"], 2, replace=False)]
            relations.append(Together(*names))
            judges.append(lambda r, names=names: len({r[n] == before[n] for n in names}) == 1)
        elif kind == "pairs":
            every = [(v, label) for v in range(5) for label in LABELS]
            pairs = [every[i] for i in random.choice(15, 9, replace=False)]
            relations.append(AllowedPairs("n", "c", pairs))
            judges.append(lambda r, pairs=pairs: (r["n"], r["c"]) in pairs)
        elif kind == "joint" and joint is None:
            costs = {
                (v, label): round(float(random.random()), 2) for v in range(3) for label in "xy"
            }
            relations.append(JointCost("n", "c", costs))
            costs = {p: c for p, c in costs.items() if p != (before["n"], before["c"])}
            joint = lambda r, costs=costs: costs.get((r["n"], r["c"]), 0.0)  # noqa: E731
        elif kind in ("sum", "two"):
            names = random.choice(["a", "b", "n"], 2 if kind == "two" else 3, replace=False)
            factors = {str(n): float(random.choice([-1.0, 0.5, 1.0, 2.0])) for n in names}
            now = sum(f * before[n] for n, f in factors.items())
            bound = round(float(now + random.normal()), 1)
            relations.append(Linear(factors, "<=", bound))
            sums.append((factors, bound))
    return relations, lambda r: all(judge(r) for judge in judges), sums, joint


def marks_of(relations, name, before):
    """Where conditions change their mind about a feature."""
    found = {before[name]}
    for condition in conditions_of(relations):
        if condition.feature == name:
            if isinstance(condition, Rises):
                found.add(before[name] + condition.by)
            if isinstance(condition, Falls):
                found.add(before[name] - condition.by)
            if isinstance(condition, Within):
                found |= {condition.lower, condition.upper}
    return found


def conditions_of(relations):
    for relation in relations:
        if isinstance(relation, Implies):
            yield from (relation.if_, relation.then)
        if isinstance(relation, Forbidden):
            yield from relation.conditions
