"""Ranks by counting, against sorting."""

import numpy as np
import pytest

from encoders.core.arrays import MANY_KEYS, ranked


@pytest.mark.parametrize("n_keys", [1, 7, 40 * MANY_KEYS, 10**9])  # counted twice, sorted twice
@pytest.mark.parametrize("size", [0, 1, 50])
def test_keys_are_ranked_as_by_sorting(n_keys, size):
    key = np.random.default_rng(0).integers(0, n_keys, size)
    distinct, place = ranked(key, n_keys)
    expected, at = np.unique(key, return_inverse=True)
    assert (distinct == expected).all() and (place == at).all()
    assert distinct.dtype == place.dtype == np.int64
