"""Every backend, engine and formulation does what it declares; see ``encoders.testing``."""

import pytest

from encoders.backends.registry import BUILT_IN, find_backend
from encoders.core.errors import InputError
from encoders.testing.conformance import (
    check_features,
    check_named,
    check_random,
    configurations,
)
from encoders.testing.enumeration import optimum
from encoders.testing.named_problems import NAMED

SEEDS, LARGE = 30, 400
CONFIGURATIONS = [c for backend in BUILT_IN for c in configurations(backend)]


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_the_optimum_is_what_trying_all_choices_gives(named):
    assert optimum(named.problem)[0] == pytest.approx(named.optimum)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_named_problems(configuration):
    for named in NAMED:
        check_named(configuration, named)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_random_problems(configuration):
    for seed in range(SEEDS):
        check_random(configuration, seed)


@pytest.mark.large
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_many_random_problems(configuration):
    for seed in range(SEEDS, LARGE):
        check_random(configuration, seed)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_features_that_are_declared_are_there(configuration):
    check_features(configuration, 25)


def test_names_are_each_s_own_and_known():
    assert len({backend.name for backend in BUILT_IN}) == len(BUILT_IN)
    assert all(find_backend(backend.name) is backend for backend in BUILT_IN)
    with pytest.raises(InputError, match=r"backend 'nobody'\. Use one of auto, race, search"):
        find_backend("nobody")
