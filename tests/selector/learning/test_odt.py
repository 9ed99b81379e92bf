"""Trees by odtlearn, where it is installed."""

import importlib.util

import numpy as np
import pytest

from encoders.core.errors import UnavailableBackendError
from selector.learning.exact import conditions
from selector.learning.odt import learn_odt
from tests.support.tables import paid, random_table


@pytest.mark.slow
def test_a_tree_costs_no_more_than_what_was_promised_of_it():
    pytest.importorskip("odtlearn")
    pytest.importorskip("mip")
    table = random_table(np.random.default_rng(3), rows=20, columns=2)
    learned = learn_odt(table, 0.01, conditions(table), 20.0, 2)
    assert learned.lower <= learned.cost <= table.cost.sum(axis=0).min() + 1e-9
    assert paid(learned.diagram, table, 0.0) <= learned.cost + 1e-9


def test_without_it_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnavailableBackendError, match="pip install"):
        learn_odt(random_table(np.random.default_rng(3)), 0.01, [(0, 0.0)], 1.0, 2)
