"""Dependence of a pipeline's outputs on the user's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from encoders.close_names import close_names
from encoders.errors import InputError, UnsupportedModelError
from encoders.trees.inputs import Layout, layout_of
from encoders.trees.kinds import kind_of, replaced_method
from encoders.trees.sources import Source
from encoders.trees.wrappers import steps_before
from portfolio.model.pipeline_steps import (
    SINGLE,
    Follow,
    Said,
    Sources,
    Steps,
    Way,
    refuse_bins,
    say,
)

SAID: tuple[Said, ...] = ("monotone", "by value")

REMEDIES = {
    "PCA": "it mixes columns; leave it out, as trees need no rotation",
    "PolynomialFeatures": "it mixes columns; leave it out, as trees find products themselves",
    "Normalizer": "it mixes columns; scale each column separately, with StandardScaler for example",
    "KNNImputer": "it mixes columns; use SimpleImputer, or a model that takes missing values",
    "IterativeImputer": "it mixes columns; use SimpleImputer, or a model that takes missing values",
    "SplineTransformer": "its outputs rise and fall; leave it out, as trees need no splines",
}


def check_declarations(models: Sequence[Any], declarations: Mapping[str, Any]) -> None:
    """Raise InputError unless the user's ``steps`` name steps and known behaviours."""
    tables = [table for model in models for table in layout_of(model).tables[1:]]
    if declarations and not tables:
        raise InputError(
            "steps describes the steps of a Pipeline, and the model is not a Pipeline. Omit steps."
        )
    names = {_joined(own.name, name) for own in tables for name in own.pipeline.get_params()}
    for name, word in declarations.items():
        if name not in names:
            raise InputError(
                f"steps: the pipeline has no step {name!r}.{close_names(name, names)} Use a name "
                "of get_params()."
            )
        if word not in SAID:
            close = close_names(word, SAID)
            raise InputError(
                f"steps: {name} must be 'monotone' or 'by value', got {word!r}.{close}"
            )


def sources_of(layout: Layout, columns: Sources, declarations: Mapping[str, Said]) -> Sources:
    """Return one source per column of the joint table."""
    sources_of_table = [columns]
    for at, table in enumerate(layout.tables[1:], start=1):
        sources = sources_of_table[table.source]
        if table.columns is not None:
            sources = tuple(sources[column] for column in table.columns.tolist())
        steps = steps_before(table.pipeline)
        sources_of_table.append(
            _in_turn(Way(table.name, declarations, _width(layout, at)), steps, sources)
        )
    for at, block in layout.blocks():
        width = block.stop - block.start
        if len(sources_of_table[at]) != width:
            raise UnsupportedModelError(
                f"the pipeline's steps give {len(sources_of_table[at])} columns, but the model "
                f"takes {width}. Install a supported version of scikit-learn."
            )
    return tuple(source for at, _ in layout.blocks() for source in sources_of_table[at])


def _width(layout: Layout, table: int) -> int | None:
    """Return the number of columns of a table, or None if it is unknown."""
    if table in layout.widths:
        return layout.widths[table]
    following = [each for each in layout.tables if each.source == table and each.columns is None]
    widths = [getattr(each.pipeline, "n_features_in_", None) for each in following]
    return next((int(width) for width in widths if width is not None), None)


def _joined(name: str, step: str) -> str:
    return f"{name}__{step}" if name else step


def _through(way: Way, step: Any, sources: Sources) -> Sources:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return sources
    kind_of_step, kind = kind_of(step), type(step).__name__
    replaced = replaced_method(step) if kind_of_step.library == "sklearn" else None
    follow = (
        KNOWN.get(kind_of_step.name) if kind_of_step.library == "sklearn" and not replaced else None
    )
    if way.name in way.declarations:
        return _as_said(way, kind, sources)
    # Outputs of a single column of text or categories can be tabulated value by value.
    alone = {source.encoded for source in sources}
    if (
        len(alone) == 1
        and sources[0].kind == "discrete"
        and way.width
        and kind_of_step.name not in CONTAINERS
    ):
        return sources[:1] * way.width
    if follow is None:
        subject = "each output must depend on one column"
        if replaced and kind_of_step.name in KNOWN:
            subject = f"it overrides {replaced} of {kind_of_step.name}; {subject}"
        remedy = REMEDIES.get(kind_of_step.name) or say(subject, way)
        raise UnsupportedModelError(f"{way.words}, {kind}, cannot be read exactly: {remedy}.")
    return follow(way, step, sources)


def _as_said(way: Way, kind: str, sources: Sources) -> Sources:
    alone = len({source.encoded for source in sources}) == 1
    if way.declarations[way.name] == "by value" and alone and way.width:
        return (sources[0].encoded,) * way.width
    if way.width != len(sources):
        raise UnsupportedModelError(
            f"{way.words}, {kind}, gives {way.width or 'an unknown number of'} columns for "
            f"{len(sources)}, so that outputs cannot be matched with inputs. Apply it to one "
            "column at a time."
        )
    if way.declarations[way.name] == "by value":
        return tuple(source.encoded for source in sources)
    refuse_bins(way, kind, sources)
    return tuple(replace(source, rough=True, told=True) for source in sources)


def _pipeline(way: Way, step: Any, sources: Sources) -> Sources:
    return _in_turn(way, step.steps, sources)


def _in_turn(way: Way, steps: Sequence[tuple[str, Any]], sources: Sources) -> Sources:
    after = [part for _, part in steps[1:]]
    widths = [*(getattr(part, "n_features_in_", None) for part in after), way.width]
    for (name, part), width in zip(steps, widths, strict=False):
        sources = _through(way.into(name, width), part, sources)
    return sources


def _columns(way: Way, step: Any, sources: Sources) -> Sources:
    """Return the sources of a ColumnTransformer, in the order of ``output_indices_``."""
    placed: dict[int, Source] = {}
    parts = {name: part for name, part, _ in step.transformers_}
    for name, out in step.output_indices_.items():
        part = parts.get(name, "drop")
        if isinstance(part, str) and part == "drop":
            continue
        inputs = tuple(sources[at] for at in step._transformer_to_input_indices[name])
        width = out.stop - out.start
        inner = way.into(name, width)
        outputs = _through(inner, part, inputs) if inputs else ()
        if len(outputs) != width:
            raise UnsupportedModelError(
                f"{inner.words} gives {width} columns, expected {len(outputs)}. Install a "
                "supported version of scikit-learn."
            )
        if (step.transformer_weights or {}).get(name) is not None:
            refuse_bins(inner, "transformer_weights", outputs)
        placed.update(zip(range(out.start, out.stop), outputs, strict=True))
    return tuple(placed[at] for at in sorted(placed))


def _union(way: Way, step: Any, sources: Sources) -> Sources:
    if any(weight not in (None, 1, 1.0) for weight in (step.transformer_weights or {}).values()):
        raise UnsupportedModelError(
            f"{way.words}, FeatureUnion, has weights. Leave them out, as trees need no scales."
        )
    parts: list[Source] = []
    for name, part in step.transformer_list:
        if not (isinstance(part, str) and part == "drop"):
            parts += _through(way.into(name, None), part, sources)
    return tuple(parts)


COMPOSED = (
    Steps(("Pipeline",), _pipeline, "nested in any way"),
    Steps(("ColumnTransformer",), _columns, 'with any selectors, `"passthrough"` and `"drop"`'),
    Steps(("FeatureUnion",), _union, "without weights"),
)
STEPS = COMPOSED + SINGLE
CONTAINERS = frozenset(kind for own in COMPOSED for kind in own.kinds)
KNOWN: Mapping[str, Follow] = {kind: own.follow for own in STEPS for kind in own.kinds}


def encoded_columns(sources: Sequence[Source]) -> frozenset[int]:
    """Return the positions of the user's columns in which each value is treated separately."""
    return frozenset(source.column for source in sources if source.kind == "discrete")
