"""Tables of the pages name every field, and no others."""

import re
import tomllib
from importlib import import_module

import pytest
from packaging.version import Version

from encoders.backends.registry import all_backends
from encoders.readers.kinds import HELD, SCORECARD
from encoders.readers.readable import COUNTERFOLIO, LIBRARIES, OPTBINNING, READABLE, SKLEARN
from encoders.readers.registry import MODULES, PROJECT_CLASSES
from portfolio.bench.protocol import Protocol
from portfolio.cli.app import app
from selector.logs.record import flat
from tests.docs.pages import ROOT
from tests.docs.tables import MADE, PAGES, TABLES, written
from tests.support.records import record

OLD = {"levels_": "thresholds_"}  # names of columns until log schema 1


def firsts(page, begin, end):
    """Return names in the first column of the tables between two headings."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = text[text.index(f"\n{begin}\n") : text.index(f"\n{end}\n")]
    cells = re.findall(r"^\| (`[^|]*) \|", part, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_column_of_a_log_is_documented():
    columns = {re.sub("levels_", OLD["levels_"], name) for name in flat(record("q", "cp", 1.0))}
    assert firsts("reference/formats.md", "## Log records", "## Decision diagrams") == columns


def test_every_setting_of_a_protocol_is_documented():
    documented = firsts(
        "internals/training-logs.md",
        "| setting | meaning |",
        "| entry | mode of its records | what runs |",
    )
    assert documented == set(Protocol.__dataclass_fields__)


def test_every_command_is_documented():
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    assert (
        firsts("reference/command-line.md", "| command | what it does |", "## Constraints") == names
    )


@pytest.mark.parametrize("page", ["reference/running.md"])
def test_every_backend_is_documented(page):
    documented = firsts(
        page, "| backend | what it is | tolerance of its proofs |", "## Limits and stopping"
    )
    assert documented == {backend.name for backend in all_backends()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_match_code_and_logs(page):
    text = page.read_text(encoding="utf-8")
    assert written(text) == text, "update them: python -m tests.docs.tables"


def test_every_table_is_on_one_page():
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert sorted(name for _, name, _, _ in MADE.findall(texts)) == sorted(TABLES)


def test_every_supported_model_has_a_row():
    documented = [(each.library, kind) for each in READABLE for kind in each.kinds]
    known = {(SKLEARN, kind) for kind in HELD} | {(OPTBINNING, SCORECARD.name)}
    known.add((COUNTERFOLIO, "HardVotingClassifier"))
    for library in LIBRARIES:
        for module in MODULES[library.package]:
            for kind in import_module(f"encoders.readers.{module}").READERS:
                if kind not in PROJECT_CLASSES:
                    known.add((library, kind))
    assert set(documented) == known and len(documented) == len(known)
    assert {each.package for each in LIBRARIES} == set(MODULES) - {COUNTERFOLIO.package}


def test_tested_versions_are_the_ones_of_the_package_and_of_the_tests():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = dict(
        line.split("==")
        for line in (ROOT / "tests/oldest.txt").read_text().splitlines()
        if "==" in line
    )
    for library in LIBRARIES:
        if library.extra:
            requirements = project["optional-dependencies"][library.extra]
        else:
            requirements = project["dependencies"]
        (least,) = (
            each.partition(">=")[2]
            for each in requirements
            if each.startswith(f"{library.distribution}>=")
        )
        assert pins[library.distribution] == library.oldest
        assert Version(least) == Version(library.oldest)
        assert Version(library.oldest) <= Version(library.newest)


def test_the_table_of_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = firsts("how-to/installation.md", "## Extras", "## What each dependency is for")
    assert listed == project["optional-dependencies"].keys()
