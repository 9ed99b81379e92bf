"""Steps of a pipeline for rows that differ only in columns of numbers.

The search for the crossings of numbers transforms many thousands of such rows. Most of the time an
encoder of categories would compute the same inputs again and again.
"""

import copy
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import InputError
from encoders.readers.kinds import kind_of, replaced_method, steps_before
from encoders.trees.pull_back import RawColumns, Transform, rows_with
from portfolio.model.table import Table


def inputs_of_numbers(steps: Any, raw: RawColumns) -> Transform:
    """Return the function from rows to inputs if all but columns of numbers are as in the template.

    ``steps`` is a :class:`portfolio.model.pipeline.Preprocessing`. Transformers of a
    ColumnTransformer that read none of these columns run for one row only.
    """
    whole: Transform = steps.inputs
    columns = [at for at in range(raw.template.size) if at not in raw.n_codes]
    narrow = _narrowed(steps, frozenset(columns))
    if narrow is None:
        return whole
    part, needed, places = narrow
    of_template = cache(partial(whole, raw.template[None, :]))

    def inputs(rows: FloatArray, keep_zeros: bool) -> FloatArray:
        table = np.repeat(of_template(keep_zeros), len(rows), axis=0)
        table[:, places] = part.inputs(rows[:, needed], keep_zeros)
        return table

    sample = rows_with(raw, {at: raw.seen[:, at] for at in columns})
    expected = whole(sample, True)
    try:
        same = np.array_equal(expected, inputs(sample, True), equal_nan=True)
    except (InputError, LookupError):  # a step needs the other columns
        return whole
    return inputs if same else whole


def _narrowed(steps: Any, columns: frozenset[int]) -> tuple[Any, list[int], IntArray] | None:
    """Return the steps of transformers that read such columns, their columns and input positions.

    Return None unless a single ColumnTransformer precedes the model, and some transformer goes.
    """
    tables = steps.layout.tables
    if (
        steps.codes
        or steps.form.like is not None
        or len(tables) != 2
        or list(steps.layout.widths) != [1]
    ):
        return None
    pipeline = tables[1].pipeline
    before = steps_before(pipeline)
    step: Any = before[0][1] if len(before) == 1 and tables[1].columns is None else None
    if kind_of(step).name != "ColumnTransformer" or replaced_method(step):
        return None
    running = [name for name, part, _ in step.transformers_ if not _drops(part)]
    read = step._transformer_to_input_indices
    names = [name for name in running if columns.intersection(read.get(name, ()))]
    if not names or names == running:
        return None
    only = copy.copy(step)
    only.sparse_output_ = False  # all that remain may be dense
    only.transformers_ = [
        (name, part if name in names else "drop", at) for name, part, at in step.transformers_
    ]
    alone = copy.copy(pipeline)
    alone.steps = [(before[0][0], only), pipeline.steps[-1]]
    layout = replace(steps.layout, tables=(tables[0], replace(tables[1], pipeline=alone)))
    needed = sorted({int(at) for name in names for at in read[name]})
    table = Table(tuple(steps.table.columns[at] for at in needed))
    every = np.arange(steps.layout.widths[1])
    places = np.concatenate([every[step.output_indices_[name]] for name in names])
    return replace(steps, layout=layout, table=table), needed, places


def _drops(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"
