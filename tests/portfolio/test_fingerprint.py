"""Digests of what an answer depends on tell apart what answers differ for."""

from functools import partial

from portfolio.model.fingerprint import fingerprint
from tests.support.questions import scaled


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, feature, before, after):
        return self.k * abs(after - before)


FACTOR = 1.0


def by_global(feature, before, after):
    return FACTOR * abs(after - before)


def closed_over(k):
    return lambda feature, before, after: k * abs(after - before)


def test_fingerprints_tell_functions_apart(monkeypatch):
    made = [make(k) for make in (lambda k: partial(scaled, k), Scaled, closed_over) for k in (1, 5)]
    assert len({fingerprint(norm) for norm in made}) == 6
    assert fingerprint(partial(scaled, 1)) == fingerprint(partial(scaled, 1))
    assert fingerprint(Scaled(2)) == fingerprint(Scaled(2))
    before = fingerprint(by_global)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert fingerprint(by_global) != before
