"""Reader of scikit-learn's forests, trees and boosting, both classifiers and regressors."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import kind_of, require_inherited
from encoders.readers.reader import Codes, Reader, ReadMember, positions
from encoders.readers.refusals import require_fitted, several_outputs
from encoders.trees.arithmetic import Link, rounding_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import largest_at_most
from encoders.trees.tree_nodes import NO_CHILD, CodeSet, TreeNodes, joined

if TYPE_CHECKING:
    import pandas as pd

FORESTS = frozenset(
    {
        "RandomForestClassifier",
        "ExtraTreesClassifier",
        "DecisionTreeClassifier",
        "ExtraTreeClassifier",
        "RandomForestRegressor",
        "ExtraTreesRegressor",
        "DecisionTreeRegressor",
        "ExtraTreeRegressor",
    }
)
TREES = frozenset(
    {
        *("DecisionTreeClassifier", "ExtraTreeClassifier"),
        *("DecisionTreeRegressor", "ExtraTreeRegressor"),
    }
)
LIKELIEST = ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier")
CONSTANT = ("DummyClassifier", "DummyRegressor")
START_TERMS = 4  # roundings of the average or the logarithm that boosting starts from
LOGARITHMIC = ("poisson", "gamma")  # losses whose prediction is the exponential of the sum


def read_sklearn(model: Any) -> Ensemble:
    """Read a fitted classifier or regressor of scikit-learn.

    All of them add float64 numbers and take the first of the largest (``argmax``). Binary gradient
    boosting takes class 1 at a raw score of exactly 0 (``sklearn/ensemble/_gb.py``, predict).
    Regressors predict the mean of their trees, or the sum with its bias. With the losses poisson
    and gamma they predict the exponential of the sum.
    """
    regression = kind_of(model).name.endswith("Regressor")
    require_fitted(model, "n_features_in_" if regression else "classes_")
    if getattr(model, "n_outputs_", 1) != 1:
        raise several_outputs("regressor" if regression else "classifier")
    if kind_of(model).name in FORESTS:
        return _read_forest(model, 0, getattr(model, "classes_", None))
    return _read_boosting(model)


def read_output(model: Any, output: int) -> Ensemble:
    """Return one output of a fitted forest or tree of several outputs.

    Probabilities of each output are averages over the trees, and the first of the largest wins
    (``sklearn/ensemble/_forest.py`` and ``sklearn/tree/_classes.py``, predict).
    """
    return _read_forest(model, output, model.classes_[output] if _classifies(model) else None)


def _classifies(model: Any) -> bool:
    return kind_of(model).name.endswith("Classifier")


def _read_forest(model: Any, output: int, classes: Any) -> Ensemble:
    estimators = [model] if hasattr(model, "tree_") else model.estimators_
    n_classes, unit = 1 if classes is None else len(classes), float(len(estimators))
    trees = (tree_nodes(each.tree_, _shares(each.tree_, n_classes, output)) for each in estimators)
    n_nodes = sum(estimator.tree_.node_count for estimator in estimators)
    n_columns, bias = int(model.n_features_in_), np.zeros(n_classes)
    dtype = np.dtype(np.float32)  # DTYPE of sklearn/tree/_tree.pyx
    read = joined(trees, n_columns, bias, dtype, unit, "sklearn", n_nodes)
    return replace(
        read,
        rounding=rounding_of(read.score, read.root, read.bias),
        link=Link("mean", divisor=unit),
        regression=classes is None,
    )


def _shares(tree: Any, n_classes: int, output: int = 0) -> FloatArray:
    """Return the shares of classes, or the prediction, at each node, (n_nodes, n_classes)."""
    shares: FloatArray = tree.value[:, output, :n_classes]
    return shares


def tree_nodes(tree: Any, values: FloatArray) -> TreeNodes:
    """Return the nodes of a ``tree_`` with the given values at leaves, (n_nodes, n_sums)."""
    left = np.asarray(tree.children_left, dtype=np.int64)
    inner = left != NO_CHILD
    return TreeNodes(
        column=np.where(inner, tree.feature, -1).astype(np.int64),
        last_left=largest_at_most(np.where(inner, tree.threshold, 0.0), np.dtype(np.float32)),
        left=left,
        right=np.asarray(tree.children_right, dtype=np.int64),
        score=np.where(inner[:, None], 0.0, values),
        default_left=np.asarray(tree.missing_go_to_left).astype(np.bool_),
    )


def _read_boosting(model: Any) -> Ensemble:
    return _with_rounding(
        model, read_histograms(model) if _histograms(model) else _read_gradient_boosting(model)
    )


def _read_gradient_boosting(model: Any) -> Ensemble:
    """Read gradient boosting by its actual stages.

    After early stopping there are fewer than ``n_estimators``. treelite reads ``n_estimators``
    stages, beyond the end of the trees.
    """
    start = starting_trees(model)
    n_columns, regression = int(model.n_features_in_), kind_of(model).name.endswith("Regressor")
    n_raw = int(model.n_trees_per_iteration_)
    n_classes = n_raw if regression else max(2, n_raw)
    first = n_classes - n_raw  # a single raw score is that of class 1
    # An init without trees predicts the same for every row.
    row = np.zeros((1, n_columns), dtype=np.float32)
    raw = np.zeros(n_raw) if start else model._raw_predict_init(row)[0]
    trees = [_starting_tree(model, tree, first, len(start)) for tree in start]
    trees += [
        stage_nodes(tree.tree_, float(model.learning_rate), n_classes, at + first)
        for stage in model.estimators_
        for at, tree in enumerate(stage)
    ]
    bias = np.append(np.zeros(first), raw)
    read = joined(trees, n_columns, bias, np.dtype(np.float32), 1.0, "sklearn")
    # predict rejects missing values.
    return replace(read, regression=regression, default_left=None)


def starting_trees(model: Any) -> list[Any]:
    """Return the trees of the initial estimator of gradient boosting; empty for a constant."""
    init = model.init_
    if isinstance(init, str):
        return []
    kind = kind_of(init)
    if kind.library == "sklearn" and kind.name in CONSTANT and init.strategy != "stratified":
        return []
    several = TREES if kind_of(model).name.endswith("Classifier") else FORESTS
    if kind.library == "sklearn" and kind.name in several:
        require_inherited(init)
        return [init] if hasattr(init, "tree_") else list(init.estimators_)
    raise UnsupportedModelError(
        f"this {type(model).__name__} starts from a {type(init).__name__} as init, whose raw score "
        f"is not a sum of leaves. Fit it with the default init, init='zero' or one of "
        f"{', '.join(sorted(several))}."
    )


@dataclass(frozen=True)
class _Leaves:
    """Stub of an estimator that returns the values of a starting tree's leaves."""

    values: FloatArray

    def predict_proba(self, _: Any) -> FloatArray:
        return self.values

    def predict(self, _: Any) -> FloatArray:
        return self.values[:, 0]


def _starting_tree(model: Any, tree: Any, first: int, count: int) -> TreeNodes:
    """Return one of ``count`` trees that boosting starts from, with raw scores at its leaves."""
    from sklearn.ensemble._gb import _init_raw_predictions

    classifies = kind_of(model).name.endswith("Classifier")
    n_classes = len(model.classes_) if classifies else 1
    nodes = tree_nodes(tree.tree_, _shares(tree.tree_, n_classes))
    leaves = np.flatnonzero(nodes.left == NO_CHILD)
    stub = _Leaves(nodes.score[leaves])
    raw = _init_raw_predictions(None, stub, model._loss, classifies) / count
    score = np.zeros((nodes.left.size, first + raw.shape[1]))
    score[leaves, first:] = raw
    return replace(nodes, score=score)


def stage_nodes(tree: Any, rate: float, n_classes: int, label: int) -> TreeNodes:
    """Return the nodes of a regression tree whose values times a rate are added to one sum."""
    values = np.zeros((tree.node_count, n_classes))
    values[:, label] = rate * _shares(tree, 1)[:, 0]
    return tree_nodes(tree, values)


def _histograms(model: Any) -> bool:
    return kind_of(model).name.startswith("Hist")


def _with_rounding(model: Any, read: Ensemble) -> Ensemble:
    histograms = _histograms(model)
    rounding = rounding_of(
        read.score,
        read.root,
        read.bias,
        link="sigmoid" if histograms and not read.regression else "",
        upper_wins=not histograms and read.n_classes == 2,
        terms=0 if histograms else START_TERMS + len(starting_trees(model)),
        # Gradient boosting multiplies by its learning rate as it adds; the compiler may fuse both
        # operations into one rounding.
        may_be_exact=histograms,
    )
    return replace(read, rounding=rounding, link=_link(model, read))


def _link(model: Any, read: Ensemble) -> Link:
    if read.regression:
        return Link("exp" if model.loss in LOGARITHMIC else "mean")
    if read.n_classes > 2:
        return Link("softmax")
    return Link("sigmoid", steepness=2.0 if model.loss == "exponential" else 1.0)


BITS = 32  # bits per word of a set of categories


def read_histograms(model: Any) -> Ensemble:
    """Read the nodes of a model, which may split on categories.

    The library encodes categories first and moves their columns before the others
    (``sklearn/ensemble/_hist_gradient_boosting/gradient_boosting.py``, ``_preprocess_X``). An
    unknown category counts as missing. The codes of a set go left (``_predictor.pyx``).
    """
    flags = model.is_categorical_  # None without category columns
    categorical = np.zeros(model.n_features_in_, bool) if flags is None else np.asarray(flags)
    order = np.r_[np.flatnonzero(categorical), np.flatnonzero(~categorical)]
    rounds = model._predictors
    regression = kind_of(model).name.endswith("Regressor")
    n_classes = len(rounds[0]) if regression else max(2, len(rounds[0]))
    first = n_classes - len(rounds[0])  # a single raw score is that of class 1
    trees = [
        _histogram_tree(predictor, order, n_classes, at + first)
        for stage in rounds
        for at, predictor in enumerate(stage)
    ]
    bias = np.zeros(n_classes)
    bias[first:] = np.ravel(model._baseline_prediction)
    dtype = np.dtype(np.float64)  # X_DTYPE of common.pyx
    read = joined(trees, categorical.size, bias, dtype, 1.0, "sklearn")
    return replace(read, regression=regression)


def _histogram_tree(predictor: Any, order: IntArray, n_classes: int, label: int) -> TreeNodes:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    by_set = nodes["is_categorical"].astype(np.bool_) & ~leaf
    score = np.zeros((nodes.size, n_classes))
    score[leaf, label] = nodes["value"][leaf]
    missing_left = nodes["missing_go_to_left"].astype(np.bool_)
    return TreeNodes(
        column=np.where(leaf, -1, order[nodes["feature_idx"].astype(np.int64)]),
        last_left=_last_left(nodes["num_threshold"], by_set),
        left=np.where(leaf, NO_CHILD, nodes["left"].astype(np.int64)),
        right=np.where(leaf, NO_CHILD, nodes["right"].astype(np.int64)),
        score=score,
        default_left=missing_left,
        sets={
            node: CodeSet(
                _codes(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]),
                True,
                bool(missing_left[node]),
            )
            for node in np.flatnonzero(by_set).tolist()
        },
    )


def _last_left(
    threshold: FloatArray, by_set: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> FloatArray:
    largest = np.finfo(np.float64).max  # an infinite threshold separates missing from other values
    return np.where(by_set, -np.inf, np.minimum(threshold, largest))


def _codes(words: Any) -> IntArray:
    bits = np.asarray(words, dtype=np.uint32)[:, None] >> np.arange(BITS, dtype=np.uint32) & 1
    return np.flatnonzero(bits)


class ForestReader(Reader):
    """Reader of single trees and forests."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_sklearn`."""
        return read_sklearn(model)

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return the outputs of a forest or tree that was fitted to several."""
        from encoders.trees.outputs import ForestOutput

        # Survival forests have an output per time, and predict one number.
        count = getattr(model, "n_outputs_", 1) if kind_of(model).name in FORESTS else 1
        return tuple(ForestOutput(model, at) for at in range(count)) if count > 1 else ()

    def averages(self, model: Any) -> bool:
        """Return True: leaves hold the shares of classes."""
        return True

    def likeliest(self, model: Any) -> bool:
        """Return whether predict is known, by its source, to take the first largest probability."""
        return kind_of(model).name in LIKELIEST

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return leaves tree by tree: apply of the estimators checks names that they lack."""
        trees = self._trees(model)
        numbers = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows).astype(
            np.float32
        )
        leaves = np.empty((len(trees), numbers.shape[0]), dtype=np.int64)
        for row, tree in zip(leaves, trees, strict=True):
            row[:] = tree.tree_.apply(numbers)
        return leaves.T

    def _trees(self, model: Any) -> list[Any]:
        trees: list[Any] = np.ravel(getattr(model, "estimators_", model)).tolist()
        return trees


class GradientBoostingReader(ForestReader):
    """Reader of gradient boosting, whose trees may follow those of ``init``."""

    def averages(self, model: Any) -> bool:
        """Return False: leaves are added."""
        return False

    def _trees(self, model: Any) -> list[Any]:
        return starting_trees(model) + super()._trees(model)


class HistogramReader(Reader):
    """Reader of histogram gradient boosting, which has no public leaf indices."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_sklearn`."""
        return read_sklearn(model)

    def codes(self, model: Any, frame: "pd.DataFrame") -> dict[int, Codes]:
        """Return the codes of the model's own encoder of categories."""
        if not self.has_categories(model):
            return {}
        categories = model._preprocessor.named_transformers_["encoder"].categories_
        places = np.flatnonzero(model.is_categorical_).tolist()
        return {
            at: positions(labels.tolist()) for at, labels in zip(places, categories, strict=True)
        }

    def has_categories(self, model: Any) -> bool:
        """Return whether the model has category columns."""
        flags = getattr(model, "is_categorical_", None)
        return flags is not None and bool(np.any(flags))


READERS: dict[str, Reader] = {
    **dict.fromkeys(FORESTS, ForestReader()),
    **dict.fromkeys(
        ("GradientBoostingClassifier", "GradientBoostingRegressor"), GradientBoostingReader()
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), HistogramReader()
    ),
}
