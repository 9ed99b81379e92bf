"""A backend of another distribution: found by its entry point, checked, asked, and refused."""

from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer
from encoders.backends import registry
from encoders.backends.interface import Capability, Feature
from encoders.core.errors import InputError
from encoders.testing import check_backend
from tests.conformance.enumerating import ENUMERATING


@pytest.fixture
def declared(monkeypatch):
    """Puts entry points where other distributions have theirs."""

    def declare(*values):
        points = [EntryPoint(f"e{i}", value, registry.GROUP) for i, value in enumerate(values)]
        monkeypatch.setattr(registry, "entry_points", lambda group: points)
        registry.declared.cache_clear()

    yield declare
    registry.declared.cache_clear()


@pytest.mark.slow
def test_a_backend_that_does_what_it_declares_passes():
    check_backend(ENUMERATING, seeds=30)


def test_a_backend_that_promises_too_much_is_told():
    features = ENUMERATING.capability.features | {Feature.TELLS_BOUNDS}
    boaster = replace(ENUMERATING, capability=Capability(features))
    with pytest.raises(AssertionError, match=r"enumerating/numpy:all, .*TELLS_BOUNDS"):
        check_backend(boaster, seeds=30)


def test_it_is_asked_by_its_name(declared):
    declared("tests.conformance.enumerating:ENUMERATING")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 3)).astype(float)
    y = (X.sum(axis=1) > 4).astype(int)
    explainer = Explainer(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y), X)
    result = explainer.explain(X[0], strategy="plain-enumerating")
    again = explainer.explain(X[0], strategy="search")
    assert result.backend == "enumerating"
    assert (result.status, result.distance) == ("optimal", pytest.approx(again.distance))


@pytest.mark.parametrize("value", ["math:pi", "encoders.backends.builtin:CP", "nowhere:IT"])
def test_what_is_no_backend_of_its_own_is_refused_in_a_sentence(declared, value):
    declared(value)
    with pytest.raises(InputError, match="Uninstall or fix the package that registers it"):
        registry.all_backends()
