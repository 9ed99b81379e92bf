"""CSV files with three header lines: names, types, actionability."""

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow.parquet

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import Action, Feature, FeatureSpace
from encoders.query.infer_features import infer_features
from encoders.query.overrides import as_entry, load_overrides

MOST_COLUMNS, LONGEST_LINE = 10_000, 10_000_000

LARGEST_FILE = 2**30

# Texts that pandas reads as missing.
MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip

UNNUMBERED = "{path}: the labels in {label} must be whole numbers 0..K-1. Renumber the classes."

NO_CATEGORIES: Mapping[str, Collection[str]] = MappingProxyType({})

KINDS = {"N": "numeric", "D": "ordinal", "C": "categorical", "B": "binary"}

ACTIONS: dict[str, Action] = {
    "FREE": "free", "INC": "increase", "DEC": "decrease", "FIXED": "fixed"
}  # fmt: skip


def check_header(path: Path) -> None:
    """Raise InputError if a table has too many columns, or two columns of the same name.

    Pandas takes minutes to read the former, and renames the latter.
    """
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        line = file.readline(LONGEST_LINE)
    if line.count(b",") >= MOST_COLUMNS or len(line) == LONGEST_LINE:
        raise InputError(
            f"{path} has more than {MOST_COLUMNS} columns in line 1. If the table is transposed, "
            "swap its rows and columns."
        )
    names = Counter(next(csv.reader([line.decode(errors="replace")]), []))
    if twice := [name for name, count in names.items() if name and count > 1]:
        raise InputError(f"{path} has two columns named {twice[0]!r}. Rename one.")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Table encoded for a tree model.

    Attributes
    ----------
    name : file name without endings.
    X : float64 frame; categorical columns are one-hot as ``name_category``, binary text is 0/1.
    y : int64 (n_rows,), class indices.
    space : features with the kinds, bounds, labels and actionability that the file states.
    categories : sorted categories, or the two binary values, of each such raw column.
    """

    name: str
    X: pd.DataFrame
    y: IntArray
    space: FeatureSpace
    categories: dict[str, list[Any]]

    def encode(self, raw: pd.DataFrame, where: str, lenient: bool = False) -> pd.DataFrame:
        """Return rows of the file's own columns, which need no label, in the model's columns."""
        return _encode(raw, self.space, self.categories, where, lenient)

    def rows(self, path: Path) -> pd.DataFrame:
        """Return the encoded rows of a file; invalid values stay for later errors."""
        return read_rows(path, self, lenient=True)

    def one(self, path: Path) -> pd.DataFrame:
        """Return the single row of a file, encoded."""
        return read_query(path, self)

    def overridden(self, path: str | Path) -> FeatureSpace:
        """Return the file's feature descriptions, with those named in a JSON file replaced."""
        overrides = load_overrides(path)
        stated = {f.name: _entry(f, self.space.columns) for f in self.space.features}
        for name, entry in overrides.items():
            stated[name] = stated.get(name, {}) | as_entry(name, entry)
        return infer_features(self.X, stated)


def read_dataset(path: str | Path) -> Dataset:
    """Read a CSV (or .csv.gz) with the header lines names / types / actionability.

    Types are N, D, C, B (numerical, ordinal, categorical, binary); actionability is FREE, INC,
    DEC, FIXED, and PREDICT for the label, which must be the last column.
    """
    path = Path(path)
    names, types, actions = _read_header(path)
    raw = _without_blanks(_read_rows(path, skip=[1, 2]), path)
    label = names[-1]
    if raw[label].isna().any():
        raise InputError(f"{path}: the label {label} is missing in some rows. Fill or drop them.")
    for name in names:
        if raw[name].isna().any():
            row = int(np.flatnonzero(raw[name].isna())[0]) + 4
            raise InputError(f"{path}, line {row}: {name} is missing. Fill or drop such rows.")
    try:
        y = raw[label].to_numpy(dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(UNNUMBERED.format(path=path, label=label)) from error
    if not np.array_equal(np.unique(y), np.arange(len(np.unique(y)))):
        raise InputError(UNNUMBERED.format(path=path, label=label))
    kinds = {name: KINDS[letter] for name, letter in zip(names[:-1], types, strict=False)}
    categories = {
        name: sorted(raw[name].unique().tolist(), key=lambda v: (isinstance(v, str), v))
        for name, kind in kinds.items()
        if kind in ("categorical", "binary")
    }
    for name, kind in kinds.items():
        if kind == "binary" and len(categories[name]) > 2:
            raise InputError(
                f"{path}: {name} has type B (binary) but {len(categories[name])} values. Change "
                "the type to N, D or C."
            )
    space = _space(raw, kinds, categories, dict(zip(names, actions, strict=True)), path)
    X = _encode(raw, space, categories, str(path))
    stem = path.name.removesuffix(".gz").removesuffix(".csv")
    return Dataset(stem, X, y.astype(np.int64), space, categories)


def _read_header(path: Path) -> tuple[list[str], list[str], list[str]]:
    lines = _open_csv(path, header=None, nrows=3, dtype=str, keep_default_na=False)
    form = "line 1: names, line 2: types N D C B, line 3: FREE INC DEC FIXED and PREDICT"
    if len(lines) < 3:
        raise InputError(f"{path} has fewer than three header lines. Write {form}.")
    names, types, actions = (line.str.strip().tolist() for _, line in lines.iterrows())
    if len(names) < 2:
        raise InputError(f"{path} has only a label column. Add at least one feature column.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}, line 1: two columns are named {twice!r}. Rename one.")
    wrong = [t for t in types if t not in KINDS]
    if wrong:
        raise InputError(f"{path}, line 2: {wrong[0]!r} is not a column type. Write {form}.")
    wrong = [a for a in actions[:-1] if a not in ACTIONS]
    if wrong:
        raise InputError(f"{path}, line 3: {wrong[0]!r} is not an actionability. Write {form}.")
    if actions[-1] != "PREDICT":
        raise InputError(f"{path}, line 3: the last column must be PREDICT, got {actions[-1]!r}.")
    return names, types, actions


def _read_rows(path: Path, skip: list[int], **options: Any) -> pd.DataFrame:
    frame = _open_csv(path, skiprows=skip, **options)
    if frame.empty:
        raise InputError(f"{path} has no rows. Add at least one.")
    if not isinstance(frame.index, pd.RangeIndex):
        raise InputError(f"{path} has more fields in its rows than names in line 1. Add names.")
    return frame


def _without_blanks(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a frame whose names have no blanks around them, as those of header lines."""
    frame = frame.rename(columns=str.strip)
    _check_unique(frame, path)
    return frame


def _check_unique(frame: pd.DataFrame, path: Path) -> None:
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"{path} has two columns named {twice!r}. Rename one.")


def _open_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV by pandas.read_csv; raise InputError in one sentence for its many errors."""
    if not path.is_file():
        raise InputError(f"file {path} does not exist. Check the path.")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(
            f"{path} is larger than {LARGEST_FILE >> 20} MiB. Use a sample of its rows."
        )
    try:
        check_header(path)
        packing: Literal["gzip"] | None = "gzip" if path.suffix == ".gz" else None
        frame: pd.DataFrame = pd.read_csv(path, compression=packing, **options)
    except InputError:
        raise
    except (OSError, EOFError, ValueError, UnicodeError, OverflowError, zlib.error) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "not a CSV"
        raise InputError(f"{path} cannot be read as CSV: {reason}") from error
    return frame


def read_query(path: str | Path, dataset: Dataset) -> pd.DataFrame:
    """Return the encoded row of a CSV with the data set's columns; header lines 2-3 optional."""
    rows = read_rows(path, dataset)
    if len(rows) != 1:
        raise InputError(
            f"{path} has {len(rows)} rows, but explain takes exactly one. Keep one of them."
        )
    return rows


def read_rows(path: str | Path, dataset: Dataset, lenient: bool = False) -> pd.DataFrame:
    """Return encoded rows of a Parquet file, or of a CSV whose header lines 2-3 are optional."""
    path = Path(path)
    if path.suffix == ".parquet":
        return dataset.encode(_open_parquet(path), str(path), lenient)
    head = _open_csv(path, header=None, nrows=3, dtype=str, keep_default_na=False)
    typed = len(head) == 3 and set(head.iloc[1]) <= set(KINDS)
    raw = _without_blanks(_read_rows(path, skip=[1, 2] if typed else []), path)
    return dataset.encode(raw, str(path), lenient)


def open_table(
    path: Path, text: Sequence[str] = (), categories: Mapping[str, Collection[str]] = NO_CATEGORIES
) -> pd.DataFrame:
    """Read a Parquet file, or a CSV with one header line, without encoding it."""
    if path.suffix == ".parquet":
        return _open_parquet(path)
    options: dict[str, Any] = {"dtype": dict.fromkeys(text, str)}
    if any(not MISSING.isdisjoint(known_labels) for known_labels in categories.values()):
        names = _open_csv(path, nrows=0).columns
        known_labels = {
            name: categories.get(name, categories.get(name.strip(), ())) for name in names
        }
        missing = {name: MISSING.difference(labels) for name, labels in known_labels.items()}
        options |= {"keep_default_na": False, "na_values": missing}
    return _read_rows(path, skip=[], **options)


def _open_parquet(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"file {path} does not exist. Check the path.")
    try:
        names = pyarrow.parquet.read_schema(path).names
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"{path} has more than {MOST_COLUMNS} columns. If the table is transposed, swap "
                "its rows and columns."
            )
        _check_unique(pd.DataFrame(columns=names), path)
        return pd.read_parquet(path)
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _space(
    raw: pd.DataFrame,
    kinds: dict[str, str],
    categories: dict[str, list[Any]],
    actions: dict[str, str],
    path: Path,
) -> FeatureSpace:
    """Return the inferred feature descriptions, overridden by the header lines."""
    overrides: dict[str, Any] = {}
    for name, kind in kinds.items():
        entry: dict[str, Any] = {"kind": kind, "action": ACTIONS[actions[name]]}
        if kind == "categorical":
            entry["columns"] = [f"{name}_{category}" for category in categories[name]]
            entry["labels"] = [str(category) for category in categories[name]]
        elif kind == "binary" and any(isinstance(v, str) for v in categories[name]):
            entry["labels"] = [str(value) for value in categories[name]]
            entry["values"] = list(range(len(categories[name])))
        overrides[name] = entry
    columns = [
        column
        for name, kind in kinds.items()
        for column in (overrides[name]["columns"] if kind == "categorical" else [name])
    ]
    skeleton = FeatureSpace(
        tuple(Feature(name, "numeric", (i,), 0, 0) for i, name in enumerate(kinds)), tuple(columns)
    )
    try:
        return infer_features(_encode(raw, skeleton, categories, str(path)), overrides)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _entry(feature: Feature, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return an override that describes a feature."""
    entry: dict[str, Any] = {"kind": feature.kind, "action": feature.action}
    if feature.kind == "categorical":
        entry["columns"] = [columns[c] for c in feature.columns]
    if feature.labels:
        entry["labels"] = list(feature.labels)
    return entry


def _encode(
    raw: pd.DataFrame,
    space: FeatureSpace,
    categories: dict[str, list[Any]],
    where: str,
    lenient: bool = False,
) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for feature in space.features:
        name = feature.name
        if name not in raw.columns:
            raise InputError(
                f"{where} lacks the column {name!r}.{close_names(name, raw.columns)} Add it."
            )
        values = categories.get(name)
        if values is None:
            columns[name] = (
                raw[name] if lenient else _as_numbers(raw[name], f"{where}: column {name}")
            )
            continue
        position = {_text(value): index for index, value in enumerate(values)}
        code = [position.get(_text(value), -1) for value in raw[name]]
        if -1 in code and not lenient:
            value = raw[name].iloc[code.index(-1)]
            raise InputError(
                f"{where}: {value!r} is not a known value of {name}."
                f"{close_names(value, position)} Use one of {', '.join(position)}."
            )
        one_hot = [f"{name}_{value}" for value in values]
        if one_hot[0] in space.columns:
            encoded = {c: np.equal(code, i).astype(float) for i, c in enumerate(one_hot)}
        elif any(isinstance(value, str) for value in values):
            encoded = {name: np.array(code, dtype=np.float64)}
        else:
            encoded = {name: np.array([values[c] for c in code], dtype=np.float64)}
        columns |= {c: _with_unknown(v, code, raw[name]) for c, v in encoded.items()}
    return pd.DataFrame(columns, index=raw.index)


def _with_unknown(encoded: FloatArray, code: list[int], raw: "pd.Series[Any]") -> Any:
    """Return encoded values, with the original ones where the category is unknown."""
    unknown = np.equal(code, -1)
    return np.where(unknown, raw.astype(object), encoded) if unknown.any() else encoded


def _text(value: Any) -> str:
    """Return the text of a category; 1.0 and 1 are the same, however pandas reads the column."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _as_numbers(column: "pd.Series[Any]", where: str) -> Any:
    try:
        numbers = column.to_numpy(dtype=np.float64)
    except OverflowError as error:
        raise InputError(f"{where} holds a number larger than any float64. Rescale it.") from error
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} is not numeric. Use numbers, or type C for categories."
        ) from error
    if not np.isfinite(numbers).all():
        raise InputError(f"{where} holds a missing or infinite value. Fill or drop it.")
    return numbers
