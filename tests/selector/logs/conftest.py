"""Logs that the tests of this room share."""

import pytest

from selector import logs
from tests.support.records import record

MODES = ("solo", "plain", "race", "session")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Two backends on three queries in every mode."""
    made = tmp_path_factory.mktemp("logs")
    for query in ("a", "b", "c"):
        logs.append(
            made,
            [
                record(query, backend, 1.0, mode=mode, upper=2.0, lower=2.0)
                for mode in MODES
                for backend in ("search", "cp")
            ],
        )
    return made


@pytest.fixture
def frame(folder):
    """What is in :func:`folder`."""
    return logs.read(folder)


@pytest.fixture(scope="session")
def line(folder):
    """The first line of :func:`folder`'s only file."""
    return next(folder.glob("*.jsonl")).read_text().splitlines()[0]
