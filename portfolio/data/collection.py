"""Collections of data sets, and queries drawn from them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace
from encoders.query.infer_features import infer_features
from portfolio.data.datasets import Dataset, read_dataset

Drawn = tuple[FloatArray, IntArray]

DECIMALS = 2  # of generated values, which repeat as in measurements

BUNDLED = ("breast-cancer", "wine")

GROUP = 8  # rows in a group query


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
        "digits": partial(_digits, *range(10)),
        "digits-3-8": partial(_digits, 3, 8),
        "frequencies": partial(_frequencies, 57, 4000, 0),
        "spectra": partial(_spectra, 60, 2000, 2),
    }
)


class Classifier(Protocol):
    """Protocol of models that predict labels."""

    @property
    def classes(self) -> tuple[Any, ...]: ...

    def predict(self, x: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class DrawnQuery:
    """Randomly drawn row with its target class."""

    number: int  # position in the draw, from 0
    row: int  # position in the data set, from 0
    x: "pd.Series[Any]"  # the drawn row
    target: Any  # label to reach, different from the predicted one
    group: pd.DataFrame  # frame of the row and the rows that follow it in the data set, at most 8


def names(folder: Path | None, only: Sequence[str] = ()) -> list[str]:
    """Return the names of the data sets in a folder, or of the bundled ones if it is None."""
    if folder is None:
        available_names = list(BUNDLED)
    else:
        if not folder.is_dir():
            raise InputError(f"folder {folder} does not exist. Check the path.")
        available_names = sorted(path.name.split(".")[0] for path in folder.glob("*.csv*"))
    missing = [name for name in only if name not in (*available_names, *WIDE)]
    if missing:
        available = [*available_names, *WIDE]
        raise InputError(
            f"unknown data set {missing[0]!r}.{close_names(missing[0], available)} Use one "
            f"of {', '.join(available)}."
        )
    return list(only) or available_names


def datasets(folder: Path | None, only: Sequence[str] = ()) -> Iterator[Dataset]:
    """Read the data sets of :func:`names` one after another."""
    for name in names(folder, only):
        yield one_dataset(folder, name)


def one_dataset(folder: Path | None, name: str) -> Dataset:
    """Return a data set of a folder, or one that needs no file."""
    files = [] if folder is None else sorted(folder.glob(f"{name}.csv*"))
    if name in WIDE and not files:
        return wide_table(name)
    if folder is None:
        return _bundled(name)
    return read_dataset(files[0])


def freed(space: FeatureSpace) -> FeatureSpace:
    """Return the same features, all free to change in both directions as in the paper."""
    return FeatureSpace(tuple(replace(f, action="free") for f in space.features), space.columns)


def draw_queries(
    dataset: Dataset, model: Classifier, count: int, seed: int
) -> Iterator[DrawnQuery]:
    """Yield rows with random target classes other than the predicted ones, the same for a seed."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(dataset.X), min(count, len(dataset.X)), replace=False)
    for number, row in enumerate(rows.tolist()):
        x = dataset.X.iloc[row]
        current = model.predict(x)
        others = np.array([label for label in model.classes if label != current])
        group = dataset.X.iloc[row : row + GROUP]
        yield DrawnQuery(number, row, x, rng.choice(others), group)


def _bundled(name: str) -> Dataset:
    from sklearn.datasets import load_breast_cancer, load_wine

    from encoders.query.infer_features import infer_features

    loader = {"breast-cancer": load_breast_cancer, "wine": load_wine}[name]
    data = loader(as_frame=True)
    frame = cast(pd.DataFrame, data.data)
    return Dataset(name, frame, data.target.to_numpy(), infer_features(frame), {})
