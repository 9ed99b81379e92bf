"""Selectors as the field builds them."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from selector.learning import policies as of_field
from selector.learning.evaluate import left_out
from selector.learning.policies import VIRTUAL_BEST, baselines, literature


@pytest.fixture
def small_forests(monkeypatch):
    monkeypatch.setattr(of_field, "TREES", 40)


ON_SKLEARN = ["SATzilla'11 forests", "censored forests"]


def test_asf_is_compared_with_where_it_is_installed(six_sets):
    pytest.importorskip("asf")
    took = left_out(six_sets, literature()["SATzilla of asf"], at_once=1)[0]
    assert took.wall.mean() < six_sets.penalised().mean(axis=0).max()


def test_asf_is_not_needed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert list(literature()) == ON_SKLEARN


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_SKLEARN)
def test_they_close_the_gap_on_data_sets_they_have_not_seen(six_sets, small_forests, name):
    best = left_out(six_sets, baselines(six_sets.backends)[VIRTUAL_BEST])[0].wall.mean()
    single = six_sets.penalised().mean(axis=0).min()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        took = left_out(six_sets, literature()[name], at_once=1)[0]
    assert (single - took.wall.mean()) / (single - best) > 0.5
    assert (took.cores == took.wall).all()


@pytest.mark.parametrize("name", ON_SKLEARN)
def test_one_backend_is_picked_where_there_is_one(six_sets, small_forests, name):
    only = replace(
        six_sets, backends=("cp",), seconds=six_sets.seconds[:, :1], least=six_sets.least[:, :1]
    )
    assert literature()[name](only)(only, 10).wall == pytest.approx(5.001)


def test_a_stopped_run_is_expected_to_take_longer_than_it_was_followed():
    mean = np.array([0.0, 0.0, 5.0])
    beyond = of_field._beyond(mean, 1.0, np.array([0.0, 3.0, -5.0]))
    assert beyond[0] == pytest.approx(np.sqrt(2 / np.pi))
    assert 3.0 < beyond[1] < 3.4
    assert beyond[2] == pytest.approx(5.0)
