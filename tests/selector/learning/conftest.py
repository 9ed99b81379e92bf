"""What the tests of learning share."""

import pytest

from selector import logs
from selector.learning.examples import examples
from tests.support.records import campaign_of_six


@pytest.fixture(scope="session")
def six_sets(tmp_path_factory):
    """Examples of six data sets; see :func:`tests.support.records.campaign`."""
    folder = tmp_path_factory.mktemp("six")
    logs.append(folder, campaign_of_six())
    return examples(logs.read(folder))


@pytest.fixture
def learned_from(tmp_path):
    """Turns records into examples."""

    def made(*records):
        logs.append(tmp_path, records)
        return examples(logs.read(tmp_path))

    return made
