"""From logs to a diagram in use: examples, evaluation on unseen data sets, training, promotion."""

import json
import math
import shutil
from dataclasses import fields, replace

import numpy as np
import pytest
from typer.testing import CliRunner

from encoders.errors import InputError
from encoders.shape import Shape
from portfolio import selector_report
from portfolio.cli import app
from selector import logs
from selector.descriptors import EnsembleDescriptors
from selector.diagram import DEFAULT, Diagram, Leaf, Split, alone, diagram_of
from selector.evaluate import by_diagram, evaluate, follow, left_out
from selector.examples import examples
from selector.learn import learn
from selector.learn_deep import learn_deep
from selector.train import Recipe, choose_alpha, compare
from selector.vector import NAMES
from tests.test_selector import best_by_hand, random_table

LIMIT_S = 20.0
ENSEMBLE = EnsembleDescriptors(**{f.name: 1 for f in fields(EnsembleDescriptors)})


def record(query, backend, seconds, group="a", **more):
    """A solo run; ``seconds`` None for one without proof."""
    values = {f.name: "" for f in fields(logs.LogRecord)}
    numbers = [f.name for f in fields(logs.LogRecord) if f.type in ("int", "float", int, float)]
    values |= dict.fromkeys(numbers, 0.0) | {"verified": True, "censored": False, "trace": ()}
    took = LIMIT_S if seconds is None else seconds
    values |= {
        "run": f"{query}-{backend}-{more.get('mode', 'solo')}", "query": query, "forest": group,
        "dataset": group, "backend": backend, "mode": "solo", "norm": "1", "plausible": False,
        "limit_s": LIMIT_S, "total_s": took, "solve_s": took, "describe_s": 0.001,
        "status": "unknown" if seconds is None else "optimal",
        "stop_reason": "time_limit" if seconds is None else "proved",
        "ensemble": ENSEMBLE, "left": Shape(100, 50, 5, 5, 5, 1, 0.5, math.inf),
        "time": f"2026-01-01T00:00:{len(query):02d}",
    }  # fmt: skip
    return logs.LogRecord(**(values | more))


def many(rng, groups=6, rows=30):
    """search is fast where few options are left, milp where many are; cp is in between."""
    found = []
    for group in range(groups):
        for row in range(rows):
            options = int(rng.integers(10, 1000))
            few = options < 400
            left = Shape(options, 50, 5, 5, 5, 1, 0.5, 1.0)
            query = f"{group}-{row}"
            own = {"left": left, "group": f"set{group}"}
            fast = float(rng.uniform(0.01, 0.05))
            found += [
                record(query, "search", fast if few else None, **own),
                record(query, "milp", 3.0 if few else 10 * fast, **own),
                record(query, "cp", 5.0, **own),
            ]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made")
    logs.append(made, many(np.random.default_rng(0)))
    return made


@pytest.fixture(scope="module")
def held(folder):
    return examples(logs.read(folder))


def read(tmp_path, *records):
    logs.append(tmp_path, records)
    return examples(logs.read(tmp_path))


def test_what_a_run_costs(tmp_path):
    made = read(
        tmp_path,
        record("q", "search", None), record("q", "cp", 3.0), record("q", "smt", 1.0),
        record("reduced", "reduce", 0.01, left=None),
        record("open", "cp", None),
        record("kept", "cp", 4.0, mode="session", total_s=9.0),
    )  # fmt: skip
    # smt stops at a gap; nothing is learned from what nobody or reduction alone proved.
    assert made.backends == ("cp",) and len(made) == 2
    order = np.argsort(made.solver)
    assert made.seconds[order].tolist() == [[3.0], [4.0]]
    assert made.values[order][:, NAMES.index("solver_only")].tolist() == [0.0, 1.0]
    assert made.values[0, NAMES.index("left_incumbent")] == -1


def test_schedules_cost_what_their_parts_do(tmp_path):
    made = read(
        tmp_path,
        record("a", "search", 0.4), record("a", "milp", 2.0),
        record("b", "search", None), record("b", "milp", 2.0),
        record("c", "search", 1.0), record("c", "milp", None),
    )  # fmt: skip
    slow = {name: k for k, name in enumerate("abc")}
    by = ((("search",), 0.5), (("milp",), math.inf))
    cost = dict(zip(["a", "b", "c"], made.cost(by).tolist(), strict=True))
    assert cost == {"a": 0.4, "b": 2.5, "c": 200.0} and len(slow) == 3
    assert made.cost(by, factor=2).tolist()[2] == 40.0
    assert made.penalised().tolist() == [[2.0, 0.4], [2.0, 200.0], [200.0, 1.0]]
    with pytest.raises(InputError, match="no run of cp"):
        made.cost(alone("cp"))


def test_a_loser_of_a_race_took_at_least_that_long(tmp_path):
    cut = {"censored": True, "stop_reason": "interrupted", "mode": "race"}
    made = read(
        tmp_path,
        record("a", "search", 0.2, mode="race"),
        record("a", "cp", None, total_s=0.3, **cut),
        record("b", "cp", 0.1), record("b", "search", 0.1),
        record("c", "cp", 4.0), record("c", "search", 0.1),
        record("d", "cp", None), record("d", "search", 0.1),
    )  # fmt: skip
    # On average those that took longer than 0.3 s took (4 + 200) / 2.
    assert made.penalised()[0].tolist() == [102.0, 0.2]
    first = made.of(np.arange(len(made)) == 0)
    assert first.penalised().tolist() == [[0.3, 0.2]]


def test_racers_take_what_the_fastest_does(tmp_path):
    made = read(
        tmp_path,
        record("a", "search", 0.05), record("a", "milp", 2.0), record("a", "cp", 3.0),
        record("b", "search", 5.0), record("b", "milp", None), record("b", "cp", 1.0),
        record("k", "milp", 2.0, mode="session"), record("k", "cp", 1.0, mode="session"),
    )  # fmt: skip
    race = ((("search",), 0.1), (("search", "milp", "cp"), math.inf))
    cost = dict(zip(made.solver.tolist(), made.cost(race).tolist(), strict=False))
    # Where search's head start is not enough the others join; kept models don't race.
    assert sorted(made.cost(race).tolist()) == pytest.approx([0.05, 1.1, 2.0])
    going_on = ((("milp",), 1.5), (("milp", "search"), math.inf))
    assert sorted(made.cost(going_on).tolist()) == pytest.approx([1.55, 2.0, 6.5])
    assert cost[True] == 2.0
    pairs = [turns[-1][0] for turns in made.schedules(cores=2) if len(turns[-1][0]) > 1]
    assert pairs == [("search", "cp"), ("search", "milp"), ("cp", "milp")]
    assert max(len(turns[-1][0]) for turns in made.schedules(cores=1)) == 1
    assert ("search", "cp", "milp") in [turns[-1][0] for turns in made.schedules(cores=3)]


def test_a_diagram_for_unseen_data_sets(held):
    recipe = Recipe(alpha=0.01, thresholds=6)
    scores = {s.policy: s for s in evaluate(held, {"learned": by_diagram(recipe.diagram)})}
    best, single, own = scores["virtual best"], scores["single best"], scores["learned"]
    assert best.par10_s <= own.par10_s < single.par10_s
    assert (best.closed, single.closed) == (1.0, 0.0) and own.closed > 0.8
    assert best.proved == 1.0 and best.regret_s == 0.0
    assert own.worst_regret_s >= own.regret_s >= 0
    assert own.par10_interval_s[0] <= own.par10_s <= own.par10_interval_s[1]
    assert own.par2_s <= own.par10_s
    assert scores["race of two"].par10_s == pytest.approx(best.par10_s)
    assert scores["race of all"].par10_s == pytest.approx(1.5 * best.par10_s)
    assert scores["always cp"].par10_s == pytest.approx(5.0)
    for upper in ("boosted trees", "nearest neighbours"):
        assert scores[upper].closed > 0.5


def test_each_data_set_is_left_out_of_what_judges_it(held):
    seen = []

    def policy(train):
        def fitted(test, factor):
            assert not set(train.groups) & set(test.groups)
            seen.append(set(test.groups))
            return test.penalised(factor).min(axis=1)

        return fitted

    left_out(held, policy)
    assert [len(groups) for groups in seen] == [1] * 6


def test_accuracy_counts_rows(held):
    learned = Recipe(objective="accuracy", alpha=0.0, thresholds=6).learn(held)
    best = held.penalised().argmin(axis=1)
    rows = [dict(zip(NAMES, row, strict=True)) for row in held.values.tolist()]
    picked = [learned.diagram.decide(row).leaf for row in rows]
    assert all(len(leaf.schedule) == 1 for leaf in picked)
    wrong = sum(held.backends[k] != leaf.backend for k, leaf in zip(best, picked, strict=True))
    assert wrong == pytest.approx(learned.cost)


def test_alpha_is_chosen_on_whole_data_sets(held):
    recipe = Recipe(thresholds=3)
    assert choose_alpha(held, recipe, (0.0, 0.9)).alpha == 0.0  # one split saves a lot here
    noise = replace(held, values=held.values.copy())
    noise.values[:, NAMES.index("left_options")] = np.random.default_rng(0).normal(size=len(held))
    assert choose_alpha(noise, recipe, (0.0, 0.9)).alpha == 0.9


def test_one_data_set_is_enough_to_learn_but_not_to_judge(held):
    one = held.of(held.groups == held.groups[0])
    assert choose_alpha(one, Recipe(thresholds=3), (0.0, 0.9)).alpha in (0.0, 0.9)
    with pytest.raises(InputError, match="at least two"):
        evaluate(one, {})


def test_the_gate(held):
    fit = Recipe(alpha=0.01, thresholds=6).diagram
    bad = Diagram((Leaf(alone("cp")),))
    verdict = compare(held, fit, bad)
    assert verdict.better and verdict.unseen_s < verdict.old_unseen_s
    good = fit(held)
    assert not compare(held, lambda train: bad, good).better
    assert not compare(held, lambda train: good, good).better


def test_backends_that_the_logs_lack_are_passed_over(held):
    cost = follow(Diagram((Leaf(((("maxsat",), 1.0), (("cp",), math.inf))),)), held)
    assert cost == pytest.approx(5.001)


@pytest.mark.parametrize("seed", range(20))
def test_fewer_layers(seed):
    table = random_table(np.random.default_rng(seed))
    cost = [learn(table, 0.1, layers=layers).cost for layers in (1, 2, 3)]
    assert cost[0] >= cost[1] - 1e-9 and cost[1] >= cost[2] - 1e-9
    assert cost[0] == pytest.approx(best_by_hand(table, 0.1, layers=1))
    assert cost[1] == pytest.approx(best_by_hand(table, 0.1, layers=2))


@pytest.mark.parametrize("seed", range(12))
def test_four_layers(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, rows=24, columns=2)
    alpha = float(rng.choice([0.0, 0.3]))
    flat, deep = learn(table, alpha), learn_deep(table, alpha, time_limit_s=30.0)
    assert deep.lower <= deep.cost <= flat.cost + 1e-9
    paid = sum(
        min(table.cost[i, k] for k, s in enumerate(table.schedules) if s == leaf.schedule)
        for i, leaf in enumerate(decided(deep.diagram, table))
    )
    splits = sum(isinstance(node, Split) for node in deep.diagram.nodes)
    assert splits <= 7 and paid + alpha * splits <= deep.cost + 1e-9
    assert longest(deep.diagram) <= 4
    cut = learn_deep(table, alpha, time_limit_s=0.0)
    assert cut.lower <= deep.cost + 1e-9 <= cut.cost + 2e-9


def test_four_layers_see_what_three_cannot():
    """Parity of four bits: two nodes a layer carry it on, and three layers are as good as none."""
    bits = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T.astype(float)
    cost = np.eye(2)[bits.sum(axis=1).astype(int) % 2]
    schedules = (alone("cp"), alone("milp"))
    table = replace(
        random_table(np.random.default_rng(0)),
        features=("trees", "classes", "votes", "boosted"),
        values=bits, schedules=schedules, cost=cost,
    )  # fmt: skip
    assert learn(table, 0.01).cost >= 8
    deep = learn_deep(table, 0.01, time_limit_s=60.0)
    assert deep.cost == pytest.approx(0.07) and deep.proved


def decided(diagram, table):
    rows = [dict(zip(table.features, row, strict=True)) for row in table.values.tolist()]
    return [diagram.decide(row).leaf for row in rows]


def longest(diagram, index=0):
    node = diagram.nodes[index]
    if isinstance(node, Leaf):
        return 0
    return 1 + max(longest(diagram, node.low), longest(diagram, node.high))


def test_odtlearn():
    pytest.importorskip("odtlearn")
    pytest.importorskip("mip")
    table = random_table(np.random.default_rng(3), rows=20, columns=2)
    from selector.learn import conditions
    from selector.learn_odt import learn_odt

    learned = learn_odt(table, 0.01, conditions(table), 20.0, 2)
    assert learned.lower <= learned.cost <= table.cost.sum(axis=0).min() + 1e-9
    paid = sum(
        table.cost[i, table.schedules.index(leaf.schedule)]
        for i, leaf in enumerate(decided(learned.diagram, table))
    )
    assert paid <= learned.cost + 1e-9


# On the command line.


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_train_evaluate_draw(folder, tmp_path):
    made = tmp_path / "mine.json"
    done = run("selector", "train", folder, "--out", made, "--alpha", "0.01", "--thresholds", 4)
    assert done.exit_code == 0, done.output
    assert "optimal" in done.output and "180 queries" in done.output
    manifest = json.loads(made.read_text())["manifest"]
    assert manifest["rows"] == 180 and manifest["metrics"] == ["total"]
    shown = run("selector", "show", "--diagram", made)
    assert shown.exit_code == 0 and "left_options" in shown.output
    for kind in ("svg", "dot", "txt"):
        drawn = run("selector", "draw", made, "--out", tmp_path / f"d.{kind}", "--logs", folder)
        assert drawn.exit_code == 0 and "search" in (tmp_path / f"d.{kind}").read_text()
    done = run(
        "selector", "evaluate", folder, "--alpha", "0.01", "--thresholds", 3, "--diagram", made,
        "--out", tmp_path / "e",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    for words in ("virtual best", "paper's diagram", "race of two", "gap closed"):
        assert words in done.output
    assert (tmp_path / "e" / "evaluation.png").stat().st_size > 5000
    assert len((tmp_path / "e" / "evaluation.csv").read_text().splitlines()) == 1 + 2 * 10
    few = ("--alpha", "0.01", "--thresholds", 2, "--backends", "search, milp")
    done = run("selector", "evaluate", folder, *few)
    assert done.exit_code == 0 and "always cp" not in done.output, done.output
    assert run("selector", "train", folder, "--out", made, *few).exit_code == 0
    assert json.loads(made.read_text())["manifest"]["backends"] == ["search", "milp"]


def test_few_logs_are_enough(tmp_path):
    logs.append(tmp_path, [record("a", "cp", 1.0, "a"), record("b", "cp", 2.0, "b")])
    made = tmp_path / "mine.json"
    done = run("selector", "train", tmp_path, "--out", made)
    assert done.exit_code == 0, done.output
    for words in (("--alpha", "cv"), ("--skeleton", "1-2-2-2")):
        done = run("selector", "evaluate", tmp_path, *words)
        assert done.exit_code == 0 and "no gap" in done.output, done.output


def test_promotion_replaces_a_worse_default_only(folder, tmp_path, monkeypatch):
    default = tmp_path / "default.json"
    monkeypatch.setattr(selector_report, "DEFAULT", default)
    monkeypatch.setattr(selector_report, "diagram_of", lambda given: old)
    words = ("selector", "train", folder, "--out", tmp_path / "new.json", "--thresholds", 4,
             "--alpha", "0.01", "--promote")  # fmt: skip
    old = Diagram((Leaf(alone("cp")),), {"logs": "before"})
    default.write_text(old.to_json())
    done = run(*words)
    assert done.exit_code == 0 and "it is the default now" in done.output, done.output
    assert default.read_text() == (tmp_path / "new.json").read_text()
    assert (tmp_path / "default-before.json").read_text() == old.to_json()
    old = diagram_of(default)
    done = run(*words)
    assert done.exit_code == 3 and "the default stays" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "NO", "--out", "x.json"), "no logs at"),
        (("train", "LOGS", "--out", "x.json", "--skeleton", "9"), "no skeleton"),
        (("train", "LOGS", "--out", "x.json", "--alpha", "much"), "from 0 to 1, or cv"),
        (("train", "LOGS", "--out", "x.json", "--alpha", "2"), "from 0 to 1, or cv"),
        (("train", "LOGS", "--out", "x.json", "--objective", "luck"), "regret and accuracy"),
        (("train", "LOGS", "--out", "x.json", "--engine", "luck"), "exact and odtlearn"),
        (("train", "LOGS", "--out", "x.json", "--backends", "luck"), "no backend 'luck'"),
        (("train", "LOGS", "--out", "/proc/x.json", "--alpha", "0.1", "--thresholds", "2"),
         "can't write"),
        (("draw", "SHIPPED", "--out", "x.gif"), "known kinds"),
        (("show", "--diagram", "NO"), "can't read the diagram"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(folder, tmp_path, words, message):
    names = {"LOGS": folder, "NO": tmp_path / "no", "SHIPPED": DEFAULT}
    asked = [names.get(word, word) for word in words]
    done = CliRunner().invoke(app, ["selector", *map(str, asked)])
    assert isinstance(done.exception, InputError) and message in str(done.exception)


def test_the_shipped_default_is_not_touched_by_copies(tmp_path):
    shutil.copy(DEFAULT, tmp_path / "d.json")
    assert diagram_of(tmp_path / "d.json") == diagram_of(None)
