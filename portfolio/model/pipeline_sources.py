"""Which of the user's columns each input of a pipeline's last step depends on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from encoders.errors import UnsupportedModelError
from encoders.query.features import is_missing
from encoders.trees.sources import Source

Sources = tuple[Source, ...]

# By the name of scikit-learn's class; each keeps every column, and rises with it.
RISING = frozenset(
    {
        *("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "Binarizer"),
        *("PowerTransformer", "QuantileTransformer"),
    }
)
SELECTORS = frozenset(
    {
        *("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "SelectFpr"),
        *("SelectFdr", "SelectFwe", "GenericUnivariateSelect", "RFE", "RFECV"),
        "SequentialFeatureSelector",
    }
)
# numpy's functions of one number that rise or fall wherever they are defined.
MONOTONE_FUNCTIONS = frozenset(
    {
        *("log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "exp2", "expm1", "arcsinh"),
        *("arctan", "tanh", "sinh", "negative", "positive", "floor", "ceil", "rint", "trunc"),
        *("deg2rad", "rad2deg", "degrees", "radians"),
    }
)
REMEDIES = {
    "PCA": "it mixes columns; leave it out, as trees need no rotation",
    "PolynomialFeatures": "it mixes columns; leave it out, as trees find products themselves",
    "Normalizer": "it mixes columns; scale each column for itself, with StandardScaler say",
    "KNNImputer": "it mixes columns; use SimpleImputer, or a model that takes missing values",
    "IterativeImputer": "it mixes columns; use SimpleImputer, or a model that takes missing values",
    "SplineTransformer": "its outputs rise and fall again; leave it out, as trees need no splines",
}


def sources_of(steps: Any, n_columns: int) -> Sources:
    """One source per input of the last step.

    Parameters
    ----------
    steps : a fitted pipeline without its last step, or any transformer
    n_columns : of the user's frame

    Raises
    ------
    UnsupportedModelError
        A step that mixes columns or is not known, with its name and what to do.
    """
    return _through(steps, "", tuple(Source(at) for at in range(n_columns)))


def _through(step: Any, name: str, given: Sources) -> Sources:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return given
    kind = type(step).__name__
    if kind in RISING:
        _refuse_scaled_bins(name, kind, given)
        return given
    if kind in SELECTORS:
        return _selected(name, step, given)
    known = _KNOWN.get(kind)
    if known is None or not type(step).__module__.startswith("sklearn."):
        remedy = REMEDIES.get(kind, "each output must follow from one column in a way we know")
        where = f"step {name!r} of the pipeline" if name else "the pipeline"
        raise UnsupportedModelError(f"{where}, {kind}, can't be read exactly: {remedy}.")
    return known(name, step, given)


def _refuse_scaled_bins(name: str, kind: str, given: Sources) -> None:
    if any(source.kind == "bins" for source in given):
        raise UnsupportedModelError(
            f"step {name!r} of the pipeline scales the columns of a KBinsDiscretizer ({kind}); "
            "leave that out, as trees need no scales, or use encode='ordinal'."
        )


def _pipeline(name: str, step: Any, given: Sources) -> Sources:
    for own, part in step.steps:
        given = _through(part, f"{name}__{own}" if name else own, given)
    return given


def _columns(name: str, step: Any, given: Sources) -> Sources:
    """Outputs stand in the order of ``output_indices_``."""
    placed: dict[int, Source] = {}
    parts = {own: part for own, part, _ in step.transformers_}
    for own, out in step.output_indices_.items():
        part = parts.get(own, "drop")
        if isinstance(part, str) and part == "drop":
            continue
        taken = tuple(given[at] for at in step._transformer_to_input_indices[own])
        found = _through(part, f"{name}__{own}" if name else own, taken) if taken else ()
        if len(found) != out.stop - out.start:
            raise UnsupportedModelError(
                f"step {own!r} of the pipeline gives {out.stop - out.start} columns where "
                f"{len(found)} were expected; this version of scikit-learn is not known."
            )
        if (step.transformer_weights or {}).get(own) is not None:
            _refuse_scaled_bins(own, "transformer_weights", found)
        placed.update(zip(range(out.start, out.stop), found, strict=True))
    return tuple(placed[at] for at in sorted(placed))


def _union(name: str, step: Any, given: Sources) -> Sources:
    if any(weight not in (None, 1, 1.0) for weight in (step.transformer_weights or {}).values()):
        raise UnsupportedModelError(
            f"step {name!r} of the pipeline, FeatureUnion, has weights; leave them out, as trees "
            "need no scales."
        )
    parts: list[Source] = []
    for own, part in step.transformer_list:
        if not (isinstance(part, str) and part == "drop"):
            parts += _through(part, f"{name}__{own}" if name else own, given)
    return tuple(parts)


def _one_hot(name: str, step: Any, given: Sources) -> Sources:
    counts = step._n_features_outs
    return tuple(s.encoded for s, n in zip(given, counts, strict=True) for _ in range(n))


def _ordinal(name: str, step: Any, given: Sources) -> Sources:
    return tuple(source.encoded for source in given)


def _target(name: str, step: Any, given: Sources) -> Sources:
    per_column = len(step.encodings_) // len(given)
    return tuple(source.encoded for source in given for _ in range(per_column))


def _bins(name: str, step: Any, given: Sources) -> Sources:
    if step.encode == "ordinal":
        return given
    found = []
    for at, (source, count) in enumerate(zip(given, step.n_bins_, strict=True)):
        block = source.column * len(given) + at
        if source.kind != "monotone":
            found += [source.encoded] * int(count)
            continue
        found += [Source(source.column, "bins", rank, block) for rank in range(int(count))]
    return tuple(found)


def _imputer(name: str, step: Any, given: Sources) -> Sources:
    if not is_missing(step.missing_values) and not isinstance(step.missing_values, str):
        raise UnsupportedModelError(
            f"step {name!r} of the pipeline, SimpleImputer, replaces {step.missing_values!r}, a "
            "number like others; mark what is missing as NaN."
        )
    statistics = np.asarray(step.statistics_, dtype=object)
    # None may be what a column of text is filled with; NaN says that there was nothing to learn.
    empty = [isinstance(value, float) and value != value for value in statistics]
    kept = [step.keep_empty_features or not nothing for nothing in empty]
    found = tuple(source for source, keep in zip(given, kept, strict=True) if keep)
    if not step.add_indicator:
        return found
    return found + tuple(given[at] for at in step.indicator_.features_)


def _indicator(name: str, step: Any, given: Sources) -> Sources:
    return tuple(given[at] for at in step.features_)


def _function(name: str, step: Any, given: Sources) -> Sources:
    function = step.func
    if function is None:
        return given
    known = isinstance(function, np.ufunc) and function.__name__ in MONOTONE_FUNCTIONS
    if not known or step.kw_args or any(source.kind == "bins" for source in given):
        called = getattr(function, "__name__", repr(function))
        raise UnsupportedModelError(
            f"step {name!r} of the pipeline, FunctionTransformer, calls {called}, of which nothing "
            "is known; use a function of numpy that rises or falls throughout, such as np.log1p, "
            "or compute the column before."
        )
    return given


def _selected(name: str, step: Any, given: Sources) -> Sources:
    kept = np.asarray(step.get_support())
    found = tuple(source for source, keep in zip(given, kept, strict=True) if keep)
    blocks = {source.block for source in given if source.kind == "bins"}
    for block in blocks:
        before = sum(source.block == block for source in given)
        if 0 < sum(source.block == block for source in found) < before:
            raise UnsupportedModelError(
                f"step {name!r} of the pipeline, {type(step).__name__}, keeps some bins of a "
                "column and drops others; select before KBinsDiscretizer, or use encode='ordinal'."
            )
    return found


_KNOWN: dict[str, Callable[[str, Any, Sources], Sources]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _columns,
    "FeatureUnion": _union,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "TargetEncoder": _target,
    "KBinsDiscretizer": _bins,
    "SimpleImputer": _imputer,
    "MissingIndicator": _indicator,
    "FunctionTransformer": _function,
}


def encoded_columns(sources: Sequence[Source]) -> frozenset[int]:
    """Columns of the user's of which each value counts for itself.

    Parameters
    ----------
    sources : of the inputs
    """
    return frozenset(source.column for source in sources if source.kind == "discrete")
