"""The command line: a better diagram becomes the user's default."""

import pytest
from typer.testing import CliRunner

from portfolio.cli.app import app
from selector import logs
from selector.diagram import Diagram, Leaf, load_diagram
from selector.diagram_places import SHIPPED, promote
from selector.schedule import alone
from tests.support.records import campaign_of_six, record


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made")
    logs.append(made, campaign_of_six())
    return made


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERFOLIO_CONFIG", str(tmp_path / "settings"))
    return tmp_path / "settings"


def train(folder, out):
    words = ("selector", "train", folder, "--out", out, "--thresholds", 4, "--alpha", "0.01",
             "--promote")  # fmt: skip
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_a_better_diagram_becomes_the_default_and_the_old_one_is_kept(folder, settings, tmp_path):
    old = Diagram((Leaf(alone("cp")),))
    promote(old.to_json())
    done = train(folder, tmp_path / "new.json")
    assert done.exit_code == 0 and "is better and is now the default" in done.output, done.output
    assert (settings / "diagram.json").read_text() == (tmp_path / "new.json").read_text()
    assert old in [load_diagram(path) for path in settings.glob("diagram-*.json")]


def test_one_that_is_not_better_does_not(folder, settings, tmp_path):
    assert train(folder, tmp_path / "new.json").exit_code in (0, 3)
    done = train(folder, tmp_path / "new.json")
    assert done.exit_code == 3 and "The default stays" in done.output


def test_one_query_is_not_enough_for_a_promotion(settings, tmp_path):
    logs.append(tmp_path / "logs", [record("q", name, 1.0) for name in ("search", "milp")])
    done = train(tmp_path / "logs", tmp_path / "new.json")
    assert done.exit_code == 3 and "One query is not enough" in done.output
    assert not settings.exists()


def test_show_says_which_default_it_shows(settings):
    def shown():
        return CliRunner().invoke(app, ["selector", "show"], env={"COLUMNS": "200"}).output

    assert shown().startswith(f"file (shipped): {SHIPPED}")
    place, _ = promote(Diagram((Leaf(alone("cp")),)).to_json())
    assert shown().startswith(f"file (promoted): {place}")


def test_back_undoes_a_promotion_and_says_so(settings):
    def back(*words):
        return CliRunner().invoke(app, ["selector", "back", *words], env={"COLUMNS": "200"})

    place, _ = promote(Diagram((Leaf(alone("cp")),)).to_json())
    promote(Diagram((Leaf(alone("milp")),)).to_json())
    done = back()
    assert (
        done.exit_code == 0
        and f"Restored the previous diagram as the default: {place}" in done.output
    )
    done = back("--shipped")
    assert (
        done.exit_code == 0
        and f"Restored the shipped diagram as the default: {SHIPPED}" in done.output
    )
    assert back().exit_code != 0


def test_too_few_explored_questions_teach_nothing(tmp_path):
    logs.append(tmp_path, campaign_of_six())  # answered, and not explored
    words = ["selector", "train", "--from-service", tmp_path, "--out", tmp_path / "new.json"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code != 0 and "--explore" in str(done.exception)


def test_something_to_learn_from_has_to_be_named(tmp_path):
    done = CliRunner().invoke(app, ["selector", "train", "--out", str(tmp_path / "new.json")])
    assert done.exit_code != 0 and "no logs to learn from" in str(done.exception)
