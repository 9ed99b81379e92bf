"""Readers: how models of one library are parsed and called. A model finds its reader by its type.

All members have defaults, which are the conventions of scikit-learn. A module of readers has a
table ``READERS`` from names of classes to readers, and is listed in
:mod:`encoders.readers.registry`. Importing it must not import its library.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.query.features import is_missing
from encoders.readers.advice import advice_for
from encoders.readers.kinds import kind_of, predictor
from encoders.readers.limit import ResponseLimit
from encoders.readers.registry import MODULES, PROJECT_CLASSES
from encoders.trees.ensemble import Ensemble

if TYPE_CHECKING:
    import pandas as pd

Codes = Mapping[Any, float]  # label -> the library's code


class ReadMember(Protocol):
    """Function that reads a member of a model, which may use a part of the columns."""

    def __call__(self, model: Any, columns: IntArray | None = None, /) -> Ensemble:
        """Return the member's trees; ``columns`` are the owner's columns that it reads."""


@dataclass(frozen=True)
class FileFormat:
    """Format of a library's model files.

    Attributes
    ----------
    endings : endings of the file names, in lower case; new files have the first.
    load : function from a path to a model, without protection against damaged files.
    library : module that loading imports.
    save : function that writes a model to a path.
    claims : function that decides about files whose ending another library uses, too.
    optional : modules that the library imports if they are installed, but needs for no file.
    """

    endings: tuple[str, ...]
    load: Callable[[Path], Any]
    library: str
    save: Callable[[Any, Path], object]
    claims: Callable[[Path], bool] | None = None
    optional: tuple[str, ...] = ()


class Reader:
    """Reader of models of some classes of a library, without state.

    Attributes
    ----------
    zeros_missing : whether the library reads absent entries of a sparse matrix as missing.
    calibration_remedy : settings of a model that CalibratedClassifierCV can be read over.
    reads_members : whether :meth:`read` reads the models that a model consists of.
    owns : whether these models may read categories, or have steps (see :meth:`members`).
    linear : whether these models are trees only over inputs whose values are known.
    varies_with_rows : whether the last bits of a prediction may depend on the number of rows.
    other_code : code of the categories that :meth:`codes` lacks; NaN if the library reads them as
        missing.
    """

    zeros_missing = False
    calibration_remedy = "Calibrate a forest or gradient boosting of trees"
    reads_members = False
    owns = False
    linear = False
    varies_with_rows = False
    other_code = float("nan")

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """Return a fitted model as trees; UnsupportedModelError if they cannot be read exactly."""
        name, remedy = type(model).__name__, advice_for(model, _library_of())
        raise UnsupportedModelError(f"a model of type {name} cannot be read exactly. {remedy}.")

    def members(self, model: Any) -> Iterator[tuple[Any, IntArray | None, str]]:
        """Yield each model that a model consists of, the columns it reads (None for all), its name.

        The name is that of ``get_params``.
        """
        return iter(())

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return a model for each output of a fitted model; empty if it has one output."""
        return ()

    def width(self, model: Any) -> int:
        """Return the number of inputs of a model without members; 0 if it is unknown."""
        return int(getattr(model, "n_features_in_", 0) or 0)

    def averages(self, model: Any) -> bool:
        """Return whether a model's probabilities are averages of its leaves' values."""
        return False

    def decision_unit(self, model: Any, ensemble: Ensemble) -> float:
        """Return the leaf score per unit of ``decision_function``."""
        return ensemble.margin_unit

    def sigmoid_unit(
        self, model: Any, ensemble: Ensemble
    ) -> tuple[float, float, "np.dtype[Any]"] | None:
        """Return how probabilities of two classes follow from the lead; None if by no sigmoid.

        The result is the leaf score per unit of the score, its factor in the sigmoid, and the type
        of probabilities.
        """
        return None

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the library's own leaf index of each row in each tree, (n_rows, n_trees), or None.

        None if the library does not provide them.
        """
        return None

    def scores(self, model: Any, rows: Any, margin_unit: float) -> Any:
        """Return the sums that the library compares, in units of leaf scores, (n_rows, n_sums).

        One-dimensional scores are those of class 1; class 0 has score 0.
        """
        if hasattr(model, "decision_function"):
            return model.decision_function(rows) * margin_unit
        return model.predict_proba(rows) * margin_unit

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the raw score that the user knows, float64 (n_rows,)."""
        raw: FloatArray = in_columns(self.scores(model, rows, 1.0))[:, -1]
        return raw

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return the output of the model's own predict."""
        return model.predict(rows)

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return the model's own probabilities in their type, (n_rows, n_classes)."""
        return model.predict_proba(rows)

    def class_indices(self, model: Any, rows: Any) -> IntArray | None:
        """Return the class index of each row, if predict returns no labels; else None."""
        return None

    def returns_scores(self, model: Any) -> bool:
        """Return whether predict of a classifier returns raw scores and not labels."""
        return False

    def likeliest(self, model: Any) -> bool:
        """Return whether predict is known to return the first class of largest probability."""
        return False

    def limit(self, model: Any) -> ResponseLimit | None:
        """Return the limit that predict applies, None if the largest probability decides."""
        return None

    def takes_arrays(self, model: Any) -> bool:
        """Return whether predict reads an array like a frame of the same numbers, but faster."""
        return False

    def classes(self, model: Any, n_classes: int) -> tuple[Any, ...]:
        """Return the labels in the order of the scores."""
        # scikit-learn's outlier detectors have no classes_; they predict -1 and 1.
        return tuple(np.asarray(getattr(model, "classes_", [-1, 1])).tolist())

    def columns(self, model: Any) -> Any:
        """Return the names of the columns that a model was fitted with, or None."""
        return getattr(model, "feature_names_in_", None)

    def errors(self) -> tuple[type[Exception], ...]:
        """Return the exception types that the library raises for rows that it rejects."""
        return TypeError, ValueError, OverflowError

    def tests_category(self, model: Any, row: "pd.DataFrame", at: int) -> bool:
        """Return whether a split may test the category that a frame of one row has in a column."""
        return False

    def missing_number(self, model: Any) -> float:
        """Return the number that a model reads as missing, NaN if there is none."""
        return float("nan")

    def codes(self, model: Any, frame: "pd.DataFrame") -> dict[int, Codes]:
        """Return the codes of the columns that a model reads as categories, by position."""
        return {}

    def labels(self, model: Any, frame: "pd.DataFrame") -> dict[Any, list[Any]]:
        """Return the categories that a model stores, by name of the column."""
        return {}

    def has_categories(self, model: Any) -> bool:
        """Return whether a column has categories, even if no tree splits it."""
        return False

    def sizes(self, part: Any) -> Iterator[Callable[[], Any]]:
        """Yield functions whose values change if the library changes a model in place."""
        return iter(())


def in_columns(scores: Any) -> FloatArray:
    """Return scores as float64 (n_rows, n_sums); class 0 of a single raw score has score 0."""
    scores = np.asarray(scores, dtype=np.float64)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def of_both_classes(probabilities: Any) -> Any:
    """Return probabilities of all classes; class 0 of two is computed as the libraries do."""
    probabilities = np.asarray(probabilities)
    if probabilities.ndim > 1:
        return probabilities
    return np.column_stack([probabilities.dtype.type(1) - probabilities, probabilities])


def positions(labels: Sequence[Any]) -> Codes:
    """Return the position of each label as its code; missing values have none."""
    return {label: float(code) for code, label in enumerate(labels) if not is_missing(label)}


def numbers_as_codes(column: "pd.Series[Any]") -> Codes:
    """Return the values of a numeric column as their own codes."""
    values = [value for value in column.unique().tolist() if not is_missing(value)]
    wrong = [value for value in values if not (isinstance(value, Real) and isfinite(value))]
    if wrong:
        raise InputError(
            f"X_train: column {column.name!r} contains {wrong[0]!r}, but the model reads its "
            "categories as numbers. Pass the frame that the model was fitted on."
        )
    return {value: float(value) for value in sorted(values)}


def reader_of(model: Any) -> Reader:
    """Return the reader of a model's type; one that refuses to read it if it is not supported."""
    kind = kind_of(model)
    return _reader(kind.library, kind.name)


def averages(model: Any) -> bool:
    """Return whether a model's probabilities are averages of its leaves' values."""
    estimator = predictor(model)
    return reader_of(estimator).averages(estimator)


@cache
def _reader(library: str, name: str) -> Reader:
    for module in MODULES.get(library, ()):
        readers: Mapping[str, Reader] = import_module(f"encoders.readers.{module}").READERS
        if name in readers:
            return readers[name]
    return Reader()


@cache
def _library_of() -> dict[str, str]:
    """Return the packages of the libraries whose classes can be read, by name of the class."""
    libraries = [(library, names) for library, names in MODULES.items() if library != "encoders"]
    return {
        kind: library
        for library, names in libraries
        for name in names
        for kind in import_module(f"encoders.readers.{name}").READERS
        if kind not in PROJECT_CLASSES
    }


@cache
def file_formats() -> tuple[FileFormat, ...]:
    """Return the formats of model files of all libraries."""
    modules = dict.fromkeys(name for names in MODULES.values() for name in names)
    every = (getattr(import_module(f"encoders.readers.{name}"), "FORMATS", ()) for name in modules)
    return tuple(format for formats in every for format in formats)


def format_to_write(model: Any) -> FileFormat | None:
    """Return the format of a model's own library, whose first ending is for new files."""
    library = kind_of(model).library
    return next((each for each in file_formats() if each.library == library), None)


def format_of(path: Path) -> FileFormat | None:
    """Return the format of a file by its ending, and by its start if several libraries use that."""
    formats = [each for each in file_formats() if path.suffix.lower() in each.endings]
    claimed = [each for each in formats if each.claims is not None and each.claims(path)]
    others = [each for each in formats if each.claims is None]
    return next(iter([*claimed, *others]), None)
