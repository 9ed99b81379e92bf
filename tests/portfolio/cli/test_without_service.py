"""Commands of the service where its packages are not installed."""

import sys

import pytest
from typer.testing import CliRunner

from encoders.errors import UnavailableBackendError
from portfolio.cli.app import app


@pytest.mark.parametrize("command", [["serve", "--demo"], ["bench", "--service"]])
def test_a_sentence_says_what_to_install(monkeypatch, command):
    for name in [name for name in sys.modules if name.startswith("portfolio.service")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "portfolio.cli.service_report", raising=False)
    for name in ("fastapi", "uvicorn", "httpx"):
        monkeypatch.setitem(sys.modules, name, None)
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, UnavailableBackendError)
    assert "pip install 'counterfolio[service]'" in str(error)
