"""Data sets of many columns that need no file: scikit-learn's digits, and generated ones.

Benchmarks use them for problems that are hard after reduction. All columns matter, and classes are
far apart, so that many values of a row have to change. The tables are the same on every machine.
"""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray, IntArray
from encoders.query.infer_features import infer_features
from portfolio.data.datasets import Dataset

Drawn = tuple[FloatArray, IntArray]
DECIMALS = 2  # of generated values, which repeat as in measurements


def wide_table(name: str) -> Dataset:
    """Return a data set of :data:`WIDE`."""
    values, labels = WIDE[name]()
    frame = pd.DataFrame(values, columns=[f"x{place}" for place in range(values.shape[1])])
    return Dataset(name, frame, labels, infer_features(frame), {})


def _digits(*digits: int) -> Drawn:
    """Return 8 x 8 images in 17 shades of some of the ten digits, and their class indices."""
    from sklearn.datasets import load_digits

    data = load_digits()
    mask = np.isin(data.target, digits)
    labels = np.searchsorted(np.array(digits), data.target[mask])
    return np.asarray(data.data[mask], dtype=np.float64), labels.astype(np.int64)


def _frequencies(columns: int, rows: int, seed: int) -> Drawn:
    """Return word frequencies in messages of two kinds: most are 0, others have a heavy tail."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.4
    usual = rng.beta(1, 4, columns)
    telling = rng.normal(size=columns)
    odds = np.log(usual / (1 - usual)) + np.where(labels[:, None], telling, -telling) / 2
    there = rng.random((rows, columns)) < 1 / (1 + np.exp(-odds))
    values = np.where(there, rng.lognormal(-1, 1, (rows, columns)), 0)
    return values.round(DECIMALS), labels.astype(np.int64)


def _spectra(columns: int, rows: int, seed: int) -> Drawn:
    """Return spectra of twelve substances, one of which differs by class, and class indices."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, rows)
    lines = rng.normal(size=(12, columns))
    amounts = rng.normal(size=(rows, 12))
    amounts[:, 0] += 2.5 * (2 * labels - 1)
    signal = amounts @ lines / np.sqrt(12)
    values = np.exp(0.5 * signal + 0.4 * rng.normal(size=(rows, columns)))
    return values.round(DECIMALS + 1), labels


def _clusters(columns: int, rows: int, seed: int) -> Drawn:
    """Return two clusters in general position, far apart, and their class indices."""
    from sklearn.datasets import make_classification

    values, labels = make_classification(
        rows,
        columns,
        n_informative=columns,
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=seed,
    )
    return np.asarray(values), np.asarray(labels, dtype=np.int64)


# About as many columns as Spambase and the digits. The seeds are arbitrary.
WIDE: MappingProxyType[str, Callable[[], Drawn]] = MappingProxyType(
    {
        "clusters": partial(_clusters, 40, 3000, 0),
        "digits-3-8": partial(_digits, 3, 8),
        "frequencies": partial(_frequencies, 57, 4000, 0),
        "spectra": partial(_spectra, 60, 2000, 2),
    }
)
