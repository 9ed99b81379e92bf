"""Combinations of parameters, of which a part is tried by default."""

import itertools

import pytest


def few_of(*axes, every=3):
    """Return all combinations; only each third one, by default, is tried without ``-m large``."""
    combinations = itertools.product(*(enumerate(axis) for axis in axes))
    return [
        pytest.param(
            *(value for _, value in pairs),
            marks=[pytest.mark.large] * (sum(at for at, _ in pairs) % every > 0),
        )
        for pairs in combinations
    ]
