"""Scikit-learn pipelines as trees over the user's own columns."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray
from encoders.errors import InputError, UnsupportedModelError
from encoders.query.features import FeatureSpace
from encoders.trees.ensemble import Ensemble
from encoders.trees.inputs import Layout, layout_of
from encoders.trees.kinds import kind_of
from encoders.trees.pull_back import RawColumns, pull_back
from encoders.trees.refusals import first_line
from encoders.trees.sources import Source
from portfolio.model.categories import Codes, in_codes_of_all, library_codes
from portfolio.model.followed_numbers import limits_of_queries, numbers_followed
from portfolio.model.frames import FrameForm
from portfolio.model.input_tables import dense, side_by_side, tables_of
from portfolio.model.pipeline_sources import encoded_columns, sources_of
from portfolio.model.pipeline_steps import Said
from portfolio.model.table import Table
from portfolio.model.table_of_frame import is_category, make_table
from portfolio.model.unread_columns import unread_columns
from portfolio.model.whole_numbers import check_whole_numbers

SEEN = 65  # quantiles of each column that crossings are checked against
ALONE = 20  # rows that are transformed together and alone
SPARSE_MEMBERS = (
    "XGBoost members read absent entries of a sparse matrix as missing, other members read them as "
    "0. Make the table dense, with sparse_threshold=0 of ColumnTransformer or sparse_output=False "
    "of OneHotEncoder."
)


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """All steps of a model, from the user's columns to the joint table that its trees read.

    Attributes
    ----------
    layout : tables and members of the model.
    table : the user's columns.
    sources : tuple of Source, the column that each input depends on.
    codes : library codes of the inputs that members read as categories, by position.
    zeros_missing : tuple of bool by table, whether its members read absent entries of a sparse
        matrix as missing, as XGBoost does.
    unread : frozenset of positions of the columns that no step reads.
    form : library and column types of the frames that steps get.
    """

    layout: Layout
    table: Table
    sources: Sequence[Source]
    codes: Mapping[int, Codes]
    zeros_missing: tuple[bool, ...]
    unread: frozenset[int]
    form: FrameForm

    def inputs(self, rows: FloatArray, keep_zeros: bool) -> FloatArray:
        """Return the joint table, float64 (n_rows, n_inputs)."""
        tables = _quietly(self.layout, self.form.of(self.table.frame(rows)))
        pairs = zip(tables, self.zeros_missing, strict=True)
        gaps = [dense(table, np.nan if gone and not keep_zeros else 0.0) for table, gone in pairs]
        try:
            if self.codes:
                return _in_codes(side_by_side(gaps), self.codes)
            numbers = [_in_numbers(table) for table in gaps]
        except (TypeError, ValueError) as error:
            raise _refused(error) from error
        return numbers[0] if len(numbers) == 1 else np.hstack(numbers)


def _quietly(layout: Layout, frame: Any) -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return tables_of(layout, frame)
        except (TypeError, ValueError) as error:
            raise _refused(error) from error


def _refused(error: Exception) -> InputError:
    return InputError(
        f"a step of the pipeline rejects a generated row ({first_line(error)}). If a feature may "
        "be missing, make the pipeline accept missing values."
    )


def _in_numbers(inputs: Any) -> FloatArray:
    if isinstance(inputs, pd.DataFrame):  # pandas dtypes may have missing values
        return inputs.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(inputs, dtype=np.float64)


def _in_codes(frame: pd.DataFrame, codes: Mapping[int, Codes]) -> FloatArray:
    """Return inputs in numbers, where some are categories, float64 (n_rows, n_inputs)."""
    numbers = np.empty(frame.shape)
    for at in range(frame.shape[1]):
        if at not in codes:
            numbers[:, at] = frame.iloc[:, at].to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        index, labels = pd.factorize(frame.iloc[:, at], use_na_sentinel=True)
        code_of_label = [codes[at].get(label, np.nan) for label in labels.tolist()]
        numbers[:, at] = np.append(code_of_label, np.nan)[index]
    return numbers


def preprocessing_of(
    model: Any,
    ensemble: Ensemble,
    frame: pd.DataFrame,
    declarations: Mapping[str, Said],
    form: FrameForm,
) -> tuple[Preprocessing, Ensemble]:
    """Return the steps of a model, and its trees over the joint table."""
    layout = layout_of(model)
    if len(layout.widths) == 1:  # boosters do not store it
        layout = replace(layout, widths=dict.fromkeys(layout.widths, ensemble.n_columns))
    sources = sources_of(layout, _columns(frame), declarations)
    tables = _quietly(layout, form.of(frame))
    zeros = tuple(
        hasattr(part, "tocoo") and _takes_zeros(layout, at)
        for part, (at, _) in zip(tables, layout.blocks(), strict=True)
    )
    inputs = side_by_side([dense(part, 0.0) for part in tables])
    codes = library_codes(model, layout, inputs)
    for at in codes:
        _refuse_steps(sources[at], frame, inputs.iloc[:, at])
    sources = tuple(s.encoded if at in codes else s for at, s in enumerate(sources))
    unread = unread_columns(layout, frame.shape[1])
    table = _table(frame, encoded_columns(sources), unread)
    steps = Preprocessing(layout, table, sources, codes, zeros, unread, form)
    return steps, in_codes_of_all(model, ensemble, codes, inputs)


def _takes_zeros(layout: Layout, table: int) -> bool:
    """Return whether a sparse table's members read its absent entries as missing."""
    xgboost = [
        kind_of(member).library == "xgboost" for member, at in layout.leaves if at.table == table
    ]
    if any(xgboost) and not all(xgboost):
        raise UnsupportedModelError(SPARSE_MEMBERS)
    return all(xgboost)


def joint_table(frame: pd.DataFrame, steps: Sequence[Preprocessing]) -> Table:
    """Return the user's columns for several pipelines together."""
    if len(steps) == 1:
        return steps[0].table
    encoded = frozenset().union(*(encoded_columns(each.sources) for each in steps))
    return _table(frame, encoded, frozenset.intersection(*(each.unread for each in steps)))


def _table(frame: pd.DataFrame, encoded: frozenset[int], unread: frozenset[int]) -> Table:
    no_labels: dict[int, tuple[Any, ...]] = dict.fromkeys(encoded, ())
    return make_table(frame, no_labels, text_is_category=True, seen_only=True, unread=unread)


def _columns(frame: pd.DataFrame) -> tuple[Source, ...]:
    """Return a source per column of the user's; those of categories and text are discrete."""
    category = [is_category(frame.iloc[:, at], True) for at in range(frame.shape[1])]
    return tuple(
        Source(at, "discrete" if is_coded else "monotone") for at, is_coded in enumerate(category)
    )


def _refuse_steps(source: Source, frame: pd.DataFrame, values: "pd.Series[Any]") -> None:
    """Raise UnsupportedModelError if bins of a number are categories of the model."""
    column = frame.iloc[:, source.column]
    if source.kind != "discrete" and column.nunique() > values.nunique():
        raise UnsupportedModelError(
            f"the model reads bins of {column.name!r} as categories. Let it read their numbers as "
            "numbers, or bin the column before the pipeline."
        )


def over_raw_columns(
    ensemble: Ensemble, steps: Preprocessing, rows: FloatArray, space: FeatureSpace
) -> tuple[Ensemble, Table]:
    """Return the trees over the user's columns, and these with the range that can be analysed."""
    if ensemble.sets is not None and not ensemble.sets.coded <= frozenset(steps.codes):
        raise UnsupportedModelError(
            "the pipeline's last step treats native categories in an unsupported way. Encode them "
            "in the pipeline with OneHotEncoder or OrdinalEncoder, and switch native categories "
            "off in the model."
        )
    labels = [column.labels for column in steps.table.columns]
    whole = rows[~np.isnan(rows).any(axis=1)]
    template = whole[0] if len(whole) else _filled(rows)
    steps = replace(steps, table=_taking_new(steps, template))
    low, high = numbers_followed(steps, rows, template, ensemble.dtype)
    _check_alone(steps, whole[:ALONE] if len(whole) else template[None, :])
    seen = _quantiles(rows, template)
    check_whole_numbers(
        *(ensemble, steps.table, steps.sources, low, high, template, seen),
        inputs=lambda table, rows: replace(steps, table=table).inputs(rows, True),
    )
    raw = RawColumns(
        sources=steps.sources,
        names=[str(column.name) for column in steps.table.columns],
        n_codes={at: len(own) + 1 for at, own in enumerate(labels) if own is not None},
        low=low,
        high=high,
        missing=_missing(space),
        template=template,
        seen=seen,
        zeros_missing=any(steps.zeros_missing),
    )
    for feature in space.features:
        at = feature.column
        if not feature.coded and not low[at] <= feature.lower <= feature.upper <= high[at]:
            raise InputError(
                f"feature {feature.name}: the bounds {feature.lower:g} and {feature.upper:g} "
                f"exceed the range in which the pipeline can be analysed, {low[at]:g} to "
                f"{high[at]:g}. Narrow the bounds."
            )
    pulled = pull_back(ensemble, raw, steps.inputs)
    unsure = pulled.unsure or {}
    columns = tuple(
        own
        if own.labels is not None or own.unread
        else own.narrowed(*limits_of_queries(rows[:, at], low[at], high[at]), unsure.get(at))
        for at, own in enumerate(steps.table.columns)
    )
    return pulled, Table(columns)


def _taking_new(steps: Preprocessing, template: FloatArray) -> Table:
    """Return the table, in which columns accept new categories only if the steps do."""
    columns = list(steps.table.columns)
    for at, column in enumerate(columns):
        if column.labels is None or column.new is None or column.unread:
            continue
        row = template.copy()
        row[at] = len(column.labels)
        try:
            steps.inputs(row[None, :], True)
        except InputError:
            columns[at] = replace(column, new=None)
    return Table(tuple(columns))


def _check_alone(steps: Preprocessing, rows: FloatArray) -> None:
    """Raise UnsupportedModelError if a row's inputs depend on the rows beside it."""
    together = steps.inputs(rows, True)
    turned = steps.inputs(rows[::-1], True)[::-1]
    alone = steps.inputs(rows[:1], True)
    same = np.array_equal(together, turned, equal_nan=True)
    if not (same and np.array_equal(together[:1], alone, equal_nan=True)):
        raise UnsupportedModelError(
            "the output of the pipeline's steps for a row depends on the other rows of the table "
            "(for example by ranks, shares or random numbers). Use steps that transform each row "
            "separately."
        )


def _missing(space: FeatureSpace) -> Any:
    missing = np.zeros(len(space.columns), dtype=np.bool_)
    for feature in space.features:
        missing[list(feature.columns)] = feature.missing
    return missing


def _quantiles(rows: FloatArray, template: FloatArray) -> FloatArray:
    """Return quantiles of each column from minimum to maximum, float64 (SEEN, n_columns)."""
    numbers = np.where(np.isnan(rows), template, rows)
    return np.quantile(numbers, np.linspace(0, 1, SEEN), axis=0, method="nearest")


def _filled(rows: FloatArray) -> FloatArray:
    """Return some value of each column, NaN if it has none, float64 (n_columns,)."""
    seen = [column[~np.isnan(column)] for column in rows.T]
    return np.array([values[0] if values.size else np.nan for values in seen])
