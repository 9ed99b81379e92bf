"""Commands of the service where its packages are not installed."""

import subprocess
import sys

import pytest

# In a process of its own: a package that is imported again is another one for whoever has it.
CODE = """
import sys

sys.modules.update(dict.fromkeys(("fastapi", "uvicorn", "httpx")))
from typer.testing import CliRunner

from portfolio.cli.app import app

error = CliRunner().invoke(app, sys.argv[1:]).exception
print(type(error).__name__, error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", [["serve", "--demo"], ["bench", "--service"]])
def test_a_sentence_says_what_to_install(command):
    run = [sys.executable, "-c", CODE, *command]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert said.startswith("UnavailableBackendError ")
    assert "pip install 'counterfolio[service]'" in said
