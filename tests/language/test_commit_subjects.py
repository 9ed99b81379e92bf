"""The hook for commit messages accepts imperative subjects of at most 72 characters."""

import subprocess
import sys
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[2] / ".ci" / "commit-subject"


def check(tmp_path, message):
    path = tmp_path / "message"
    path.write_text(message)
    return subprocess.run([sys.executable, HOOK, path], capture_output=True, text=True)


@pytest.mark.parametrize(
    "subject",
    [
        "Kill workers of an aborted campaign",
        "Speed up reading",
        "Merge branch 'x'",
        "Bring it back",
    ],
)
def test_imperative_subjects_are_accepted(tmp_path, subject):
    done = check(tmp_path, f"# a comment\n{subject}\n\nThe body may be long. " + "x" * 100)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("Kill " + "x" * 68, "has 73 characters; use at most 72"),
        ("kill workers", "start with a capital letter"),
        ("Kill workers.", "must not end with a full stop"),
        ("Killed workers", "'Killed' is not an imperative"),
        ("Killing workers", "'Killing' is not an imperative"),
        ("Of the whole change read again", "'Of' is not an imperative"),
        ("", "start with a capital letter"),
    ],
)
def test_other_subjects_are_refused_with_a_reason(tmp_path, subject, words):
    done = check(tmp_path, subject + "\n")
    assert done.returncode == 1 and words in done.stderr
