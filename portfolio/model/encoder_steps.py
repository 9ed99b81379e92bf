"""Steps of other libraries that replace columns of a frame by codes of their values or bins."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.errors import UnsupportedModelError
from encoders.readers.scorecards import BY_NAME
from encoders.trees.pull_back import Source
from portfolio.model.step_kinds import Sources, Steps, Way


def _coded(way: Way, step: Any, sources: Sources) -> Sources:
    """Return the sources of an encoder that puts the codes of a column in its place.

    Noise (``sigma``, ``randomized``) and left-out targets are for calls with targets only, and
    ``predict`` passes none (``category_encoders/utils.py``, SupervisedTransformerMixin.transform).
    """
    if getattr(step, "composite_cols", None):
        raise UnsupportedModelError(
            f"{way.words}, {type(step).__name__}, encodes pairs of columns. Leave composite_cols "
            "out, or join the columns before the pipeline."
        )
    if callable(step.handle_unknown):
        raise UnsupportedModelError(
            f"{way.words}, {type(step).__name__}, computes codes of new categories by a function. "
            "Set handle_unknown='value'."
        )
    entries = step.mapping if isinstance(step.mapping, list) else []
    names = {each["col"]: _names(each["col"], each["mapping"]) for each in entries}
    constant = frozenset(step.invariant_cols if step.drop_invariant else ())
    outputs = []
    for name, source in zip(step.feature_names_in_, sources, strict=True):
        followed = source.encoded if name in step.cols else source
        outputs += [followed for output in names.get(name, [name]) if output not in constant]
    return tuple(outputs)


def _names(column: Any, mapping: Any) -> list[Any]:
    """Return the names of the outputs of a column, of which a table of codes has several."""
    return mapping.columns.tolist() if isinstance(mapping, pd.DataFrame) else [column]


def _in_place(way: Way, step: Any, sources: Sources) -> Sources:
    """Return the sources of an encoder of feature_engine with one output per column."""
    pairs = zip(step.feature_names_in_, sources, strict=True)
    return tuple(each.encoded if name in step.variables_ else each for name, each in pairs)


def _dummies(way: Way, step: Any, sources: Sources) -> Sources:
    """Return the sources of feature_engine's OneHotEncoder, whose flags follow other columns."""
    source_of = dict(zip(step.feature_names_in_, sources, strict=True))
    others = [each for name, each in source_of.items() if name not in step.variables_]
    flags = [
        source_of[name].encoded for name in step.variables_ for category in step.encoder_dict_[name]
    ]
    return (*others, *flags)


def _discretiser(way: Way, step: Any, sources: Sources) -> Sources:
    """Return the sources of a discretiser of feature_engine.

    Its outputs are ranks of the bins, or else texts, or predictions of a tree for them.
    """
    words = "boundaries" if getattr(step, "return_boundaries", False) else "bin_number"
    ranks = getattr(step, "bin_output", words) == "bin_number"
    outputs = list(sources)
    for name in step.variables_:
        at = list(step.feature_names_in_).index(name)
        bins = sources[at].binned(_limits(step.binner_dict_[name]))
        outputs[at] = bins if ranks else bins.encoded
    return tuple(outputs)


def _limits(binner: Any) -> list[float]:
    """Return the limits of the bins of a column: of a list, or those of a search for a tree."""
    if isinstance(binner, list):
        return [float(limit) for limit in binner if np.isfinite(limit)]
    tree = binner.best_estimator_.tree_
    thresholds: list[float] = tree.threshold[tree.feature >= 0].tolist()
    return thresholds


def _imputer(way: Way, step: Any, sources: Sources) -> Sources:
    return sources


def _indicator(way: Way, step: Any, sources: Sources) -> Sources:
    names = list(step.feature_names_in_)
    flags = (sources[names.index(name)] for name in step.variables_)
    return (*sources, *(replace(each, changed=True) for each in flags))


def _binning_process(way: Way, step: Any, sources: Sources) -> Sources:
    """Return the sources of optbinning's BinningProcess: of each selected column, its bin.

    It finds columns of a frame by name and those of an array by position
    (``optbinning/binning/binning_process.py``, BinningProcess._transform).
    """
    names = list(step.variable_names)
    of_frame = [way.columns[source.column] for source in sources]
    by_name = getattr(step, BY_NAME, False) and set(names) <= set(of_frame)
    if names != of_frame and not by_name:
        raise UnsupportedModelError(
            f"{way.words}, BinningProcess, has the variable_names {names}, and its columns are "
            f"those of {of_frame}. Pass it the columns of X_train under their names, in this order."
        )
    selected = step.get_support(indices=True).tolist()
    chosen = [sources[of_frame.index(name)] for name in names]
    return tuple(_bins_of(way, step, names[at], chosen[at]) for at in selected)


def _bins_of(way: Way, step: Any, name: Any, source: Source) -> Source:
    binning = step.get_binned_variable(name)
    if type(binning).__name__ not in OPTIMAL_BINNINGS:
        raise UnsupportedModelError(
            f"{way.words}, BinningProcess, has a {type(binning).__name__} for {name!r}, whose "
            "outputs are not constant in its bins. Use one of " + ", ".join(OPTIMAL_BINNINGS) + "."
        )
    if getattr(binning, "dtype", "numerical") == "categorical":
        return source.encoded
    codes = binning.special_codes
    groups = codes.values() if isinstance(codes, dict) else [codes or []]
    special = [code for group in groups for code in np.ravel(group).tolist()]
    return source.binned([*map(float, binning.splits), *filter(_is_number, special)]).encoded


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


OPTIMAL_BINNINGS = ("OptimalBinning", "ContinuousOptimalBinning", "MulticlassOptimalBinning")
CATEGORY_ENCODERS = Steps(
    (
        *("OrdinalEncoder", "CountEncoder", "TargetEncoder", "WOEEncoder", "CatBoostEncoder"),
        *("JamesSteinEncoder", "LeaveOneOutEncoder", "MEstimateEncoder", "QuantileEncoder"),
        *("GLMMEncoder", "OneHotEncoder", "BinaryEncoder", "BaseNEncoder", "RankHotEncoder"),
        *("HelmertEncoder", "SumEncoder", "BackwardDifferenceEncoder", "PolynomialEncoder"),
    ),
    _coded,
    "those of category_encoders: each value of an encoded column is a category, with any treatment "
    "of new and missing values but a function; without `composite_cols`",
    "category_encoders",
)
FEATURE_ENGINE = (
    Steps(
        (
            *("OrdinalEncoder", "MeanEncoder", "WoEEncoder", "CountFrequencyEncoder"),
            *("RareLabelEncoder", "DecisionTreeEncoder"),
        ),
        _in_place,
        "those of feature_engine: each value of an encoded column is a category",
        "feature_engine",
    ),
    Steps(
        ("OneHotEncoder",),
        _dummies,
        "that of feature_engine: each value of an encoded column is a category",
        "feature_engine",
    ),
    Steps(
        (
            *("EqualWidthDiscretiser", "EqualFrequencyDiscretiser", "ArbitraryDiscretiser"),
            *("GeometricWidthDiscretiser", "DecisionTreeDiscretiser"),
        ),
        _discretiser,
        "those of feature_engine: numeric columns, every output",
        "feature_engine",
    ),
    Steps(
        ("MeanMedianImputer", "ArbitraryNumberImputer", "EndTailImputer", "CategoricalImputer"),
        _imputer,
        "those of feature_engine, without restrictions",
        "feature_engine",
    ),
    Steps(
        ("AddMissingIndicator",),
        _indicator,
        "that of feature_engine, without restrictions",
        "feature_engine",
    ),
)
OPTBINNING = Steps(
    ("BinningProcess",),
    _binning_process,
    "that of optbinning, with every metric, special codes and missing values; without piecewise "
    "binnings",
    "optbinning",
)
ENCODERS = (CATEGORY_ENCODERS, *FEATURE_ENGINE, OPTBINNING)
