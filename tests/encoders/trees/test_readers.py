"""Test that a library is one module of readers, which no other library's models import."""

import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from counterfolio import Explainer
from encoders.readers.reader import Reader, reader_of
from encoders.readers.registry import MODULES
from encoders.trees.arithmetic import rounding_of
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined

LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost", "interpret", "sksurv", "treelite")
ASK = """
import sys
from encoders.readers.reader import file_formats, reader_of
file_formats()
Booster = type("Booster", (), {"__module__": "xgboost.core"})
assert type(reader_of(Booster())).__name__ == "XGBoostBooster"
assert type(reader_of(object())).__name__ == "Reader"
print(*[name for name in sys.argv[1:] if name in sys.modules])
"""


@pytest.mark.slow
def test_readers_import_no_library():
    command = [sys.executable, "-c", ASK, *LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


class Stumps:
    """Model of a library that only this test knows: votes of splits, class 1 above a sum of 0."""

    classes_ = np.array(["no", "yes"])
    n_features_in_ = 2

    def __init__(self):
        self.splits = [(0, 0.5, -1.0, 1.0), (1, 1.5, -1.0, 2.0), (0, 2.5, 1.0, -1.0)]

    def sides(self, rows):
        return np.array([np.asarray(rows)[:, at] > cut for at, cut, _, _ in self.splits]).T

    def sums(self, rows):
        values = np.array([split[2:] for split in self.splits])
        return values[np.arange(len(values)), self.sides(rows).astype(int)].sum(axis=1)

    def predict(self, rows):
        return self.classes_[(self.sums(rows) > 0).astype(int)]


Stumps.__module__ = "stumps.models"


class StumpsReader(Reader):
    def read(self, model, read):
        trees = [
            TreeNodes(
                column=np.array([at, -1, -1]),
                last_left=np.array([cut, 0.0, 0.0]),
                left=np.array([1, NO_CHILD, NO_CHILD]),
                right=np.array([2, NO_CHILD, NO_CHILD]),
                score=np.array([[0.0, 0.0], [0.0, below], [0.0, above]]),
            )
            for at, cut, below, above in model.splits
        ]
        whole = joined(trees, 2, np.zeros(2), np.dtype(np.float64), 1.0, "stumps")
        return replace(whole, rounding=rounding_of(whole.score, whole.root, whole.bias))

    def leaves(self, model, rows):
        return model.sides(rows)

    def scores(self, model, rows, margin_unit):
        return model.sums(rows)


@pytest.fixture
def stumps(monkeypatch):
    module = ModuleType("encoders.readers.stumps")
    module.READERS = {"Stumps": StumpsReader()}
    monkeypatch.setitem(sys.modules, "encoders.readers.stumps", module)
    monkeypatch.setitem(MODULES, "stumps", ("stumps",))
    return Stumps()


class Child(Stumps):
    """Subclass, whose reader is that of its base class."""


def test_a_new_library_is_one_module_and_one_line(stumps):
    every = np.array([[a, b] for a in (0.0, 1.0, 3.0) for b in (1.0, 2.0)])  # one row per cell
    explainer = Explainer(stumps, every)
    for row in every:
        other = "no" if stumps.predict(row[None])[0] == "yes" else "yes"
        reaching = every[stumps.predict(every) == other]
        answer = explainer.explain(row, other, norm=0)
        assert answer.status == "optimal"
        assert len(answer.changes()) == (reaching != row).sum(axis=1).min()


def test_a_subclass_has_the_reader_of_its_base(stumps):
    assert isinstance(reader_of(Child()), StumpsReader)
