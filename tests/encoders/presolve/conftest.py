"""Which random problems are looked at."""

import pytest

from tests.support.parts import few_and_large

PART = 160


@pytest.fixture(params=few_and_large(1, 4))
def seeds(request):
    return range(PART * request.param, PART * (request.param + 1))
