"""Relations between features: optima against an oracle, words for what does not fit."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import xgboost
import z3
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from encoders.posing.within_cells import Span, UnrepresentableError, cheapest_numbers
from portfolio import (
    AllowedPairs,
    Becomes,
    Changes,
    Explainer,
    Falls,
    Fixed,
    Forbidden,
    Implies,
    InputError,
    JointCost,
    Linear,
    MaxChanges,
    Precedence,
    Range,
    Rises,
    Stays,
    Together,
    Within,
)
from tests.support.related import holds, intervals, optimum

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
    if kind == "tree":
        return DecisionTreeClassifier(max_depth=4, random_state=seed)
    return RandomForestClassifier(3, max_depth=2, random_state=seed)


def thresholds(model, column):
    trees = [model] if isinstance(model, DecisionTreeClassifier) else model.estimators_
    return {
        float(value)
        for tree in trees
        for value in tree.tree_.threshold[tree.tree_.feature == column]
    }


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


def compare(seed, kind, norm, strategy="auto"):
    """One random question against the oracle; whether there was an answer."""
    X, y, random = table(seed)
    model = model_of(kind, seed).fit(X, y)
    explainer = Explainer(model, X)
    row = X.iloc[int(random.integers(len(X)))].astype(float)
    own = int(model.predict(row.to_frame().T)[0])
    before = {n: float(row[n]) for n in "abn"} | {"c": LABELS[int(row[3:].argmax())]}
    relations, allowed, sums, joint = random_relations(random, before)
    spec = {}
    for column, name in enumerate("abn"):
        low, high = float(X[name].min()), float(X[name].max())
        if name == "n":
            spec[name] = (high - low, [float(v) for v in range(int(low), int(high) + 1)])
        else:
            marks = marks_of(relations, name, before)
            spec[name] = (high - low, intervals(thresholds(model, column), low, high, marks))
    spec["c"] = (None, list(LABELS))

    def wanted(values):
        coded = [values["a"], values["b"], values["n"], *(float(values["c"] == v) for v in LABELS)]
        return model.predict(pd.DataFrame([coded], columns=X.columns))[0] != own

    best = optimum(spec, before, wanted, allowed, sums, joint, norm)
    result = explainer.explain(row, constraints=relations, norm=norm, strategy=strategy)
    told = f"{seed} {kind} {norm} {strategy} {relations}"
    if best == np.inf:
        assert result.status == "infeasible", told
        return False
    near = 1e-3 if strategy == "smt" else 1e-4  # which stops at a gap
    assert result.status == "optimal" or strategy == "smt", f"{told}: {result}"
    assert result.distance == pytest.approx(best, rel=near, abs=1e-5), f"{told}: {result}"
    after = result.counterfactual
    values = {n: float(after[n]) for n in "abn"} | {"c": LABELS[int(after[3:].argmax())]}
    assert allowed(values), told
    for factors, bound in sums:
        assert sum(f * values[n] for n, f in factors.items()) <= bound + 1e-12, told
    assert model.predict(after.to_frame().T)[0] != own
    return True


@pytest.mark.parametrize("kind", ["tree", "forest"])
@pytest.mark.parametrize("norm", [0, 1, "inf"])
def test_optima_are_those_of_the_oracle(kind, norm):
    answered = [compare(seed, kind, norm) for seed in range(3)]
    assert any(answered)


@pytest.mark.parametrize("strategy", ["search", "cp", "milp", "maxsat", "smt", "plain-cp"])
def test_every_backend_takes_them(strategy):
    for seed in range(20, 22):
        compare(seed, "forest", 1, strategy)


@pytest.mark.large
def test_many_random_questions():
    count = int(os.environ.get("RELATION_QUESTIONS", "600"))
    ways = itertools.product(["tree", "forest"], [0, 1, "inf"])
    for seed, (kind, norm) in zip(range(100, 100 + count), itertools.cycle(ways), strict=False):
        compare(seed, kind, norm)


@pytest.fixture(scope="module")
def trades():
    """A model with native categories, and its frame."""
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "region": pd.Categorical(random.choice(["n", "s", "e", "w"], 300)),
            "trade": pd.Categorical(random.choice([f"t{i}" for i in range(8)], 300)),
            "size": random.integers(1, 9, 300).astype(float),
        }
    )
    y = (X["trade"].cat.codes % 3 == 0) ^ (X["region"].isin(["n", "w"])) & (X["size"] > 3)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=3, enable_categorical=True)
    return model.fit(X, y.astype(int)), X


@pytest.mark.parametrize("at", range(4))
def test_native_categories_are_related(trades, at):
    model, X = trades
    explainer, row = Explainer(model, X), X.iloc[at]
    own = model.predict(X.iloc[[at]])[0]
    allowed = [("n", "t0"), ("s", "t3"), ("s", "t4"), ("e", "t5"), ("w", "t1"), ("w", "t2")]
    costs = {("s", "t4"): 0.25, ("w", "t1"): 0.5, ("e", "t5"): 2.0}
    every = list(itertools.product("news", [f"t{i}" for i in range(8)], range(1, 9)))
    grid = pd.DataFrame(every, columns=X.columns)
    for name in ("region", "trade"):
        grid[name] = grid[name].astype(X[name].dtype)
    decided = model.predict(grid.astype({"size": float}))
    best = np.inf
    for values, label in zip(every, decided, strict=True):
        region, trade, size = values
        if label == own or (region, trade) not in allowed:
            continue
        moved = [region != row["region"], trade != row["trade"]]
        if moved[1] and not size >= row["size"] + 2:
            continue
        extra = costs.get((region, trade), 0.0) if any(moved) else 0.0
        cost = sum(moved) + abs(size - row["size"]) / 7 + extra
        best = min(best, cost)
    relations = [
        AllowedPairs("region", "trade", allowed),
        Implies(Changes("trade"), Rises("size", by=2)),
        JointCost("region", "trade", costs),
    ]
    result = explainer.explain(row.to_frame().T.astype(X.dtypes), constraints=relations)
    if best == np.inf:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal" and result.distance == pytest.approx(best)


def test_categories_do_not_go_back(credit, refused):
    model, X = credit
    explainer = Explainer(model, X)
    for order in itertools.permutations(["free", "own", "rent"]):
        constraints = [Precedence("home", order)]
        result = explainer.explain(refused, target="granted", constraints=constraints)
        moved = [c for c in result.changed if c.feature == "home"]
        assert all(order.index(c.after) > order.index(c.before) for c in moved)


def test_a_row_that_breaks_a_relation_does_not_stay(credit):
    model, X = credit
    explainer = Explainer(model, X)
    row = X[model.predict(X) == "granted"].iloc[0]
    assert explainer.explain(row, target="granted").distance == 0
    limit = float(row["income"]) - 1
    result = explainer.explain(
        row, target="granted", constraints=[Linear({"income": 1.0}, "<=", limit)]
    )
    assert result.status == "optimal" and result.counterfactual["income"] <= limit


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Linear({"rooms": 1}, "<=", 3), "there is no feature 'rooms'"),
        (Linear({"home": 1}, "<=", 3), "categories, which can't be added up"),
        (Linear({"age": 1}, "<", 3), "the sign must be"),
        (Linear({"age": 0}, "<=", 3), "a factor that is not 0"),
        (Linear({"age": "1"}, "<=", 3), "no finite number"),
        (Together("age"), "at least two features"),
        (Implies(Rises("home"), Changes("age")), "categories have no order"),
        (Implies("age", Changes("age")), "is not a condition"),
        (Forbidden(Becomes("home", "castle")), "no category 'castle'"),
        (Forbidden(Rises("age", by=-1)), "by must be 0"),
        (Forbidden(Within("age", 3, 1)), "lower must not exceed upper"),
        (Precedence("age", [1, 2]), "has no categories"),
        (JointCost("age", "age", {(1, 1): 1}), "two different features"),
        (JointCost("age", "home", {(30, "own"): -1}), "a cost must be from 0"),
    ],
)
def test_what_does_not_fit_is_told(explainer, refused, relation, words):
    with pytest.raises(InputError, match=words):
        explainer.explain(refused, target="granted", constraints=[relation])


def test_numbers_that_may_be_any_go_with_plain_norms(explainer, refused):
    relation = Linear({"income": 1, "age": 1}, "<=", 100)
    with pytest.raises(InputError, match="income may be any number"):
        explainer.explain(refused, target="granted", norm=2, constraints=[relation])


def test_batches_take_relations(credit, explainer):
    model, X = credit
    rows = X[model.predict(X) == "refused"].iloc[:4]
    relations = [Linear({"income": 1, "age": 0.5}, "<=", 90), Together("age", "employed")]
    table = explainer.explain_batch(rows, target="granted", constraints=relations)
    for at, (_, row) in enumerate(rows.iterrows()):
        alone = explainer.explain(row, target="granted", constraints=relations)
        assert table["status"].iloc[at] == alone.status
        if alone.status == "optimal":
            assert table["distance"].iloc[at] == pytest.approx(alone.distance)


@pytest.mark.parametrize("strategy", ["auto", "search", "cp", "milp", "maxsat", "plain-cp"])
def test_what_no_row_keeps_is_infeasible(credit, trades, refused, strategy):
    model, X = credit
    explainer = Explainer(model, X)
    broken = [
        [Forbidden(Within("age", 0, 200))],
        [Forbidden(Becomes("home", str(own))) for own in ("free", "own", "rent")],
    ]
    for constraints in broken:
        result = explainer.explain(refused, "granted", constraints=constraints, strategy=strategy)
        assert result.status == "infeasible", (constraints, result)
    model, X = trades
    own = X["trade"].iloc[0]
    constraints = [Forbidden(Becomes("trade", own)), Fixed("trade")]
    result = Explainer(model, X).explain(X.iloc[[0]], constraints=constraints, strategy=strategy)
    assert result.status == "infeasible"


@pytest.mark.parametrize("few", [False, True], ids=["both classes", "one class"])
def test_sums_and_joint_costs_go_with_blends(few):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": random.normal(50, 20, 150).round(2),
            "u": random.exponential(3, 150).round(3),
            "a": random.integers(0, 6, 150) * 1.0,
            "k": random.integers(0, 3, 150) * 1.0,
        }
    )
    y = ((X.x / 20 - X.u + X.a + random.normal(size=150)) > 2.5).astype(int)
    if few:
        y = np.r_[[1, 1], np.zeros(148, int)]
    boosted = [
        ("x", xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1)),
        ("g", GradientBoostingClassifier(n_estimators=4, max_depth=2)),
        ("r", RandomForestClassifier(3, max_depth=2, random_state=0)),
    ]
    model = VotingClassifier(boosted[: 2 if few else 3], voting="hard").fit(X, y)
    explainer = Explainer(model, X)
    rivals = X.iloc[random.integers(0, 150, 4000)].to_numpy().copy()
    for column in range(4):  # rows mixed of others
        rivals[:, column] = X.iloc[random.integers(0, 150, 4000), column]
    rivals = pd.DataFrame(rivals, columns=X.columns)
    decided, seen = model.predict(rivals), 0
    width = X.max() - X.min()
    for at in range(8):
        row = X.iloc[at]
        bound = round(float(0.1 * row.x - 3 * row.u + at % 3), 2)
        relations = [Linear({"x": 0.1, "u": -3.0}, ">=", bound), JointCost("a", "k", {(1, 1): 0.5})]
        result = explainer.explain(row, constraints=relations)
        own = model.predict(row.to_frame().T)[0]
        kept = (0.1 * rivals.x - 3 * rivals.u >= bound) & (decided != own)
        pair = (rivals.a == 1) & (rivals.k == 1) & ~((row.a == 1) & (row.k == 1))
        # The column k has three values, so it is whole numbers like a.
        cost = ((rivals - row).abs() / width).sum(axis=1) + 0.5 * pair
        assert result.status == ("optimal" if result.changed else "infeasible")
        assert result.distance <= cost[kept].min() + 1e-9 if kept.any() else True
        seen += result.status == "optimal"
    assert few or seen >= 6


def test_a_limit_on_changes_counts_numbers_that_move_within_their_cells():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.uniform(0, 10, 300), "b": random.uniform(0, 10, 300)})
    tree = DecisionTreeClassifier(max_depth=1).fit(X, (X["a"] > 5).astype(int))
    explainer, row = Explainer(tree, X), pd.Series({"a": 3.0, "b": 4.0})
    total = Linear({"a": 1, "b": 1}, ">=", 12)
    given = {"target": 1, "weights": {"a": 1, "b": 0.1}}
    two = explainer.explain(row, constraints=[total, MaxChanges(2)], **given)
    one = explainer.explain(row, constraints=[total, MaxChanges(1)], **given)
    assert len(two.changed) == 2 and two.counterfactual["a"] < 8
    assert one.status == "optimal" and dict(one.counterfactual) == {"a": 8.0, "b": 4.0}


def two_numbers(offset):
    """A model over two numbers that begin at an offset, and its frame."""
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.integers(0, 4000, (300, 2)) / 4.0 + offset, columns=["a", "b"])
    y = (X["a"] + X["b"] > 2 * offset + 1100).astype(int)
    return HistGradientBoostingClassifier(max_iter=8, max_depth=2).fit(X, y), X


def test_large_numbers_that_cancel_in_a_sum_cut_nothing_off():
    found = []
    for model, X in (two_numbers(0.0), two_numbers(2.0**33)):
        explainer, own = Explainer(model, X), []
        for at in range(0, 60, 3):
            row = X.iloc[at]
            limit = float(row.a - row.b) - 40.0
            result = explainer.explain(row, constraints=[Linear({"a": 1, "b": -1}, "<=", limit)])
            own.append((result.status, result.distance))
        found.append(own)
    near, far = found
    assert [status for status, _ in near] == [status for status, _ in far] == ["optimal"] * 20
    assert [cost for _, cost in near] == pytest.approx([cost for _, cost in far], rel=1e-6)


def test_a_solver_of_sums_that_gives_up_has_not_said_that_there_is_nothing(monkeypatch):
    spans, limits = [Span(0.0, 0.0, 9.0, 1.0)], [([Fraction(-1)], Fraction(-3))]
    assert cheapest_numbers(spans, limits, 1.0, "sum") == [3.0]
    assert cheapest_numbers(spans, [([Fraction(-1)], Fraction(-10))], 1.0, "sum") is None
    monkeypatch.setattr(z3.Optimize, "check", lambda self: z3.unknown)
    with pytest.raises(UnrepresentableError):
        cheapest_numbers(spans, limits, 1.0, "sum")


def test_a_sum_takes_a_number_that_is_missing_and_must_be_filled_in():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.uniform(0, 10, (300, 2)), columns=["a", "b"])
    y = ((X["a"] > 5) & (X["b"] > 3)).astype(int)
    X.loc[::7, "a"] = np.nan
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=3).fit(X, y)
    row = pd.Series({"a": np.nan, "b": 0.5})
    given = {"target": 1, "scale": "none"}
    limits = [Range("a", 0, 6), Linear({"a": 1, "b": 1}, ">=", 10)]
    result = Explainer(model, X).explain(row, constraints=limits, norm=1, **given)
    assert result.status == "optimal" and dict(result.counterfactual) == {"a": 6.0, "b": 4.0}
    assert result.distance == 1.0 + 3.5  # filling in costs 1
