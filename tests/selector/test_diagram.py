"""Diagrams: what they decide, and the files they are in."""

import itertools
import math
from dataclasses import replace

import pytest

from encoders.core.errors import InputError
from selector.diagram import Diagram, Leaf, Split, alone, compact, diagram_of, load_diagram
from selector.diagram_places import PAPER, SHIPPED
from selector.words import schedule as schedule_in_words
from tests.support.tables import ALONE

MILP, CP, MAXSAT = (Leaf(schedule) for schedule in ALONE)
RACE = Diagram((Leaf(((("search",), 0.1), (("milp", "cp"), math.inf))),))


@pytest.fixture
def paper():
    return load_diagram(PAPER)


@pytest.mark.parametrize(
    ("values", "backend"),
    [
        ({"votes": 0, "solver_only": 0}, "cp"),
        ({"votes": 0, "solver_only": 1, "thresholds_mean": 7.42}, "milp"),
        ({"votes": 0, "solver_only": 1, "thresholds_mean": 7.5}, "cp"),
        ({"votes": 1, "ordinal": 2}, "maxsat"),
        ({"votes": 1, "ordinal": 1, "trees": 100}, "maxsat"),
        ({"votes": 1, "ordinal": 0, "trees": 101}, "cp"),
    ],
)
def test_the_paper_s_diagram_decides_as_its_figure_1(paper, values, backend):
    decision = paper.decide(values)
    assert decision.leaf.backend == backend
    assert str(decision).endswith(schedule_in_words(decision.leaf.schedule))
    assert [step.feature for step in decision.path] == list(values)


def test_a_descriptor_that_is_not_known_is_told(paper):
    with pytest.raises(
        InputError, match="descriptor 'votes', on which the diagram splits, is missing"
    ):
        paper.decide({})


def test_a_decision_is_told_in_words(paper):
    told = str(paper.decide({"votes": 0, "solver_only": 1, "thresholds_mean": 7.5}))
    assert told == (
        "no hard voting; only solving time counts; thresholds per feature: 7.5 (more than 7.42); CP"
    )


def test_decisions_name_norms_in_words():
    diagram = Diagram((Split("norm", 0.5, 1, 2), Leaf(alone("cp")), Leaf(alone("search"))))
    assert str(diagram.decide({"norm": 99.0})) == "norm is inf; search"
    assert str(diagram.decide({"norm": -1.0})) == "norm is custom; CP"
    assert str(diagram.decide({"norm": 1.0})) == "norm is 1; search"


@pytest.mark.parametrize("diagram", [RACE, load_diagram(PAPER), load_diagram(SHIPPED)])
def test_a_diagram_is_read_as_it_was_written(diagram):
    again = Diagram.from_json(diagram.to_json(), "it")
    assert again == diagram and again.to_json() == diagram.to_json()


def test_a_schedule_without_lists_of_names_is_refused():
    text = (
        '{"format": 2, "schema": 2, "manifest": {}, "nodes": [{"schedule": [["search", 2.0], '
        '["cp", null]], "purity": 0.5}]}'
    )
    with pytest.raises(InputError, match="a turn must have a list of backends, got 'search'"):
        Diagram.from_json(text, "it")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("[]", "has an empty schedule"),
        ('[[["search"], -1], [["cp"], null]]', "a time limit above 0 seconds, got -1"),
        ('[[["search"], NaN], [["cp"], null]]', "a time limit above 0 seconds, got nan"),
        ('[[["search"], null], [["cp"], null]]', "has no time limit"),
        ('[[["search"], 2]]', "must have no time limit"),
        ('[[["search"], "2"]]', "seconds must be a number"),
        ('[[["cp", "cp"], null]]', "different backends"),
        ("[[[5], null]]", "different backends"),
        ("[[5, null]]", "not a decision diagram"),
        ("7", "not a decision diagram"),
    ],
)
def test_a_schedule_that_cannot_be_run_is_refused(schedule, message):
    text = (
        '{"format": 2, "schema": 2, "manifest": {}, "nodes": [{"purity": 1, "schedule": '
        f"{schedule}}}]}}"
    )
    with pytest.raises(InputError, match=message):
        Diagram.from_json(text, "it")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not a decision diagram: it lacks 'format'"),
        ("not json", "not a decision diagram"),
        ("[" * 100_000, "not a decision diagram"),
        ('{"format": 2, "schema": 2, "manifest": 3, "nodes": []}', "must be a JSON object"),
        ('{"format": 2, "schema": 99, "nodes": [], "manifest": {}}', "Train the diagram again"),
        ('{"format": 2, "schema": 2, "nodes": [], "manifest": {}}', "has no nodes"),
        (
            '{"format": 2, "schema": 2, "manifest": {}, "nodes": [{"feature": "trees", '
            '"threshold": 1, "low": 0, "high": 0}]}',
            "leads to nodes 0 and 0",
        ),
        (
            '{"format": 2, "schema": 2, "manifest": {}, "nodes": [{"feature": "luck", '
            '"threshold": 1, "low": 1, "high": 1}, {"schedule": [[["cp"], null]], '
            '"purity": 1, "runner_up": ""}]}',
            "splits on 'luck', which is not a descriptor",
        ),
    ],
    ids=range(8),
)
def test_a_file_that_is_no_diagram_is_refused_in_a_sentence(tmp_path, text, message):
    path = tmp_path / "d.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_diagram(path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        load_diagram(tmp_path / "nothing.json")


def test_what_is_neither_a_diagram_nor_a_path_is_refused():
    with pytest.raises(InputError, match="must be a Diagram or a path to a JSON file, got 7"):
        diagram_of(7)


def test_turns_hold_names_in_tuples():
    with pytest.raises(InputError, match="names of backends"):
        Diagram((Leaf((("search", math.inf),)),))


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
        {"votes": v, "solver_only": s, "thresholds_mean": m, "ordinal": o, "trees": t}
        for v, s, m, o, t in itertools.product((0, 1), (0, 1), (5, 9), (0, 3), (50, 200))
    ]
    flow = paper.flow(rows)
    assert flow[0] == 1 and flow[1] + flow[2] == 1
    assert sum(flow[5:]) == 1


def test_a_digest_tells_diagrams_apart():
    one, other = (Diagram((Leaf(alone(name)),)) for name in ("cp", "milp"))
    assert one.digest == Diagram((Leaf(alone("cp")),)).digest != other.digest
    assert one.digest != replace(one, manifest={"rows": 3}).digest
