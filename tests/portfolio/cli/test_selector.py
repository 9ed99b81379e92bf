"""The command line: diagrams are learned, judged, drawn and shown."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.cli import evaluation_report
from portfolio.cli.app import app
from selector import logs
from selector.diagram_places import SHIPPED
from selector.learning import train
from selector.learning.contention import Contention, Pace, write_contention
from selector.learning.exact import learn_each
from tests.support.records import campaign_of_six, record

FEW = ("--alpha", "0.01", "--thresholds", 2)


def run(*words, **env):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200", **env})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made")
    logs.append(made, campaign_of_six())
    return made


@pytest.fixture(scope="module")
def learned(folder, tmp_path_factory):
    """A diagram's file, and what was printed."""
    made = tmp_path_factory.mktemp("learned") / "mine.json"
    done = run("selector", "train", folder, "--out", made, "--alpha", "0.01", "--thresholds", 4)
    assert done.exit_code == 0, done.output
    return made, done.output


@pytest.mark.slow
def test_training_tells_what_it_learned(learned):
    made, output = learned
    assert "optimal" in output and "180 queries" in output
    assert "compare backends on 180 of 180 solved queries" in output
    assert "single best backend" in output and "95 % interval over 6 data sets" in output
    manifest = json.loads(made.read_text())["manifest"]
    assert manifest["rows"] == 180 and manifest["metrics"] == ["total"]


def test_show_prints_the_diagram_and_its_file(learned):
    done = run("selector", "show", "--diagram", learned[0])
    assert done.exit_code == 0 and "options after presolve" in done.output
    assert done.output.startswith(f"file: {learned[0]}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "dot", "txt"])
def test_diagrams_are_drawn_with_the_flow_of_logs(learned, folder, tmp_path, kind):
    done = run("selector", "draw", learned[0], "--out", tmp_path / f"d.{kind}", "--logs", folder)
    assert done.exit_code == 0
    assert "100.0%" in (tmp_path / f"d.{kind}").read_text()


@pytest.mark.slow
def test_evaluation_prints_and_writes_every_policy(learned, folder, tmp_path):
    done = run(
        "selector", "evaluate", folder, "--alpha", "0.01", "--thresholds", 3,
        "--diagram", learned[0], "--out", tmp_path / "e",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    for words in ("virtual best", "race of two", "gap closed"):
        assert words in done.output
    assert "paper's diagram is not evaluated: the logs have no run of maxsat." in done.output
    assert (tmp_path / "e" / "evaluation.png").stat().st_size > 5000
    assert len((tmp_path / "e" / "evaluation.csv").read_text().splitlines()) == 1 + 2 * 9


def told_by_odt(monkeypatch, learn):
    """What is printed where odtlearn, or what stands for it here, learns trees."""
    monkeypatch.setattr(evaluation_report, "has_odt", lambda: True)
    monkeypatch.setattr(train, "learn_odt", learn)
    monkeypatch.setattr(evaluation_report, "literature", dict)


@pytest.mark.slow
def test_trees_of_odtlearn_are_judged_on_the_same_conditions(folder, monkeypatch):
    asked = []

    def learn(table, price, splits, limit_s, layers):
        asked.append((price, splits, limit_s, layers))
        return learn_each(table, (price,), splits, limit_s, layers)[0]

    told_by_odt(monkeypatch, learn)
    done = run("selector", "evaluate", folder, *FEW, "--field")
    assert done.exit_code == 0, done.output
    lines = [line.split("│") for line in done.output.splitlines()]
    rows = {line[1].strip(): [part.strip() for part in line[2:]] for line in lines if len(line) > 2}
    assert rows["odtlearn's tree"][0] == rows["diagram"][0] > rows["virtual best"][0]
    assert len(asked) == 6 and {(limit_s, layers) for *_, limit_s, layers in asked} == {(30.0, 2)}


@pytest.mark.slow
def test_where_odtlearn_finds_no_tree_in_time_one_leaf_stands_for_it(folder, monkeypatch):
    def fail(*_):
        raise InputError("odtlearn did not stop in time.")

    told_by_odt(monkeypatch, fail)
    done = run("selector", "evaluate", folder, *FEW, "--field")
    assert done.exit_code == 0, done.output
    assert done.output.count("is one leaf: odtlearn did not stop in time.") == 6
    assert "│ odtlearn's tree" in done.output


@pytest.mark.slow
def test_without_odtlearn_it_is_left_out(folder, monkeypatch):
    monkeypatch.setattr(evaluation_report, "has_odt", lambda: False)
    monkeypatch.setattr(evaluation_report, "literature", dict)
    done = run("selector", "evaluate", folder, *FEW, "--field")
    assert done.exit_code == 0 and "odtlearn" not in done.output


@pytest.mark.slow
def test_part_of_the_portfolio_can_be_judged(folder):
    done = run("selector", "evaluate", folder, *FEW, "--backends", "search, milp")
    assert done.exit_code == 0 and "always cp" not in done.output, done.output


def test_part_of_the_portfolio_can_be_learned(folder, tmp_path):
    made = tmp_path / "mine.json"
    done = run("selector", "train", folder, "--out", made, *FEW, "--backends", "search, milp")
    assert done.exit_code == 0
    assert json.loads(made.read_text())["manifest"]["backends"] == ["search", "milp"]


@pytest.mark.slow
def test_times_to_switch_at_can_be_learned(folder, tmp_path):
    made = tmp_path / "mine.json"
    few = (*FEW, "--backends", "search,milp", "--cores", 1, "--switches", 3)
    done = run("selector", "train", folder, "--out", made, *few)
    assert done.exit_code == 0 and "optimal" in done.output, done.output
    assert json.loads(made.read_text())["manifest"]["switches"] == 3


def test_equal_seconds_go_to_the_simpler_schedule(tmp_path):
    own = [
        record(f"{k}", name, s, f"{k}")
        for k in range(6)
        for name, s in (("search", 0.1), ("cp", 9.0))
    ]
    logs.append(tmp_path / "logs", own)
    out = tmp_path / "mine.json"
    done = run("selector", "train", tmp_path / "logs", "--out", out, "--alpha", "0.1")
    assert done.exit_code == 0, done.output
    assert [node["schedule"] for node in json.loads(out.read_text())["nodes"]] == [
        [[["search"], None]]
    ]


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_logs_of_one_backend_teach_nothing_and_say_what_to_do(tmp_path, command):
    own = [record(f"{k}", "search", 1.0, f"{k}") for k in range(6)]
    cut = [record(f"{k}", "milp", None, total_s=0.5, censored=True, stop_reason="interrupted")
           for k in range(4)]  # fmt: skip
    logs.append(tmp_path / "logs", [*own, *cut, record("p", "reduce", 0.1, left=None)])
    out = ("--out", tmp_path / "mine.json") if command == "train" else ()
    said = str(run("selector", command, tmp_path / "logs", *out).exception)
    assert "on 0 of 6 solved queries" in said and "complete runs: search 6" in said
    assert "interrupted runs: milp 4" in said and "no complete run of cp, milp, maxsat" in said
    assert "presolve alone proved 1 more" in said and "explore=0.05" in said
    assert f"counterfolio bench --protocol from-logs --logs {tmp_path / 'logs'} --dataset" in said
    assert not (tmp_path / "mine.json").exists()


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_one_backend_is_nothing_to_choose_among(tmp_path, command):
    both = [record(f"{k}", name, 1.0, f"{k}") for k in range(6) for name in ("search", "milp")]
    logs.append(tmp_path / "logs", both)
    out = ("--out", tmp_path / "mine.json") if command == "train" else ()
    said = str(run("selector", command, tmp_path / "logs", *out, "--backends", "search").exception)
    assert said.startswith("--backends search names one backend") and "omit --backends" in said


def test_logs_with_few_comparisons_are_learned_from_and_a_command_to_add_some_is_offered(tmp_path):
    own = [record(f"{k}", "search", 1.0, f"{k}") for k in range(6)]
    logs.append(tmp_path / "logs", [*own, *(record(f"{k}", "milp", 2.0, f"{k}") for k in (0, 1))])
    done = run("selector", "train", tmp_path / "logs", "--out", tmp_path / "mine.json")
    assert done.exit_code == 0, done.output
    assert "on 2 of 6 solved queries" in done.output and "--protocol from-logs" in done.output


def test_contradicting_logs_are_refused_before_anything_is_learned(tmp_path):
    costs = {"cp": 1.0, "milp": 2.0}
    own = [record("q", name, 1.0, upper=cost, lower=cost) for name, cost in costs.items()]
    logs.append(tmp_path / "logs", own)
    said = str(run("selector", "train", tmp_path / "logs", "--out", tmp_path / "x.json").exception)
    assert "disagree" in said and "logs check" in said


@pytest.fixture
def two_queries(tmp_path):
    runs = [record(q, name, 1.0, q) for q in ("a", "b") for name in ("cp", "milp")]
    logs.append(tmp_path / "two", runs)
    return tmp_path / "two"


def test_few_logs_are_enough_to_learn(two_queries, tmp_path):
    done = run("selector", "train", two_queries, "--out", tmp_path / "mine.json")
    assert done.exit_code == 0, done.output


@pytest.fixture
def measured(two_queries):
    """Logs beside what races cost."""
    pace = Pace(1.5, (1.4, 1.6), 0.01, 20)
    write_contention(Contention(2, {2: pace}), [], {}, two_queries / "contention.json")
    return two_queries


@pytest.mark.slow
def test_races_are_judged_by_what_lies_beside_the_logs(measured):
    done = run("selector", "evaluate", measured, *FEW)
    assert "Races measured on 2 cores: 2 racers take 1.50 times as long" in done.output
    more = run("selector", "evaluate", measured, *FEW, "--cores", 3)
    assert "Races not measured: more racers than the 3 cores" in more.output


def test_measurements_of_other_cores_are_refused(measured, folder):
    given = ("--contention", measured / "contention.json", "--cores", 3)
    done = run("selector", "evaluate", folder, *FEW, *given)
    assert isinstance(done.exception, InputError)
    assert "measured on 2 cores, not on 3" in str(done.exception)


@pytest.mark.slow
def test_all_protocols_are_told_one_after_the_other(folder, tmp_path):
    out = tmp_path / "e"
    given = ("--leave-out", "data-set, time", "--out", out, "--thresholds", 2)
    done = run("selector", "evaluate", folder, "--alpha", "0.01", *given)
    assert done.exit_code == 0, done.output
    assert "data sets left out in turn" in done.output
    assert "learned from older ones" in done.output
    assert set(pd.read_csv(out / "evaluation.csv")["left_out"]) == {"data-set", "time"}


@pytest.mark.parametrize("words", [("--alpha", "cv"), ("--skeleton", "1-2-2-2")])
def test_few_logs_are_enough_to_judge(two_queries, words):
    done = run("selector", "evaluate", two_queries, *words)
    assert done.exit_code == 0 and "no gap" in done.output, done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "NO", "--out", "OUT"), "does not contain logs"),
        (("train", "LOGS", "--out", "OUT", "--skeleton", "9"), "unknown skeleton '9'"),
        (("train", "LOGS", "--out", "OUT", "--alpha", "much"), "from 0 to 1, or cv"),
        (("train", "LOGS", "--out", "OUT", "--alpha", "2"), "from 0 to 1, or cv"),
        (("train", "LOGS", "--out", "OUT", "--objective", "luck"), "Use one of regret, accuracy"),
        (("train", "LOGS", "--out", "OUT", "--engine", "luck"), "Use one of exact, odtlearn"),
        (("train", "LOGS", "--out", "OUT", "--backends", "luck"), "unknown backend 'luck'"),
        (("train", "NO", "--out", "/proc/x.json"), "cannot write"),
        (("train", "NO", "--out", "NO/x.json"), "does not exist. Create it first"),
        (("train", "NO", "--out", "LOGS"), "it is a folder"),
        (("evaluate", "LOGS", "--leave-out", "luck"), "Use one of data-set, question-type, norm"),
        (("evaluate", "LOGS", "--leave-out", "norm"), "leaves norms out"),
        (("evaluate", "LOGS", "--contention", "NO"), "cannot read the contention"),
        (("draw", "SHIPPED", "--out", "x.gif"), "has an unknown suffix. Use one of .svg"),
        (("show", "--diagram", "NO"), "cannot read the diagram"),
    ],
)
def test_bad_input_is_one_sentence(folder, tmp_path, words, message):
    places = {"LOGS": folder, "NO": tmp_path / "no", "SHIPPED": SHIPPED, "OUT": tmp_path / "x.json"}
    replaced = [str(places.get(word, word)).replace("NO/", f"{tmp_path}/no/") for word in words]
    done = CliRunner().invoke(app, ["selector", *replaced])
    assert isinstance(done.exception, InputError) and message in str(done.exception)
