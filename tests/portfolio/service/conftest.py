"""One service for all tests of it."""

from contextlib import ExitStack

import pytest

from portfolio.service.examples import typical_row
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.support.forked import forked_children
from tests.support.postgresql import cluster
from tests.support.served import served


@pytest.fixture(scope="session")
def row(refused):
    return {str(name): float(value) for name, value in refused.items()}


@pytest.fixture(scope="session")
def source(explainer, credit):
    return AtHand("credit", explainer, typical_row(explainer.features, credit[1]))


@pytest.fixture(scope="session")
def sources(source):
    """What the service has; a test may change it, and change it back."""
    return [source]


@pytest.fixture(scope="module")
def postgresql():
    with cluster() as running:
        yield running


@pytest.fixture(scope="session")
def service(sources, tmp_path_factory):
    logs = tmp_path_factory.mktemp("served")
    settings = Settings(
        lambda: sources, workers=1, most_waiting=3, longest_s=20.0, reload_s=0, logs=logs
    )
    with ExitStack() as stack:
        with forked_children():
            app, client = stack.enter_context(served(settings))
        yield app, client


@pytest.fixture
def client(service):
    return service[1]


@pytest.fixture
def pool(service):
    return service[0].state.service.pool
