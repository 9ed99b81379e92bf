"""Tables of the pages name every field, and none that is not there."""

import re

import pytest

from encoders.backends.registry import all_backends
from portfolio.cli.app import app
from portfolio.study.protocol import Protocol
from selector.logs.record import flat
from tests.docs.pages import ROOT
from tests.support.records import record

OLD = {"levels_": "thresholds_"}  # names of columns until log schema 1


def firsts(page, begin, end):
    """Names in the first column of the tables between two headings."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = text[text.index(f"\n{begin}\n") : text.index(f"\n{end}\n")]
    cells = re.findall(r"^\| (`[^|]*) \|", part, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_column_of_a_log_is_told():
    columns = {re.sub("levels_", OLD["levels_"], name) for name in flat(record("q", "cp", 1.0))}
    assert firsts("formats.md", "## Log records", "## Decision diagrams") == columns


def test_every_setting_of_a_protocol_is_told():
    told = firsts(
        "training-logs.md", "| setting | meaning |", "| entry | mode of its records | what runs |"
    )
    assert told == set(Protocol.__dataclass_fields__)


def test_every_command_is_told():
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    assert firsts("command-line.md", "| command | what it does |", "## Constraints") == names


@pytest.mark.parametrize("page", ["running.md"])
def test_every_backend_is_told(page):
    told = firsts(
        page, "| backend | what it is | may be called a proof within |", "## Limits and stopping"
    )
    assert told == {backend.name for backend in all_backends()}
