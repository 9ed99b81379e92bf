"""The starter project, in which everything runs as it is written."""

import json
import os
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from counterfolio import Explainer, MaxChanges, Range
from portfolio.cli.app import app, main
from portfolio.cli.constraints_file import read_constraints
from portfolio.service.settings import Settings
from portfolio.service.sources import read_folder
from tests.support.served import served

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starter") / "new" / "project"
    result = CliRunner().invoke(app, ["init", str(folder)])
    assert result.exit_code == 0, result.output
    assert "7 files" in result.stdout
    return folder


def commands(project):
    """Return the commands of the README, as lists of words."""
    blocks = re.findall(r"```sh\n(.*?)```", (project / "README.md").read_text(), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines]


def test_the_readme_lists_all_files(project):
    listed = re.findall(r"^\| `(.+?)` ", (project / "README.md").read_text(), re.MULTILINE)
    assert {*listed, "README.md"} == {path.name for path in project.iterdir()}


@pytest.mark.slow
def test_the_commands_of_the_readme_run(project, monkeypatch):
    monkeypatch.chdir(project)
    *ordinary, serve = commands(project)
    assert [words[0] for words in ordinary] == ["explain", "several", "batch"]
    for words in ordinary:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"
    answers = pd.read_parquet("answers/answers.parquet")
    assert len(answers) == 20 and (answers["status"] == "optimal").all()
    assert serve == ["serve", "--models", "."]


@pytest.mark.slow
def test_the_script_gives_the_answers_of_the_commands(project, monkeypatch):
    done = subprocess.run(
        [sys.executable, "explain.py"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Optimal: ")
    monkeypatch.chdir(project)
    answer = json.loads(CliRunner().invoke(app, [*commands(project)[0], "--json"]).stdout)
    distance = pd.read_csv(project / "answers.csv")["distance"].iloc[0]
    assert distance == pytest.approx(answer["distance"], abs=1e-9)
    assert read_constraints(project / "constraints.json") == [
        MaxChanges(4),
        Range("mean symmetry", 0.11, 0.25),
    ]


@pytest.mark.slow
def test_the_model_can_be_served(project):
    settings = Settings(sources=lambda: read_folder(project), workers=1)
    with served(settings) as (_, client):
        about = client.get("/v1/models/tumours").json()
        body = {"x": about["example"], "target": "malignant"}
        answer = client.post("/v1/models/tumours/explain", json=body).json()
    assert answer["answer"]["status"] == "optimal"
    assert answer["answer"]["changes"]
    actions = {each["name"]: each["action"] for each in about["features"]}
    assert actions["mean texture"] == "fixed"


def test_the_features_are_those_of_the_file(project):
    (source,) = read_folder(project)
    explainer = source.open().explainer
    assert isinstance(explainer, Explainer)
    assert explainer.features.named("mean texture").action == "fixed"
    assert explainer.classes == ("benign", "malignant")


def test_no_file_is_overwritten(tmp_path, monkeypatch, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    for used in (tmp_path, tmp_path / "notes.txt"):
        monkeypatch.setattr(sys, "argv", ["counterfolio", "init", str(used)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert "is not an empty folder. Give the name of a new one." in " ".join(
            capsys.readouterr().err.split()
        )
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def completed(shell, **words):
    environment = {**os.environ, "_COUNTERFOLIO_COMPLETE": f"complete_{shell}", **words}
    program = (
        "import sys; sys.argv = ['counterfolio']; from counterfolio.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_shells_complete_commands_and_options():
    assert completed("bash", COMP_WORDS="counterfolio expl", COMP_CWORD="1") == ["explain"]
    words = {"COMP_WORDS": "counterfolio explain --strat", "COMP_CWORD": "2"}
    assert completed("bash", **words) == ["--strategy"]
    fish = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": "counterfolio rea"}
    assert completed("fish", **fish)[0] == "reasons"


@pytest.mark.slow
def test_completion_is_installed_in_the_files_of_a_shell(tmp_path):
    environment = {
        **os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"
    }  # fmt: skip
    program = (
        "import sys; sys.argv = ['counterfolio', '--install-completion', 'bash']; "
        "from counterfolio.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "counterfolio.sh" in (tmp_path / ".bashrc").read_text()
    written = (tmp_path / ".bash_completions" / "counterfolio.sh").read_text()
    assert "_COUNTERFOLIO_COMPLETE=complete_bash" in written
