"""A scikit-learn pipeline as trees over the user's own columns."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError, UnsupportedModelError
from encoders.query.features import FeatureSpace
from encoders.trees.ensemble import Ensemble
from encoders.trees.pull_back import RawColumns, pull_back
from encoders.trees.refusals import first_line
from encoders.trees.sources import Source
from portfolio.model.pipeline_sources import encoded_columns, sources_of
from portfolio.model.table import Table, make_table

# How far beyond the training data a column is followed, in its own size; the first that its
# transformers take. The last is the training data's own range.
REACHES = (1e6, 1e3, 10.0, 1.0, 0.0)


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of scikit-learn.

    Parameters
    ----------
    model : of any type
    """
    return type(model).__name__ == "Pipeline" and type(model).__module__.startswith("sklearn.")


def last_step(model: Any) -> Any:
    """The model that a pipeline ends with.

    Parameters
    ----------
    model : a pipeline
    """
    return model.steps[-1][1]


def inputs_of(model: Any, frame: pd.DataFrame) -> Any:
    """What the last step is given for rows of the user's.

    Parameters
    ----------
    model : a fitted pipeline
    frame : rows as the user has them
    """
    return model[:-1].transform(frame) if len(model.steps) > 1 else frame


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """The steps before the last one.

    Attributes
    ----------
    model : the pipeline
    table : the user's columns
    sources : the column that each input follows from
    zeros_missing : the last step takes what a sparse matrix does not hold for missing, as XGBoost
    """

    model: Any
    table: Table
    sources: Sequence[Source]
    zeros_missing: bool

    def inputs(self, rows: FloatArray, keep_zeros: bool) -> FloatArray:
        """What the last step reads, float64 (n_rows, n_inputs).

        Parameters
        ----------
        rows : float64 (n_rows, n_columns), the user's columns in numbers
        keep_zeros : give 0 also where it is taken for missing
        """
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = inputs_of(self.model, self.table.frame(rows))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"a step of the pipeline refuses a row made for it ({first_line(error)}); if a "
                    "value may be missing, the pipeline must take that."
                ) from error
        if hasattr(found, "tocoo"):
            held = found.tocoo()
            nothing = np.nan if self.zeros_missing and not keep_zeros else 0.0
            dense = np.full(held.shape, nothing)
            dense[held.row, held.col] = held.data
            return dense
        return np.asarray(found, dtype=np.float64)


def table_of(model: Any, frame: pd.DataFrame, n_inputs: int) -> Preprocessing:
    """The user's columns before a pipeline, and what becomes of them.

    Parameters
    ----------
    model : a fitted pipeline
    frame : its training frame
    n_inputs : that the last step reads

    Raises
    ------
    UnsupportedModelError
        A step that can't be followed.
    """
    sources = sources_of(model[:-1], frame.shape[1]) if len(model.steps) > 1 else _themselves(frame)
    if len(sources) != n_inputs:
        raise UnsupportedModelError(
            f"the pipeline's steps give {len(sources)} columns where the model takes {n_inputs}; "
            "this version of scikit-learn is not known."
        )
    known: dict[int, tuple[Any, ...]] = dict.fromkeys(encoded_columns(sources), ())
    table = make_table(frame, known, text_is_category=True, seen_only=True)
    steps = Preprocessing(model, table, sources, zeros_missing=False)
    xgboost = type(last_step(model)).__module__.startswith("xgboost.")
    sparse = xgboost and hasattr(inputs_of(model, frame.head(1)), "tocoo")
    return replace(steps, zeros_missing=sparse)


def _themselves(frame: pd.DataFrame) -> tuple[Source, ...]:
    return tuple(Source(at) for at in range(frame.shape[1]))


def over_raw_columns(
    ensemble: Ensemble, steps: Preprocessing, rows: FloatArray, space: FeatureSpace
) -> tuple[Ensemble, Table]:
    """The trees over the user's columns, and these with the numbers that are known to be read.

    Parameters
    ----------
    ensemble : of the last step
    steps : before it
    rows : float64 (n_rows, n_columns), training rows in numbers
    space : features of the user's columns

    Raises
    ------
    InputError
        Bounds beyond what the steps take.
    UnsupportedModelError
        Native categories in the last step.
    """
    if ensemble.sets is not None and ensemble.sets.coded:
        raise UnsupportedModelError(
            "the pipeline's last step takes native categories; let the pipeline encode them, with "
            "OneHotEncoder or OrdinalEncoder, and switch them off in the model."
        )
    labels = [column.labels for column in steps.table.columns]
    whole = rows[~np.isnan(rows).any(axis=1)]
    template = whole[0] if len(whole) else _filled(rows)
    low, high = _window(steps, rows, template, ensemble.dtype)
    raw = RawColumns(
        sources=steps.sources,
        n_codes={at: len(own) for at, own in enumerate(labels) if own is not None},
        low=low,
        high=high,
        missing=_missing(space),
        template=template,
        zeros_missing=steps.zeros_missing,
    )
    for feature in space.features:
        at = feature.column
        if not feature.coded and not low[at] <= feature.lower <= feature.upper <= high[at]:
            raise InputError(
                f"feature {feature.name}: the bounds {feature.lower:g} and {feature.upper:g} are "
                f"beyond what the pipeline can be followed to: from {low[at]:g} to {high[at]:g}."
            )
    columns = zip(steps.table.columns, low.tolist(), high.tolist(), strict=True)
    table = Table(
        tuple(c if c.labels is not None else replace(c, low=a, high=b) for c, a, b in columns)
    )
    return pull_back(ensemble, raw, steps.inputs), table


def _missing(space: FeatureSpace) -> Any:
    missing = np.zeros(len(space.columns), dtype=np.bool_)
    for feature in space.features:
        missing[list(feature.columns)] = feature.missing
    return missing


def _filled(rows: FloatArray) -> FloatArray:
    """Some value that was seen in each column."""
    seen = [column[~np.isnan(column)] for column in rows.T]
    return np.array([values[0] if values.size else np.nan for values in seen])


def _window(
    steps: Preprocessing, rows: FloatArray, template: FloatArray, dtype: Any
) -> tuple[FloatArray, FloatArray]:
    """Numbers between which every transformer of a column gives what the model can read."""
    lowest, highest = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    size = np.maximum(np.maximum(np.abs(lowest), np.abs(highest)), 1.0)
    numeric = np.array([column.labels is None for column in steps.table.columns])
    low, high = lowest.copy(), highest.copy()
    source = np.array([own.column for own in steps.sources], dtype=np.int64)
    for reach in reversed(REACHES):
        for ends, way, kept in ((lowest, -1.0, low), (highest, 1.0, high)):
            tried = np.where(numeric, ends + way * reach * size, template)
            try:
                able = numeric & _readable(steps, tried, source, dtype)
            except InputError:  # a step refuses what another one makes of it
                continue
            if reach == 0.0:
                _refuse_no_numbers(steps.table, tried, numeric & ~able)
            kept[able] = tried[able]
    return low, high


def _refuse_no_numbers(table: Table, row: FloatArray, wrong: BoolArray) -> None:
    """Raise :class:`InputError` where steps make no number of what is in the training data."""
    for at in np.flatnonzero(wrong & ~np.isnan(row)).tolist():
        raise InputError(
            f"X_train: a step of the pipeline makes NaN or an infinite number of {row[at]:g} in "
            f"column {table.columns[at].name!r}, as np.log1p does below -1; drop such rows, or cut "
            "the column off in the frame that the pipeline is given."
        )


def _readable(steps: Preprocessing, row: FloatArray, source: Any, dtype: Any) -> BoolArray:
    """Columns of which every input is a number that the model takes, bool (n_columns,)."""
    fine: BoolArray = np.ones(row.size, dtype=np.bool_)
    values = steps.inputs(row[None, :], True)[0]
    limit = float(np.finfo(dtype).max)
    fine[source[~(np.abs(values) <= limit)]] = False
    return fine
