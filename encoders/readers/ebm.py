"""Reader of explainable boosting machines (EBMs) of the package interpret-core."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, starts
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.readers.reader import Codes, Reader, ReadMember
from encoders.readers.refusals import require_fitted
from encoders.trees.arithmetic import Link, LinkKind, rounding_of
from encoders.trees.balanced import balanced
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import largest_at_most
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined

if TYPE_CHECKING:
    import pandas as pd

DOUBLE = np.dtype(np.float64)
LARGEST = float(np.finfo(np.float64).max)  # only missing values are beyond this last threshold
OTHER = -LARGEST  # code of the categories that a model does not know
MOST_NUMBERS = 2  # numbers of a nominal feature that is read as numbers, such as 0 and 1
UNKNOWN = -1  # last bin of a feature
NUMBERS = ("integer", "floating", "mixed-integer-float", "empty")  # types of objects, by pandas
WHOLE = 2.0**53  # whole numbers up to this have the same text as floats
LINKS: dict[str, LinkKind] = {
    "logit": "sigmoid",
    "mlogit": "softmax",
    "identity": "mean",
    "log": "exp",
}


def read_ebm(model: Any) -> Ensemble:
    """Read a fitted explainable boosting machine: each of its terms becomes a tree.

    A term is an array of scores over the bins of its features. Bin 0 is for missing values, and the
    last one for unknown categories. A number is in the bin after the last cut that is at most the
    number, in float64 (``Discretize`` of libebm). Categories are compared as text
    (``interpret/utils/_clean_x.py``). The intercept and the scores of all terms are added in
    float64 (``interpret/glassbox/_ebm/_bin.py``). Class 1 of two needs a positive sum. With several
    classes, the first of the largest sums wins. A regressor predicts the sum or its exponential.
    """
    require_fitted(model, "term_scores_")
    if model.link_ not in LINKS:
        raise _unsupported_link(model)
    intercept = np.ravel(model.intercept_)
    regression = not hasattr(model, "classes_")
    first = int(not regression and intercept.size == 1)  # a single score is that of class 1
    trees = [
        _tree(model, features, np.asarray(scores, dtype=np.float64), first)
        for features, scores in zip(model.term_features_, model.term_scores_, strict=True)
    ]
    bias = np.append(np.zeros(first), intercept)
    read = joined(trees, len(model.bins_), bias, DOUBLE, 1.0, "interpret")
    return replace(
        read,
        rounding=rounding_of(read.score, read.root, read.bias),
        link=Link(LINKS[model.link_]),
        regression=regression,
    )


def _unsupported_link(model: Any) -> UnsupportedModelError:
    name = type(model).__name__
    if model.link_ == "monoclassification":
        return UnsupportedModelError(
            f"this {name} was fitted on a single class, so no row has another one. Fit it on rows "
            "of two classes or more."
        )
    return UnsupportedModelError(
        f"this {name} has the link function {model.link_!r}, which is not supported. Train it with "
        "an objective whose link is one of logit, mlogit, identity and log."
    )


@dataclass(frozen=True, eq=False)
class _Axis:
    """Cells of one feature of a term, in ascending order; the last one is for missing values.

    Attributes
    ----------
    column : index of the feature.
    ends : largest value of each cell but the last, float64 (n_cells - 1,).
    bins : bin of each cell in the term's array, int64 (n_cells,).
    """

    column: int
    ends: FloatArray
    bins: IntArray


def _axis(model: Any, column: int, n_features: int) -> _Axis:
    """Return the cells of a feature in a term of ``n_features`` features."""
    levels = model.bins_[column]
    bins = levels[min(len(levels), n_features) - 1]
    if not isinstance(bins, dict):
        cuts = np.asarray(bins, dtype=np.float64)
        if not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
            raise UnsupportedModelError(
                f"the cuts of feature {model.feature_names_in_[column]!r} are not ascending "
                "numbers. Fit the model again, or correct its bins_."
            )
        ends = largest_at_most(cuts, DOUBLE, strict=True)
        return _Axis(column, np.append(ends, LARGEST), np.append(np.arange(1, cuts.size + 2), 0))
    codes = _codes_of(levels)
    keys = sorted(codes, key=codes.__getitem__)
    places = np.array([codes[key] for key in keys], dtype=np.float64)
    of_key = np.array([bins.get(key, UNKNOWN) for key in keys], dtype=np.int64)
    if not _are_numbers(levels):
        ends = np.append(places - 0.5, LARGEST)
        return _Axis(column, ends, np.concatenate([[UNKNOWN], of_key, [0]]))
    # A number that is not a category is unknown.
    ends = np.column_stack([np.nextafter(places, -np.inf), places]).ravel()
    cells = np.column_stack([np.full(places.size, UNKNOWN), of_key]).ravel()
    ends, cells = np.append(ends, LARGEST), np.append(cells, UNKNOWN)
    apart = np.append(True, np.diff(ends) > 0)
    return _Axis(column, ends[apart], np.append(cells[apart], 0))


def _codes_of(levels: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return the code of each category of a feature: its number, or else its position."""
    keys = dict.fromkeys(key for level in levels for key in level)
    if _are_numbers(levels):
        return {key: float(key) for key in keys}
    return {key: float(place) for place, key in enumerate(keys)}


def _are_numbers(levels: Sequence[Mapping[str, int]]) -> bool:
    """Return whether a feature with categories is read as numbers where its column has numbers.

    Private models make two numbers categories, as of one-hot columns. More are categories only if
    the user declares them so.
    """
    keys = {key for level in levels for key in level}
    return len(keys) <= MOST_NUMBERS and all(map(_is_number, keys))


def _is_number(key: str) -> bool:
    """Return whether a category is the text that the library makes of some float."""
    try:
        value = float(key)
    except ValueError:
        return False
    return abs(value) <= WHOLE and str(value).removesuffix(".0") == key


def _tree(model: Any, features: Sequence[int], scores: FloatArray, first: int) -> TreeNodes:
    """Return a term as a tree; its scores are those of the sums from ``first`` on."""
    axes = [_axis(model, column, len(features)) for column in features]
    try:
        cells = scores[np.ix_(*(axis.bins for axis in axes))]
    except IndexError as error:
        names = " & ".join(model.feature_names_in_[column] for column in features)
        raise UnsupportedModelError(
            f"the term {names!r} has no scores for some of its bins. Fit the model again."
        ) from error
    if cells.ndim == len(axes):  # a single sum
        cells = cells[..., None]
    return _grown(axes, np.pad(cells, [(0, 0)] * len(axes) + [(first, 0)]))


def _grown(axes: Sequence[_Axis], cells: FloatArray) -> TreeNodes:
    """Return a tree that splits one axis after another, for scores (n_cells, ..., n_sums).

    Neighbouring cells with equal scores become one. Missing values go right, to the last cell.
    """
    changes = (cells[1:] != cells[:-1]).reshape(len(cells) - 1, -1).any(axis=1)
    last = np.append(np.flatnonzero(changes), len(cells) - 1)  # cell of each run of equal ones
    if len(axes) == 1:
        leaf = np.full(last.size, NO_CHILD)
        below = TreeNodes(leaf, np.zeros(last.size), leaf, leaf, cells[last])
        sizes = np.ones(last.size, dtype=np.int64)
    else:
        below, sizes = _side_by_side([_grown(axes[1:], cells[at]) for at in last])
    children, before = balanced(last.size)
    inner = children[0] != NO_CHILD
    size = np.ones(inner.size, dtype=np.int64)
    size[~inner] = sizes  # each leaf is replaced by the tree over the other axes
    place = starts(size)
    split = place[:-1][inner]
    rest: BoolArray = np.ones(place[-1], dtype=np.bool_)
    rest[split] = False
    moved = np.repeat(place[:-1][~inner], sizes)

    def nodes(of_splits: Any, of_rest: Any) -> Any:
        whole = np.empty((rest.size, *of_rest.shape[1:]), dtype=of_rest.dtype)
        whole[split], whole[rest] = of_splits, of_rest
        return whole

    return TreeNodes(
        column=nodes(axes[0].column, below.column),
        last_left=nodes(axes[0].ends[last[before[inner]]], below.last_left),
        left=nodes(place[children[0, inner]], _moved(below.left, moved)),
        right=nodes(place[children[1, inner]], _moved(below.right, moved)),
        score=nodes(0.0, below.score),
        default_left=np.zeros(rest.size, dtype=np.bool_),
    )


def _moved(child: IntArray, by: IntArray) -> IntArray:
    return np.where(child == NO_CHILD, NO_CHILD, child + by)


def _side_by_side(trees: Sequence[TreeNodes]) -> tuple[TreeNodes, IntArray]:
    """Return the nodes of several trees one after another, and the number of nodes of each."""
    whole = TreeNodes(
        column=np.concatenate([tree.column for tree in trees]),
        last_left=np.concatenate([tree.last_left for tree in trees]),
        left=np.concatenate([tree.left for tree in trees]),
        right=np.concatenate([tree.right for tree in trees]),
        score=np.concatenate([tree.score for tree in trees]),
    )
    return whole, np.array([tree.left.size for tree in trees], dtype=np.int64)


def _bins_of(model: Any, column: int, frame: "pd.DataFrame") -> list[tuple[int, ...]]:
    """Return the bin that the library finds for the category of each row, in each level."""
    levels = model.bins_[column]
    probe = copy.copy(model)  # a term per level, whose score is the number of the bin
    places = []
    for level in levels:
        probe.bins_ = [[level] if at == column else each for at, each in enumerate(model.bins_)]
        numbers = np.arange(max(level.values(), default=0) + 2, dtype=np.float64)
        numbers[UNKNOWN] = UNKNOWN
        probe.intercept_, probe.term_features_ = np.zeros(1), [(column,)]
        probe.term_scores_ = [numbers]
        places.append(probe.eval_terms(_named(model, frame))[:, 0].astype(np.int64).tolist())
    return list(zip(*places, strict=True))


def _codes(model: Any, column: int, frame: "pd.DataFrame") -> Codes:
    """Return the codes of the categories of a column that the library compares as text."""
    import pandas as pd

    levels, values = model.bins_[column], frame.iloc[:, column]
    code_of = _codes_of(levels)
    code_of_bins = {
        tuple(level.get(key, UNKNOWN) for level in levels): code for key, code in code_of.items()
    }
    labels = _labels(values)
    rows = frame.iloc[np.zeros(len(labels), dtype=np.int64)].copy()
    if isinstance(values.dtype, pd.CategoricalDtype):
        rows.isetitem(column, pd.Categorical(labels, dtype=values.dtype))
    else:
        rows.isetitem(column, pd.Series(labels, dtype=values.dtype).array)
    bins = _bins_of(model, column, rows)
    codes = {label: code_of_bins.get(each, OTHER) for label, each in zip(labels, bins, strict=True)}
    if isinstance(values.dtype, pd.CategoricalDtype) or not all(isinstance(e, str) for e in labels):
        return codes
    return {**code_of, **codes}


def _labels(column: "pd.Series[Any]") -> list[Any]:
    """Return the categories of a column, also those that only its dtype has."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return list(column.dtype.categories.tolist())
    values = pd.unique(column.dropna().astype(object)).tolist()
    return sorted(values, key=lambda value: (str(type(value)), value))


def _numbers(column: "pd.Series[Any]") -> Codes:
    """Return the numbers that the library reads in a column of text or categories."""
    numbers = {}
    for label in _labels(column):
        try:
            numbers[label] = float(np.clip(float(label), -LARGEST, LARGEST))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"X_train: column {column.name!r} contains {label!r}, but the model reads it as "
                "numbers. Pass the frame that the model was fitted on."
            ) from error
    return numbers


def _has_numbers(column: "pd.Series[Any]") -> bool:
    """Return whether a column contains numbers only; an array of mixed columns has objects."""
    import pandas as pd

    if column.dtype == object:
        return pd.api.types.infer_dtype(column, skipna=True) in NUMBERS
    return pd.api.types.is_numeric_dtype(column.dtype)


def _named(model: Any, rows: Any) -> Any:
    """Return rows with the model's names, which its library else warns about."""
    names = list(model.feature_names_in_)
    if not hasattr(rows, "set_axis") or list(map(str, rows.columns)) == names:
        return rows
    return rows.set_axis(names, axis=1)


class EbmReader(Reader):
    """Reader of explainable boosting machines.

    The library has no leaf indices. Its scores are compared with the trees instead.
    """

    calibration_remedy = "Train it on two classes"
    other_code = OTHER

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_ebm`."""
        return read_ebm(model)

    def sigmoid_unit(
        self, model: Any, ensemble: Ensemble
    ) -> tuple[float, float, "np.dtype[Any]"] | None:
        """Return units of the sigmoid of two classes."""
        return (1.0, 1.0, DOUBLE) if ensemble.link.kind == "sigmoid" else None

    def scores(self, model: Any, rows: Any, margin_unit: float) -> Any:
        """Return the sums of a classifier."""
        return model.decision_function(_named(model, rows))

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return predictions."""
        return model.predict(_named(model, rows))

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return probabilities."""
        return model.predict_proba(_named(model, rows))

    def takes_arrays(self, model: Any) -> bool:
        """Return True: numbers of an array and of a frame are in the same bins."""
        return True

    def columns(self, model: Any) -> Any:
        """Return the names of the features; the library numbers those of an array."""
        names = list(model.feature_names_in_)
        return None if names == [f"feature_{at:04}" for at in range(len(names))] else names

    def codes(self, model: Any, frame: "pd.DataFrame") -> dict[int, Codes]:
        """Return codes of columns that contain text or categories, or are read as such."""
        codes: dict[int, Codes] = {}
        for at, (kind, levels) in enumerate(zip(model.feature_types_in_, model.bins_, strict=True)):
            column = frame.iloc[:, at]
            numbers = _has_numbers(column)
            if kind != "continuous":
                if not (numbers and _are_numbers(levels)):
                    codes[at] = _codes(model, at, frame)
            elif not numbers:
                codes[at] = _numbers(column)
        return codes

    def tests_category(self, model: Any, row: "pd.DataFrame", at: int) -> bool:
        """Return whether the model knows the category, or reads it as a number."""
        if model.feature_types_in_[at] == "continuous":
            return True
        return any(place != UNKNOWN for place in _bins_of(model, at, row)[0])

    def has_categories(self, model: Any) -> bool:
        """Return whether some feature has categories."""
        return any(isinstance(level, dict) for levels in model.bins_ for level in levels)

    def sizes(self, part: Any) -> Iterator[Callable[[], Any]]:
        """Yield the sums of scores: scale and monotonize change them in place."""
        if hasattr(part, "term_scores_"):
            yield lambda: [float(scores.sum()) for scores in part.term_scores_]
            yield lambda: np.ravel(part.intercept_).tolist()


READERS: dict[str, Reader] = dict.fromkeys(
    (
        *("ExplainableBoostingClassifier", "ExplainableBoostingRegressor"),
        *("DPExplainableBoostingClassifier", "DPExplainableBoostingRegressor"),
    ),
    EbmReader(),
)
