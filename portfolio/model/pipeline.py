"""Scikit-learn pipelines as trees over the user's own columns."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.query.features import FeatureSpace
from encoders.readers.kinds import kind_of, replaced_method, steps_before
from encoders.readers.layout import Layout, as_bagging_passes, inputs_of, layout_of
from encoders.readers.reader import Codes, reader_of
from encoders.readers.refusals import first_line
from encoders.trees.cells import boundaries, codes
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import Stretches
from encoders.trees.merging import merged_by_column
from encoders.trees.pull_back import RawColumns, Source, pull_back, with_thresholds
from portfolio.model.bin_cuts import with_cuts
from portfolio.model.categories import in_codes_of_all, library_codes, other_code
from portfolio.model.frames import FrameForm, as_pandas
from portfolio.model.levels import WITH_CATEGORIES, has_linear, listed_values, over_levels
from portfolio.model.pipeline_numbers import inputs_of_numbers
from portfolio.model.pipeline_steps import encoded_columns, sources_of
from portfolio.model.step_kinds import Said
from portfolio.model.table import Column, Table, is_category, make_table


def tables_of(layout: Layout, frame: Any) -> list[Any]:
    """Return the tables that leaves read, in the order of the blocks of the joint table."""
    tables: list[Any] = [frame]
    for table in layout.tables[1:]:
        source = tables[table.source]
        if table.columns is not None:
            source = as_bagging_passes(source, table.columns)
        tables.append(inputs_of(table.pipeline, source))
    return [tables[at] for at, _ in layout.blocks()]


def side_by_side(tables: list[Any]) -> pd.DataFrame:
    """Return the joint table of some tables."""
    frames = [pd.DataFrame(as_pandas(table)[0]).reset_index(drop=True) for table in tables]
    return frames[0] if len(frames) == 1 else pd.concat(frames, axis=1)


def dense(matrix: Any, nothing: float) -> Any:
    """Return a sparse matrix as an array, filled up with a value; other tables as they are."""
    if not hasattr(matrix, "tocoo"):
        return matrix
    entries = matrix.tocoo()
    array = np.full(entries.shape, nothing)
    array[entries.row, entries.col] = entries.data
    return array


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
    other_code : code of all other categories.
    zeros_missing : tuple of bool by table, whether its members read absent entries of a sparse
        matrix as missing, as XGBoost does.
    unread : frozenset of positions of the columns that no step reads.
    form : library and column types of the frames that steps get.
    """

    layout: Layout
    table: Table
    sources: Sequence[Source]
    codes: Mapping[int, Codes]
    other_code: float
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
                return _in_codes(side_by_side(gaps), self.codes, self.other_code)
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


def _in_codes(frame: pd.DataFrame, codes: Mapping[int, Codes], other: float) -> FloatArray:
    """Return inputs in numbers, where some are categories, float64 (n_rows, n_inputs)."""
    numbers = np.empty(frame.shape)
    for at in range(frame.shape[1]):
        if at not in codes:
            numbers[:, at] = frame.iloc[:, at].to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        index, labels = pd.factorize(frame.iloc[:, at], use_na_sentinel=True)
        code_of_label = [codes[at].get(label, other) for label in labels.tolist()]
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
    sources = sources_of(layout, _columns(frame), frame.columns.tolist(), declarations)
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
    steps = Preprocessing(layout, table, sources, codes, other_code(model), zeros, unread, form)
    return steps, in_codes_of_all(model, ensemble, codes, inputs)


def _takes_zeros(layout: Layout, table: int) -> bool:
    """Return whether a sparse table's members read its absent entries as missing."""
    missing = [reader_of(member).zeros_missing for member, at in layout.leaves if at.table == table]
    if any(missing) and not all(missing):
        raise UnsupportedModelError(SPARSE_MEMBERS)
    return all(missing)


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
    """Raise UnsupportedModelError if unknown bins of a number are categories of the model."""
    column = frame.iloc[:, source.column]
    by_value = source.kind != "discrete" and source.encoded.kind == "discrete"
    if by_value and column.nunique() > values.nunique():
        raise UnsupportedModelError(
            f"the model reads bins of {column.name!r} as categories. Let it read their numbers as "
            "numbers, or bin the column before the pipeline."
        )


def over_raw_columns(
    model: Any, ensemble: Ensemble, steps: Preprocessing, rows: FloatArray, space: FeatureSpace
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
    raw = RawColumns(
        sources=steps.sources,
        names=[str(column.name) for column in steps.table.columns],
        n_codes={at: len(own) + 1 for at, own in enumerate(labels) if own is not None},
        low=low,
        high=high,
        missing=_missing(space),
        template=template,
        seen=_quantiles(rows, template),
        zeros_missing=any(steps.zeros_missing),
    )
    raw = with_cuts(raw, steps.inputs, rows)
    between: dict[int, Stretches] = {}
    if has_linear(steps.layout):
        if steps.codes:
            raise UnsupportedModelError(WITH_CATEGORIES)
        listed = listed_values(space)
        ensemble, between = over_levels(model, raw, steps.inputs, listed)
    check_whole_numbers(
        *(ensemble, steps.table, steps.sources, low, high, template, raw.seen),
        inputs=lambda table, rows: replace(steps, table=table).inputs(rows, True),
    )
    for feature in space.features:
        at = feature.column
        if not feature.coded and not low[at] <= feature.lower <= feature.upper <= high[at]:
            raise InputError(
                f"feature {feature.name}: the bounds {feature.lower:g} and {feature.upper:g} "
                f"exceed the range in which the pipeline can be analysed, {low[at]:g} to "
                f"{high[at]:g}. Narrow the bounds."
            )
    pulled = pull_back(ensemble, raw, steps.inputs, inputs_of_numbers(steps, raw))
    if has_linear(steps.layout):
        pulled = merged_by_column(pulled)
    of_groups = [at for each in space.features if len(each.columns) > 1 for at in each.columns]
    pulled = with_thresholds(pulled, of_groups, raw.names)
    unsure = pulled.unsure or {}
    if between:
        pulled = replace(pulled, unsure=_union(unsure, between))
    columns = tuple(
        own
        if own.labels is not None or own.unread
        else own.narrowed(*limits_of_queries(rows[:, at], low[at], high[at]), unsure.get(at))
        for at, own in enumerate(steps.table.columns)
    )
    return pulled, Table(columns)


def _union(first: Mapping[int, Stretches], second: Mapping[int, Stretches]) -> dict[int, Stretches]:
    """Return the intervals of both, by column."""
    return {
        at: Stretches.of_all([each[at] for each in (first, second) if at in each])
        for at in sorted({*first, *second})
    }


def _taking_new(steps: Preprocessing, template: FloatArray) -> Table:
    """Return the table, in which columns accept new categories only if the steps do."""
    columns = list(steps.table.columns)
    new = {
        at: len(column.labels)
        for at, column in enumerate(columns)
        if column.labels is not None and column.new is not None and not column.unread
    }
    rows = np.tile(template, (len(new), 1))
    rows[np.arange(len(new)), list(new)] = list(new.values())
    for at, inputs in zip(new, _inputs_or_none(steps, rows), strict=True):
        if inputs is None:
            columns[at] = replace(columns[at], new=None)
    return Table(tuple(columns))


def _inputs_or_none(steps: Preprocessing, rows: FloatArray) -> list[FloatArray | None]:
    """Return the inputs of each row, or None for a row that a step rejects."""
    if len(rows) == 0:
        return []
    try:
        return list(steps.inputs(rows, True))
    except InputError:
        if len(rows) == 1:
            return [None]
    return [each for row in rows for each in _inputs_or_none(steps, row[None, :])]


def _check_alone(steps: Preprocessing, rows: FloatArray) -> None:
    """Raise UnsupportedModelError if a row's inputs depend on the rows beside it."""
    both = steps.inputs(np.concatenate([rows, rows[::-1]]), True)
    together, turned = both[: len(rows)], both[len(rows) :][::-1]
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


Places = Mapping[int, int]  # output position -> the user's column, if unchanged


def unread_columns(layout: Layout, n_columns: int) -> frozenset[int]:
    """Return the positions of the columns that no step of a model reads.

    Only columns that a ColumnTransformer drops are known to be unread. Every other step
    may check values, even those of columns that it leaves out, and so does a bagging.
    """
    read: set[int] = set()
    columns_of = [dict(enumerate(range(n_columns)))]
    for table in layout.tables[1:]:
        columns = columns_of[table.source]
        if table.columns is not None:
            read.update(columns.values())
            columns = {}
        for _, step in steps_before(table.pipeline):
            columns = _through(step, columns, read)
        columns_of.append(columns)
    for at in layout.widths:
        read.update(columns_of[at].values())
    return frozenset(range(n_columns)) - read


def _through(step: Any, columns: Places, read: set[int]) -> dict[int, int]:
    """Return columns that a step passes on unchanged, and add those that it reads to ``read``."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return dict(columns)
    kind_of_step = kind_of(step)
    kind = (
        kind_of_step.name if kind_of_step.library == "sklearn" and not replaced_method(step) else ""
    )
    if kind == "FunctionTransformer" and step.func is None and not step.validate:
        return dict(columns)
    if kind == "Pipeline":
        passed = dict(columns)
        for _, part in step.steps:
            passed = _through(part, passed, read)
        return passed
    if kind == "ColumnTransformer":
        return _selected(step, columns, read)
    if kind == "FeatureUnion":
        for _, part in step.transformer_list:
            if not (isinstance(part, str) and part == "drop"):
                read.update(_through(part, columns, read).values())
        return {}
    read.update(columns.values())
    return {}


def _selected(step: Any, columns: Places, read: set[int]) -> dict[int, int]:
    passed_on: dict[int, int] = {}
    parts = {name: part for name, part, _ in step.transformers_}
    for name, out in step.output_indices_.items():
        part = parts.get(name, "drop")
        if isinstance(part, str) and part == "drop":
            continue
        inputs = enumerate(step._transformer_to_input_indices[name])
        passed = {place: columns[at] for place, at in inputs if at in columns}
        outputs = _through(part, passed, read)
        if (step.transformer_weights or {}).get(name) is not None:
            read.update(outputs.values())
        else:
            passed_on.update({out.start + place: column for place, column in outputs.items()})
    return passed_on


def missing_number(layout: Layout) -> float:
    """Return the number that all members of a model read as missing, or NaN if there is none."""
    numbers = {reader_of(member).missing_number(member) for member, _ in layout.leaves}
    return numbers.pop() if len(numbers) == 1 else float("nan")


def missing_numbers(steps: Preprocessing, rows: FloatArray) -> dict[str, float]:
    """Return, by column, the number that the members of a model read as missing.

    Only columns count that have an input equal to that number where the column is. Another input
    may mark missing values.
    """
    number = missing_number(steps.layout)
    whole = rows[~np.isnan(rows).any(axis=1)][:1]
    if np.isnan(number) or not len(whole):
        return {}
    source = np.array([each.column for each in steps.sources], dtype=np.int64)
    numbers = {}
    for at, column in enumerate(steps.table.columns):
        if column.labels is not None:
            continue
        row = whole.copy()
        row[0, at] = number
        try:
            inputs = steps.inputs(row, True)[0, source == at]
        except InputError:  # a step rejects the number
            continue
        if inputs.size and np.any(inputs == number):
            numbers[str(column.name)] = number
    return numbers


# Distances beyond the training data, relative to a column's size, up to which it is analysed. The
# first one that its transformers accept is used; the last one is the training data's own range.
REACHES = (1e6, 1e3, 10.0, 1.0, 0.0)


def numbers_followed(
    steps: Preprocessing, rows: FloatArray, template: FloatArray, dtype: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of each column within which its inputs are readable, (n_columns,) each."""
    values = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # also for columns without any value
    lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    size = np.maximum(np.maximum(np.abs(lowest), np.abs(highest)), 1.0)
    numeric = np.array([column.labels is None for column in steps.table.columns])
    low, high = lowest.copy(), highest.copy()
    source = np.array([each.column for each in steps.sources], dtype=np.int64)
    declared = [each.column for each in steps.sources if each.told]
    limits = [
        (r, *each) for r in reversed(REACHES) for each in ((lowest, -r, low), (highest, r, high))
    ]
    probes = np.array(
        [np.where(numeric, ends + away * size, template) for _, ends, away, _ in limits]
    )
    read = _inputs_or_none(steps, probes)  # a step may reject the output of another one
    for (reach, _, _, limit), probe, inputs in zip(limits, probes, read, strict=True):
        if inputs is None:
            continue
        able = numeric & _readable(inputs, probe.size, source, dtype)
        if reach == 0.0:
            empty = np.isnan(rows).all(axis=0)
            _refuse_no_numbers(steps.table, probe, numeric & ~able & ~empty)
        able[declared] &= reach == 0.0
        limit[able] = probe[able]
    unread = sorted(steps.table.unread)
    low[unread], high[unread] = -np.inf, np.inf
    return low, high


def limits_of_queries(numbers: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Return the smallest and the largest number that a query may hold, inf and -inf for none.

    None is accepted where no training row has a value and the steps cannot transform one.
    """
    closed = low == high and np.isnan(numbers).all()
    return (np.inf, -np.inf) if closed else (float(low), float(high))


def _refuse_no_numbers(table: Table, row: FloatArray, wrong: BoolArray) -> None:
    """Raise InputError if the steps turn training values into NaN or infinity."""
    for at in np.flatnonzero(wrong & ~np.isnan(row)).tolist():
        raise InputError(
            f"X_train: a step of the pipeline turns {row[at]:g} in column "
            f"{table.columns[at].name!r} into NaN or infinity, as np.log1p does below -1. Drop "
            "such rows, or clip the column before it enters the pipeline."
        )


def _readable(inputs: FloatArray, n_columns: int, source: Any, dtype: Any) -> BoolArray:
    """Return the columns whose inputs are all numbers that the model takes, bool (n_columns,)."""
    fine: BoolArray = np.ones(n_columns, dtype=np.bool_)
    limit = float(np.finfo(dtype).max)
    fine[source[~(np.abs(inputs) <= limit)]] = False
    return fine


NARROW = 2  # bytes; of such types all numbers are checked, of wider ones the seen ones


def check_whole_numbers(
    ensemble: Ensemble,
    table: Table,
    sources: Sequence[Source],
    low: FloatArray,
    high: FloatArray,
    template: FloatArray,
    seen: FloatArray,
    inputs: Callable[[Table, FloatArray], FloatArray],
) -> None:
    """Raise UnsupportedModelError if whole numbers change sides of a split in float64."""
    whole = [at for at, column in enumerate(table.columns) if _is_whole(column)]
    if not whole:
        return
    numbers = {
        at: _numbers(table.columns[at].dtype, low[at], high[at], seen[:, at]) for at in whole
    }
    rows = np.tile(template, (max(values.size for values in numbers.values()), 1))
    for at, values in numbers.items():
        rows[:, at] = np.resize(values, len(rows))
    double = np.dtype(np.float64)
    plain = Table(
        tuple(
            replace(column, dtype=double) if at in numbers else column
            for at, column in enumerate(table.columns)
        )
    )
    boundary, _ = boundaries(ensemble)
    theirs, ours = (codes(boundary, inputs(each, rows), ensemble.dtype) for each in (table, plain))
    wrong = np.flatnonzero((theirs != ours).any(axis=0))
    if wrong.size:
        column = table.columns[sources[int(wrong[0])].column]
        raise UnsupportedModelError(
            f"the pipeline's steps turn {column.name!r} into other numbers in {column.dtype} than "
            "in float64, so that its splits cannot be located. Fit it with int64 or float64 in "
            "this column."
        )


def _is_whole(column: Column) -> bool:
    return column.labels is None and getattr(column.dtype, "kind", "O") in "iub"


def _numbers(dtype: Any, low: float, high: float, seen: FloatArray) -> FloatArray:
    """Return whole numbers of a type within limits, float64 (n,)."""
    if dtype.kind == "b" or dtype.itemsize > NARROW:
        return np.unique(np.rint(seen))
    info = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    return np.arange(np.ceil(max(low, info.min)), np.floor(min(high, info.max)) + 1.0)
