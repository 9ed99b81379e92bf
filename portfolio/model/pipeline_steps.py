"""Dependence of a pipeline's outputs on the user's columns, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.close_names import close_names
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.query.features import is_missing
from encoders.readers.kinds import kind_of, replaced_method, steps_before
from encoders.readers.layout import Layout, layout_of
from encoders.trees.pull_back import Source
from portfolio.model.encoder_steps import ENCODERS
from portfolio.model.step_kinds import Follow, Said, Sources, Steps, Way

# NumPy functions of one number that are monotone where defined: exactly, as they round once, or up
# to rounding.
EXACT_FUNCTIONS = frozenset(
    {
        *("sqrt", "negative", "positive", "floor", "ceil", "rint", "trunc"),
        *("deg2rad", "rad2deg", "degrees", "radians"),
    }
)
ROUGH_FUNCTIONS = frozenset(
    {
        *("log", "log1p", "log2", "log10", "cbrt", "exp", "exp2", "expm1", "arcsinh"),
        *("arctan", "tanh", "sinh"),
    }
)


def scaled(way: Way, kind: str, sources: Sources) -> Sources:
    """Return the sources after a step of some kind that scales each column."""
    return tuple(
        source.encoded if source.kind == "bins" else replace(source, changed=True)
        for source in sources
    )


def _scaler(way: Way, step: Any, sources: Sources) -> Sources:
    return scaled(way, type(step).__name__, sources)


def _rough_scaler(way: Way, step: Any, sources: Sources) -> Sources:
    return tuple(replace(source, rough=True) for source in _scaler(way, step, sources))


def _one_hot(way: Way, step: Any, sources: Sources) -> Sources:
    counts = step._n_features_outs
    return tuple(s.encoded for s, n in zip(sources, counts, strict=True) for _ in range(n))


def _ordinal(way: Way, step: Any, sources: Sources) -> Sources:
    return tuple(source.encoded for source in sources)


def _target(way: Way, step: Any, sources: Sources) -> Sources:
    per_column = len(step.encodings_) // len(sources)
    return tuple(source.encoded for source in sources for _ in range(per_column))


def _bins(way: Way, step: Any, sources: Sources) -> Sources:
    cuts = step.bin_edges_
    sources = tuple(each.binned(cuts[at].tolist()) for at, each in enumerate(sources))
    if step.encode == "ordinal":
        return sources
    outputs = []
    for at, (source, count) in enumerate(zip(sources, step.n_bins_, strict=True)):
        block = source.column * len(sources) + at
        if source.kind != "monotone":
            outputs += [source.encoded] * int(count)
            continue
        bins = replace(source, kind="bins", block=block)
        outputs += [replace(bins, rank=rank) for rank in range(int(count))]
    return tuple(outputs)


def _imputer(way: Way, step: Any, sources: Sources) -> Sources:
    if not is_missing(step.missing_values) and not isinstance(step.missing_values, str):
        raise UnsupportedModelError(
            f"{way.words}, SimpleImputer, replaces the number {step.missing_values!r}. Mark "
            "missing values as NaN."
        )
    statistics = np.asarray(step.statistics_, dtype=object)
    # NaN means that the column had no values; None may be a fill value of text.
    empty = [isinstance(value, float) and value != value for value in statistics]
    keeps = [step.keep_empty_features or not nothing for nothing in empty]
    outputs = tuple(source for source, keep in zip(sources, keeps, strict=True) if keep)
    if not step.add_indicator:
        return outputs
    return outputs + tuple(sources[at] for at in step.indicator_.features_)


def _indicator(way: Way, step: Any, sources: Sources) -> Sources:
    return tuple(sources[at] for at in step.features_)


def _function(way: Way, step: Any, sources: Sources) -> Sources:
    function = step.func
    if function is None:
        return sources
    called = getattr(function, "__name__", repr(function))
    plain = isinstance(function, np.ufunc) and not step.kw_args
    if plain and called in EXACT_FUNCTIONS:
        return _scaler(way, step, sources)
    if plain and called in ROUGH_FUNCTIONS:
        return _rough_scaler(way, step, sources)
    raise UnsupportedModelError(
        f"{way.words}, FunctionTransformer, calls {called}, which is not a known function. Use a "
        "function of numpy that only rises or only falls, such as np.log1p, or compute the column "
        f"before the pipeline. Or declare it with steps={{{way.name!r}: 'monotone'}}, if it treats "
        "each column separately and only rises or only falls."
    )


def _selected(way: Way, step: Any, sources: Sources) -> Sources:
    keeps = np.asarray(step.get_support())
    outputs = tuple(source for source, keep in zip(sources, keeps, strict=True) if keep)
    blocks = {source.block for source in sources if source.kind == "bins"}
    for block in blocks:
        before = sum(source.block == block for source in sources)
        if 0 < sum(source.block == block for source in outputs) < before:
            raise UnsupportedModelError(
                f"{way.words}, {type(step).__name__}, keeps some bins of a "
                "column and drops others. Select before KBinsDiscretizer, or use encode='ordinal'."
            )
    return outputs


def say(what: str, way: Way) -> str:
    """Return the remedy for an unknown step."""
    return (
        f"{what} in a known way; if it treats each column separately, declare it with "
        f"steps={{{way.name!r}: 'monotone'}} where it only rises or only falls, 'by bin' where it "
        "is constant between cuts, or 'by value' for the values of the training data alone"
    )


SINGLE = (
    Steps(
        ("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "Binarizer"),
        _scaler,
        "numeric columns",
    ),
    Steps(
        ("PowerTransformer", "QuantileTransformer"),
        _rough_scaler,
        "numeric columns; see [last bits](#last-bits)",
    ),
    Steps(("KBinsDiscretizer",), _bins, "numeric columns, every encoding"),
    Steps(("OneHotEncoder",), _one_hot, "each value that the encoder has seen is a category"),
    Steps(("OrdinalEncoder",), _ordinal, "each value that the encoder has seen is a category"),
    Steps(("TargetEncoder",), _target, "each value that the encoder has seen is a category"),
    Steps(("SimpleImputer",), _imputer, "missing values that are NaN or text"),
    Steps(("MissingIndicator",), _indicator, "without restrictions"),
    Steps(
        ("FunctionTransformer",),
        _function,
        "without a function, with a NumPy function that only rises or only falls, such as "
        "`np.log1p`, or with one that you [declare](#steps-that-are-not-known)",
    ),
    Steps(
        (
            *("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel"),
            *("SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect", "RFE", "RFECV"),
            "SequentialFeatureSelector",
        ),
        _selected,
        "any selection of columns",
    ),
)


SAID: tuple[Said, ...] = ("monotone", "by value", "by bin")

REMEDIES = {
    "PCA": "it mixes columns; leave it out, as trees need no rotation",
    "PolynomialFeatures": "it mixes columns; leave it out, as trees find products themselves",
    "Normalizer": "it mixes columns; scale each column separately, with StandardScaler for example",
    "KNNImputer": "it mixes columns; use SimpleImputer, or a model that takes missing values",
    "IterativeImputer": "it mixes columns; use SimpleImputer, or a model that takes missing values",
    "DataFrameMapper": "replace it by a ColumnTransformer with the same transformers",
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
                f"steps: {name} must be 'monotone', 'by value' or 'by bin', got {word!r}.{close}"
            )


def sources_of(
    layout: Layout, columns: Sources, names: Sequence[Any], declarations: Mapping[str, Said]
) -> Sources:
    """Return one source per column of the joint table."""
    sources_of_table = [columns]
    for at, table in enumerate(layout.tables[1:], start=1):
        sources = sources_of_table[table.source]
        if table.columns is not None:
            sources = tuple(sources[column] for column in table.columns.tolist())
        steps = steps_before(table.pipeline)
        way = Way(table.name, declarations, _width(layout, at), names)
        sources_of_table.append(_in_turn(way, steps, sources))
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
    follow = KNOWN.get((kind_of_step.library, kind_of_step.name))
    replaced = replaced_method(step) if follow else None
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
    if follow is None or replaced:
        subject = "each output must depend on one column"
        if replaced:
            subject = f"it overrides {replaced} of {kind_of_step.name}; {subject}"
        remedy = REMEDIES.get(kind_of_step.name) or say(subject, way)
        raise UnsupportedModelError(f"{way.words}, {kind}, cannot be read exactly: {remedy}.")
    return follow(way, step, sources)


def _as_said(way: Way, kind: str, sources: Sources) -> Sources:
    word, alone = way.declarations[way.name], len({source.encoded for source in sources}) == 1
    outputs = tuple(_by_bin(each) if word == "by bin" else each.encoded for each in sources)
    if word != "monotone" and alone and way.width:
        return outputs[:1] * way.width
    if way.width != len(sources):
        raise UnsupportedModelError(
            f"{way.words}, {kind}, gives {way.width or 'an unknown number of'} columns for "
            f"{len(sources)}, so that outputs cannot be matched with inputs. Apply it to one "
            "column at a time."
        )
    if word != "monotone":
        return outputs
    return tuple(replace(each, rough=True, told=True) for each in scaled(way, kind, sources))


def _by_bin(source: Source) -> Source:
    """Return the source after a step that is declared to be constant between cuts."""
    bins = source.encoded  # known ones, if there are some before the step
    if bins.kind == "steps" or source.kind == "discrete":
        return bins
    return replace(source.stepped, told=True)


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
            outputs = scaled(inner, "transformer_weights", outputs)
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
STEPS = COMPOSED + SINGLE + ENCODERS
CONTAINERS = frozenset(kind for own in COMPOSED for kind in own.kinds)
KNOWN: Mapping[tuple[str, str], Follow] = {
    (own.library, kind): own.follow for own in STEPS for kind in own.kinds
}


def encoded_columns(sources: Sequence[Source]) -> frozenset[int]:
    """Return the positions of the user's columns in which each value is treated separately."""
    return frozenset(source.column for source in sources if source.kind == "discrete")
