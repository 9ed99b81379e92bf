"""The search for a group's actions ends with all that the known ones serve together."""

import time
from types import SimpleNamespace

import numpy as np

from encoders.backends.interface import Request
from portfolio.questions.groups import group_search
from portfolio.questions.groups.group_rows import Found, Served
from portfolio.questions.groups.group_search import GroupSearch

ACTIONS = ({0, 2}, {1}, {3}, {0, 1}, {2, 3})


class Rows:
    """Four rows, and whom each action serves."""

    def __init__(self):
        self.queries, self.doubt = [None] * 4, ""

    def find(self, rows, request, deadline):
        for members in ACTIONS:
            if rows <= members:
                distance = np.array([0.0 if row in members else np.inf for row in range(4)])
                return Found(Served(np.zeros(1, dtype=np.int64), distance))
        return Found(None, frozenset(rows))


def test_two_new_actions_replace_two_that_no_single_one_improves(monkeypatch):
    # Put in place of one of {0, 2} and {1}, neither {0, 1} nor {2, 3} serves more than three.
    monkeypatch.setattr(group_search, "most_rows", lambda *_: np.array([1, 1, 2, 2]))
    deadline = time.perf_counter() + 5.0
    asker, request = SimpleNamespace(), Request(5.0, 1, 0)
    search = GroupSearch(Rows(), 2, asker, request, deadline, lambda *_: None)
    search.run()
    assert search.proved and search.covered == frozenset(range(4))
    assert time.perf_counter() < deadline
