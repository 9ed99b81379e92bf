"""Diagrams and how they are learned."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from encoders.errors import InputError
from selector.diagram import PAPER, Diagram, Leaf, Split, alone, compact, load_diagram
from selector.draw import as_dot, as_svg, as_text
from selector.learn import Table, conditions, learn
from selector.learn_deep import learn_deep

ALONE = tuple(alone(name) for name in ("milp", "cp", "maxsat"))
MILP, CP, MAXSAT = (Leaf(schedule) for schedule in ALONE)


@pytest.fixture
def paper():
    return load_diagram(PAPER)


@pytest.mark.parametrize(
    ("values", "backend"),
    [
        ({"votes": 0, "solver_only": 0}, "cp"),
        ({"votes": 0, "solver_only": 1, "levels_mean": 7.42}, "milp"),
        ({"votes": 0, "solver_only": 1, "levels_mean": 7.5}, "cp"),
        ({"votes": 1, "ordinal": 2}, "maxsat"),
        ({"votes": 1, "ordinal": 1, "trees": 100}, "maxsat"),
        ({"votes": 1, "ordinal": 0, "trees": 101}, "cp"),
    ],
)
def test_the_paper_s_diagram(paper, values, backend):
    decision = paper.decide(values)
    assert decision.leaf.backend == backend
    assert str(decision).endswith(backend)
    assert all(step.feature in str(decision) for step in decision.path)


def test_json_and_pictures(paper):
    again = Diagram.from_json(paper.to_json(), "it")
    assert again == paper and again.to_json() == paper.to_json()
    flow = paper.manifest["flow"]
    for text in (as_text(paper, flow), as_dot(paper, flow), as_svg(paper, flow)):
        for word in ("67.2%", "milp", "maxsat", "levels"):
            assert word in text
    nested = Diagram((Leaf(((("search",), 0.1), (("milp", "cp"), math.inf))),))
    assert Diagram.from_json(nested.to_json(), "it") == nested
    for words in (str(nested.decide({})), as_text(nested), as_svg(nested)):
        assert "search for 0.1 s, then milp with cp" in words


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("[]", "names no backend"),
        ('[[["search"], -1], [["cp"], null]]', "some seconds above 0"),
        ('[[["search"], NaN], [["cp"], null]]', "some seconds above 0"),
        ('[[["search"], null], [["cp"], null]]', "has no end"),
        ('[[["search"], 2]]', "must have no end"),
        ('[[["search"], "2"]]', "seconds must be a number"),
        ('[[["cp", "cp"], null]]', "different backends"),
        ("[[[5], null]]", "different backends"),
        ("[[5, null]]", "no decision diagram"),
        ("7", "no decision diagram"),
    ],
)
def test_schedules_that_are_none(schedule, message):
    text = (
        '{"format": 2, "schema": 1, "manifest": {}, "nodes": [{"purity": 1, "schedule": '
        f"{schedule}}}]}}"
    )
    with pytest.raises(InputError, match=message):
        Diagram.from_json(text, "it")
    for broken in ("[" * 100_000, '{"format": 2, "schema": 1, "manifest": 3, "nodes": []}'):
        with pytest.raises(InputError):
            Diagram.from_json(broken, "it")
    with pytest.raises(InputError, match="names of backends"):
        Diagram((Leaf((("search", math.inf),)),))


def test_where_nothing_can_be_split_a_leaf_is_learned():
    table = random_table(np.random.default_rng(0))
    table = replace(table, values=np.zeros_like(table.values))
    for learned in (learn(table), learn_deep(table)):
        assert learned.proved and len(learned.diagram.nodes) == 1
        assert learned.cost == table.cost.sum(axis=0).min()


def test_diagrams_of_the_first_format_are_read():
    text = (
        '{"format": 1, "schema": 1, "manifest": {}, "nodes": [{"schedule": [["search", 2.0], '
        '["cp", null]], "purity": 0.5, "runner_up": "milp"}]}'
    )
    old = Diagram.from_json(text, "it")
    assert old.nodes == (Leaf(((("search",), 2.0), (("cp",), math.inf)), 0.5),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "no decision diagram"),
        ("not json", "no decision diagram"),
        ('{"format": 1, "schema": 99, "nodes": [], "manifest": {}}', "learn it anew"),
        ('{"format": 1, "schema": 1, "nodes": [], "manifest": {}}', "needs a node"),
        (
            '{"format": 1, "schema": 1, "manifest": {}, "nodes": [{"feature": "trees", '
            '"threshold": 1, "low": 0, "high": 0}]}',
            "does not lead on",
        ),
        (
            '{"format": 1, "schema": 1, "manifest": {}, "nodes": [{"feature": "luck", '
            '"threshold": 1, "low": 1, "high": 1}, {"schedule": [["cp", null]], '
            '"purity": 1, "runner_up": ""}]}',
            "no descriptor",
        ),
    ],
)
def test_files_that_are_no_diagrams(tmp_path, text, message):
    path = tmp_path / "d.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_diagram(path)
    with pytest.raises(InputError, match="can't read"):
        load_diagram(tmp_path / "nothing.json")


def test_compacting_merges_what_is_the_same():
    nodes = [
        Split("trees", 10, 1, 2),
        Split("classes", 2, 3, 4),
        Split("classes", 2, 5, 6),
        MILP,
        CP,
        MILP,
        CP,
    ]
    assert compact(nodes) == (Split("classes", 2, 2, 1), CP, MILP)


def test_flow_adds_up(paper):
    rows = [
        {"votes": v, "solver_only": s, "levels_mean": m, "ordinal": o, "trees": t}
        for v, s, m, o, t in itertools.product((0, 1), (0, 1), (5, 9), (0, 3), (50, 200))
    ]
    flow = paper.flow(rows)
    assert flow[0] == 1 and flow[1] + flow[2] == 1
    assert sum(flow[5:]) == 1


def figure_1(rng, n, noise):
    """Rows labelled by the paper's diagram, some of them wrongly."""
    values = np.round(rng.random((n, 20)) * 6)
    values[:, 0], values[:, 1] = rng.random(n) < 0.328, rng.random(n) < 0.5
    soft = np.where(values[:, 1] <= 0, 1, np.where(values[:, 3] <= 4, 0, 1))
    hard = np.where(values[:, 2] <= 1, np.where(values[:, 4] <= 3, 2, 1), 2)
    label = np.where(values[:, 0] <= 0, soft, hard)
    label = np.where(rng.random(n) < noise, rng.integers(0, 3, n), label)
    names = ("votes", "solver_only", "ordinal", "levels_mean", "trees")
    names += tuple(f"other{i}" for i in range(15))
    return Table(names, values, ALONE, 1.0 - np.eye(3)[label])


def test_the_paper_s_diagram_is_found_again():
    learned = learn(figure_1(np.random.default_rng(0), 3379, 0.12), alpha=1.0)
    assert learned.proved
    nodes = learned.diagram.nodes
    splits = {(n.feature, n.threshold) for n in nodes if isinstance(n, Split)}
    assert splits == {
        ("votes", 0), ("solver_only", 0), ("ordinal", 1), ("levels_mean", 4), ("trees", 3)
    }  # fmt: skip
    assert nodes[0].feature == "votes"


def random_table(rng, rows=30, columns=2):
    """Few rows, few values, three backends; costs with ties in one of two."""
    n = int(rng.integers(4, rows))
    values = rng.integers(0, 3, (n, columns)).astype(float)
    cost = np.round(rng.random((n, 3)) * 10, 3)
    if rng.random() < 0.5:
        cost = rng.integers(0, 3, (n, 3)).astype(float)
    return Table(("trees", "classes", "votes")[:columns], values, ALONE, cost)


def best_by_hand(table, alpha, layers=3):
    """Every diagram of the shape, one by one."""
    below = [table.values[:, f] <= cut for f, cut in conditions(table)]
    cost = table.cost

    def leaf(rows):
        return cost[rows].sum(axis=0).min()

    def ended(parts):
        """Cheapest ends of parts, with at most two splits, each for any of the parts."""
        best = math.inf
        options = (None, 0, 1) if layers == 3 else (None,)
        for groups in itertools.product(options, repeat=len(parts)):
            used = sorted({g for g in groups if g is not None})
            total = sum(leaf(p) for p, g in zip(parts, groups, strict=True) if g is None)
            for group in used:
                rows = np.any([p for p, g in zip(parts, groups, strict=True) if g == group], axis=0)
                total += alpha + min(leaf(rows & b) + leaf(rows & ~b) for b in below)
            best = min(best, total)
        return best

    best = leaf(np.ones(len(cost), dtype=bool))
    for root in below:
        for low, high in itertools.product([None, *(below if layers > 1 else [])], repeat=2):
            parts = [root] if low is None else [root & low, root & ~low]
            parts += [~root] if high is None else [~root & high, ~root & ~high]
            splits = 1 + (low is not None) + (high is not None)
            best = min(best, alpha * splits + ended(parts))
    return best


@pytest.mark.parametrize("seed", range(100))
def test_learning_equals_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    names, values, cost = table.features, table.values, table.cost
    alpha = float(rng.choice([0.0, 0.1, 1.0]))
    learned = learn(table, alpha)
    assert learned.proved
    assert learned.cost == pytest.approx(best_by_hand(table, alpha), abs=1e-9)
    # The diagram itself costs no more than what was promised of it.
    rows = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    place = {name: k for k, name in enumerate(s[0][0][0] for s in table.schedules)}
    paid = sum(
        cost[i, place[learned.diagram.decide(row).leaf.backend]] for i, row in enumerate(rows)
    )
    splits = sum(isinstance(node, Split) for node in learned.diagram.nodes)
    assert paid + alpha * splits <= learned.cost + 1e-9


def test_a_time_limit_gives_a_bound():
    table = figure_1(np.random.default_rng(1), 300, 0.3)
    learned = learn(table, alpha=0.5, time_limit_s=0.0)
    assert not learned.proved and 0 <= learned.lower < learned.cost
    whole = learn(table, alpha=0.5)
    assert learned.lower <= whole.cost <= learned.cost
