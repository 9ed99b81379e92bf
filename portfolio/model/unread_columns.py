"""Columns of the user's frame that a pipeline drops before any step reads them."""

from collections.abc import Mapping
from typing import Any

from encoders.trees.inputs import Layout
from encoders.trees.kinds import kind_of, replaced_method
from encoders.trees.wrappers import steps_before

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
