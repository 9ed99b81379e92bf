"""Dependence of outputs on inputs in single steps of a pipeline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from encoders.errors import UnsupportedModelError
from encoders.query.features import is_missing
from encoders.trees.sources import Source

Sources = tuple[Source, ...]
Said = Literal["monotone", "by value"]

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


@dataclass(frozen=True)
class Way:
    """Path to a step of a pipeline.

    Attributes
    ----------
    name : name of the step after those of its parents, joined by "__"; "" for the whole pipeline.
    declarations : the user's declarations of steps, by such names.
    width : number of columns that the step gives, or None if it is unknown.
    """

    name: str
    declarations: Mapping[str, Said]
    width: int | None

    def into(self, step: str, width: int | None) -> "Way":
        """Return the path to a child step."""
        return Way(f"{self.name}__{step}" if self.name else step, self.declarations, width)

    @property
    def words(self) -> str:
        """The step in the words of an error."""
        return f"step {self.name!r} of the pipeline" if self.name else "the pipeline"


Follow = Callable[[Way, Any, Sources], Sources]


@dataclass(frozen=True)
class Steps:
    """Steps that are analysed alike; a row of the table in docs/reference/pipelines.md.

    Attributes
    ----------
    kinds : names of scikit-learn's classes.
    follow : function that returns the sources of the outputs.
    words : text for the documentation.
    """

    kinds: tuple[str, ...]
    follow: Follow
    words: str


def _scaler(way: Way, step: Any, sources: Sources) -> Sources:
    refuse_bins(way, type(step).__name__, sources)
    return sources


def _rough_scaler(way: Way, step: Any, sources: Sources) -> Sources:
    refuse_bins(way, type(step).__name__, sources)
    return tuple(replace(source, rough=True) for source in sources)


def refuse_bins(way: Way, kind: str, sources: Sources) -> None:
    """Raise UnsupportedModelError for one-hot encoded bins among the inputs."""
    if any(source.kind == "bins" for source in sources):
        raise UnsupportedModelError(
            f"{way.words} scales the columns of a KBinsDiscretizer ({kind}). "
            "Leave that out, as trees need no scales, or use encode='ordinal'."
        )


def _one_hot(way: Way, step: Any, sources: Sources) -> Sources:
    counts = step._n_features_outs
    return tuple(s.encoded for s, n in zip(sources, counts, strict=True) for _ in range(n))


def _ordinal(way: Way, step: Any, sources: Sources) -> Sources:
    return tuple(source.encoded for source in sources)


def _target(way: Way, step: Any, sources: Sources) -> Sources:
    per_column = len(step.encodings_) // len(sources)
    return tuple(source.encoded for source in sources for _ in range(per_column))


def _bins(way: Way, step: Any, sources: Sources) -> Sources:
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
        f"steps={{{way.name!r}: 'monotone'}} where it only rises or only falls, or 'by value' "
        "for the values of the training data alone"
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
    Steps(("OneHotEncoder",), _one_hot, "each seen value is treated separately"),
    Steps(("OrdinalEncoder",), _ordinal, "each seen value is treated separately"),
    Steps(("TargetEncoder",), _target, "each seen value is treated separately"),
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
