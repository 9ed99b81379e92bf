"""Reader of CatBoost's classifiers and regressors."""

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.query.features import is_missing
from encoders.readers.kinds import kind_of
from encoders.readers.limit import ResponseLimit
from encoders.readers.outputs import OutputReader
from encoders.readers.reader import Codes, FileFormat, Reader, ReadMember, of_both_classes
from encoders.readers.refusals import first_line, not_fitted, several_outputs
from encoders.trees.arithmetic import DOUBLE, LINK, Link, LinkKind, rounding_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import no_sets
from encoders.trees.tree_nodes import NO_CHILD, CodeSet, TreeNodes, joined

UNREADABLE = {"text_features": "text", "embedding_features": "embedding"}
DAMAGED = "the CatBoost model's {} differ from its JSON export. Save it again with save_model."
COUNTERS = (
    "the CatBoost model splits on statistics of the target by category (counters), not on "
    "categories. Train with one_hot_max_size of at least the number of categories, or encode them "
    "in a pipeline step."
)


def exported(model: Any) -> dict[str, Any]:
    """Return a model as CatBoost's JSON document, which the library writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except Exception as error:  # CatBoostError, without an import of CatBoost
            raise UnsupportedModelError(
                "CatBoost cannot export this model to JSON, so its trees cannot be read. Train it "
                "without text features, embeddings and counters."
            ) from error
    features = content["features_info"]
    for kind, word in UNREADABLE.items():
        if features.get(kind):
            raise UnsupportedModelError(
                f"the CatBoost model has {word} features, whose splits are not thresholds. Encode "
                "them as numbers and train it again."
            )
    if features.get("ctrs"):
        raise UnsupportedModelError(COUNTERS)
    return content


def loss_of(content: dict[str, Any]) -> str:
    """Return the name of the loss that a model was trained with."""
    params = content.get("model_info", {}).get("params", {})
    params = json.loads(params) if isinstance(params, str) else params
    return str(params.get("loss_function", {}).get("type", "unknown"))


class Split(NamedTuple):
    """Split on one of the model's columns.

    Attributes
    ----------
    column : index of the column, -1 at a leaf.
    border : largest float32 that goes left, -inf for a category.
    missing_left : whether a missing value goes left.
    code : code of the category that goes right, -1 for a number.
    """

    column: int
    border: float
    missing_left: bool
    code: int


class Splits:
    """Reader of the splits of an export.

    A value goes right if it is above a border, or if it is the one category of the split. The
    export has hashes of categories; the code of a hash is its index in the export's list.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        numbers = content["features_info"].get("float_features") or []
        self._number = _columns(numbers)
        # A missing value is compared as NaN (not above a border), as -inf, or as inf.
        self._missing_left = np.array([f["nan_value_treatment"] != "AsTrue" for f in numbers])
        self._category = category_columns(content)
        self._code = [
            {value: code for code, value in enumerate(hashes)} for hashes in hashes_of(content)
        ]

    def read(self, split: dict[str, Any]) -> Split:
        """Return a split of the export."""
        if split["split_type"] == "FloatFeature":
            index = split["float_feature_index"]
            border = float(np.float32(split["border"]))
            return Split(int(self._number[index]), border, bool(self._missing_left[index]), -1)
        if split["split_type"] != "OneHotFeature":
            raise UnsupportedModelError(COUNTERS)
        index = split["cat_feature_index"]
        return Split(int(self._category[index]), -np.inf, True, self._code[index][split["value"]])


def category_columns(content: dict[str, Any]) -> IntArray:
    """Return the model's column of each category feature, int64 (n_categories,)."""
    return _columns(content["features_info"].get("categorical_features") or [])


def hashes_of(content: dict[str, Any]) -> list[list[int]]:
    """Return, for each category feature, the hashes of the categories that occur in a split."""
    features = content["features_info"].get("categorical_features") or []
    return [list(feature.get("values") or []) for feature in features]


def _columns(features: list[dict[str, Any]]) -> IntArray:
    return np.array([feature["flat_feature_index"] for feature in features], dtype=np.int64)


LOSSES: dict[str, LinkKind] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "sigmoids",
}
LABELLING: dict[str, LinkKind] = {"MultiLogloss": "sigmoid", "MultiCrossEntropy": "sigmoid"}
UNCERTAIN = "RMSEWithUncertainty"  # its second output is a variance
PREDICTING = ("CatBoostRegressor", "CatBoostRanker")
EXPONENTIAL = ("Poisson", "Tweedie")  # regressors with other losses predict the sum itself
HEAD = 4096  # bytes
KEYS = (b"features_info", b"model_info", b"oblivious_trees", b"trees", b"scale_and_bias")
CLASSIFYING = ("Logloss", "CrossEntropy", "MultiClass", "Focal", *LABELLING)  # prefixes of losses
LEAF = Split(NO_CHILD, 0.0, False, -1)
DEEPEST = 16  # largest depth of a symmetric tree in CatBoost
# The relative error of CatBoost's exponential of x is at most x^2 times this. The source is
# ``library/cpp/fast_exp/fast_exp.cpp``, for processors without AVX2 and SSE2; others are precise.
FAST_EXP = 2.0**-33


def read_catboost(model: Any, target: int = -1) -> Ensemble:
    """Read a ``CatBoostClassifier`` or ``CatBoostRegressor`` of numbers and single categories.

    A value is rounded to float32 and goes right if it is above a border. A category goes right if
    it is the one category of the split. Leaf values are added in float64, multiplied by the model's
    scale, and the bias is added (``catboost/libs/model/cpu/evaluator_impl.cpp``). Class 1 of two
    needs a raw score above the logit of the probability threshold, by default 0. With several
    classes, the first of the largest wins (``catboost/libs/eval_result/eval_helpers.cpp``). A
    regressor's prediction is the raw score, or its exponential. ``target`` is the index of the
    output to read of a model of several; each output of a classifier is read like class 1 of two.
    """
    if not model.is_fitted():
        raise not_fitted(model)
    content = exported(model)
    regression = kind_of(model).name in PREDICTING
    loss = loss_of(content)
    if not regression and loss not in LOSSES | LABELLING:
        raise UnsupportedModelError(
            f"a CatBoostClassifier with loss {loss} does not classify by score. Train with one of "
            f"the losses {', '.join(LOSSES)}, or a CatBoostRegressor."
        )
    scale, bias = model.get_scale_and_bias()
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    if model.feature_names_ is None:
        raise UnsupportedModelError(
            "the CatBoost model has no feature names. Save it again with save_model."
        )
    trees = _trees(model, content, bias.size)
    if target >= 0:
        bias = bias[target : target + 1]
        trees = [replace(t, score=t.score[:, target : target + 1]) for t in trees]
    elif bias.size > 1 and (regression or loss in LABELLING):
        raise several_outputs("regressor" if regression else "classifier")
    threshold, magnitude = 0.0, np.abs(bias)
    if bias.size == 1 and not regression:  # a raw score of class 1
        threshold = catboost_threshold(model)
        magnitude = np.array([0.0, magnitude[0] + 2 * abs(threshold)])
        bias = np.array([0.0, bias[0] - threshold])
        trees = [replace(t, score=np.column_stack([0 * t.score, t.score])) for t in trees]
    trees = [replace(tree, score=tree.score * scale) for tree in trees]
    n_columns = len(model.feature_names_)
    read = joined(trees, n_columns, bias, np.dtype(np.float32), 1.0, "catboost")
    exact = scale == 1.0 and threshold == 0.0
    rounding = rounding_of(read.score, read.root, magnitude, may_be_exact=exact)
    kind = ("exp" if loss in EXPONENTIAL else "mean") if regression else (LOSSES | LABELLING)[loss]
    if (categories := category_columns(content)).size:  # also columns that no tree splits
        sets = read.sets or no_sets(read.column.size)
        edges = {int(column): np.zeros(0) for column in categories} | dict(sets.edges)
        read = replace(read, sets=replace(sets, edges=edges))
    return replace(
        read,
        rounding=rounding,
        link=Link(kind, unit=_unit(kind, read), offset=threshold),
        regression=regression,
    )


def catboost_threshold(model: Any) -> float:
    """Return the raw score that class 1 of two must exceed."""
    share = model.get_probability_threshold()
    return -math.log(1.0 / share - 1.0) if share != 0.5 else 0.0


def _unit(kind: LinkKind, read: Ensemble) -> float:
    """Return the unit roundoff of the output, including the error of CatBoost's exponential."""
    if kind == "exp":
        largest = np.maximum.reduceat(np.abs(read.score), read.root, axis=0).sum()
        most = 1.0 + float(largest + np.abs(read.bias).sum())
        return DOUBLE * most + FAST_EXP / LINK * most * most
    # The exponents of a softmax are at most 0, where x^2 exp(x) is below 1.
    return DOUBLE + FAST_EXP if kind == "softmax" else DOUBLE


def _trees(model: Any, content: dict[str, Any], n_scores: int) -> list[TreeNodes]:
    splits = Splits(content)
    values = np.asarray(model.get_leaf_values(), dtype=np.float64)
    if "oblivious_trees" in content:
        return _symmetric(content["oblivious_trees"] or [], splits, values, n_scores)
    trees = [_grown(tree, splits, n_scores) for tree in content.get("trees") or []]
    leaves = [tree.score[tree.left == NO_CHILD].ravel() for tree in trees]
    exported_values = np.concatenate([np.zeros(0), *leaves])
    if not np.array_equal(np.sort(exported_values), np.sort(values)):
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    return trees


def _symmetric(
    trees: list[dict[str, Any]], splits: Splits, values: FloatArray, n_scores: int
) -> list[TreeNodes]:
    """Return trees with one split per level: bit i of a leaf's index is 1 if split i goes right."""
    sizes = [n_scores << len(tree.get("splits") or []) for tree in trees]
    if sum(sizes) != values.size or max(sizes, default=0) > n_scores << DEEPEST:
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    nodes, at = [], 0
    for tree, size in zip(trees, sizes, strict=True):
        levels = [splits.read(split) for split in tree.get("splits") or []]
        nodes.append(_from_levels(levels[::-1], values[at : at + size].reshape(-1, n_scores)))
        at += size
    return nodes


def _from_levels(levels: list[Split], leaves: FloatArray) -> TreeNodes:
    """Return a symmetric tree; nodes are in level order, children of n at 2 n + 1 and 2 n + 2."""
    depth, n_leaves = len(levels), len(leaves)
    inner, ends = np.arange(n_leaves - 1), np.full(n_leaves, NO_CHILD)
    which = np.append(np.repeat(np.arange(depth), 2 ** np.arange(depth)), np.full(n_leaves, depth))
    children = [np.append(2 * inner + way, ends) for way in (1, 2)]
    score = np.concatenate([np.zeros((n_leaves - 1, leaves.shape[1])), leaves])
    return _nodes([*levels, LEAF], which, np.stack(children), score)


def _grown(tree: dict[str, Any], splits: Splits, n_scores: int) -> TreeNodes:
    """Return a tree of nested nodes, as the other grow policies have."""
    nodes, children, read, scores = [tree], [], [], []
    for node in nodes:  # the list grows during the loop
        if "split" in node:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left"], node["right"]]
            read.append(splits.read(node["split"]))
            scores.append(np.zeros(n_scores))
        else:
            children.append((NO_CHILD, NO_CHILD))
            read.append(LEAF)
            scores.append(np.atleast_1d(np.asarray(node["value"], dtype=np.float64)))
    if {score.size for score in scores} != {n_scores}:
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    which, below = np.arange(len(read)), np.array(children, dtype=np.int64).T
    return _nodes(read, which, below, np.array(scores))


def _nodes(
    splits: list[Split], which: IntArray, children: IntArray, score: FloatArray
) -> TreeNodes:
    """Return a tree from the distinct splits, and the index of each node's split in ``which``."""
    column, border, missing_left, code = zip(*splits, strict=True)
    codes = np.array(code)[which]
    return TreeNodes(
        column=np.array(column)[which],
        last_left=np.array(border)[which],
        left=children[0],
        right=children[1],
        score=score,
        default_left=np.array(missing_left)[which],
        sets={
            node: CodeSet(codes[node : node + 1], listed_left=False, missing_left=True)
            for node in np.flatnonzero(codes >= 0).tolist()
        },
    )


class CatBoostReader(Reader):
    """Reader of CatBoost's models, which predict in one thread: it would start one per core."""

    calibration_remedy = "Train it with loss_function='Logloss' and a probability threshold of 0.5"

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_catboost`."""
        return read_catboost(model)

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return the outputs of a model of several labels, numbers or quantiles."""
        count = np.size(model.get_scale_and_bias()[1]) if model.is_fitted() else 1
        if count == 1:
            return ()
        loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
        if loss in LOSSES or loss == UNCERTAIN:
            return ()
        from encoders.trees.outputs import CatBoostOutput

        return tuple(CatBoostOutput(model, at) for at in range(count))

    def width(self, model: Any) -> int:
        """Return the number of inputs; n_features_in_ raises CatBoostError before fit."""
        if not model.is_fitted():
            raise not_fitted(model)
        return super().width(model)

    def sigmoid_unit(
        self, model: Any, ensemble: Ensemble
    ) -> tuple[float, float, "np.dtype[Any]"] | None:
        """Return units of a plain sigmoid; an offset means that a threshold was set."""
        link = ensemble.link
        plain = isinstance(link, Link) and (link.kind, link.offset) == ("sigmoid", 0.0)
        return (1.0, 1.0, np.dtype(np.float64)) if plain else None

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the library's leaf indices."""
        return model.calc_leaf_indexes(rows, thread_count=1)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> Any:
        """Return raw scores, less the threshold of two classes."""
        scores = np.asarray(self._margins(model, rows))
        return scores - self._threshold(model) if scores.ndim == 1 else scores

    def limit(self, model: Any) -> ResponseLimit | None:
        """Return the probability threshold of two classes if it was changed."""
        share = model.get_probability_threshold()
        return None if share == 0.5 else ResponseLimit(share, 1, True)

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the last raw score."""
        raw_scores = np.asarray(self._margins(model, rows), dtype=np.float64)
        return raw_scores.reshape(rows.shape[0], -1)[:, -1]

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return predictions."""
        return model.predict(rows, thread_count=1)

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return probabilities."""
        return model.predict_proba(rows, thread_count=1)

    def columns(self, model: Any) -> Any:
        """Return the model's names; CatBoost numbers columns without a name."""
        names = model.feature_names_
        return None if names == [str(i) for i in range(len(names))] else names

    def errors(self) -> tuple[type[Exception], ...]:
        """Return also the library's own type, which has no standard base class."""
        import catboost

        # Text that is not Unicode, such as half of a surrogate pair, ends in a SystemError.
        return *super().errors(), SystemError, catboost.CatBoostError

    def codes(self, model: Any, frame: pd.DataFrame) -> dict[int, Codes]:
        """See :func:`catboost_codes`."""
        return dict(catboost_codes(model, frame))

    def tests_category(self, model: Any, row: pd.DataFrame, at: int) -> bool:
        """Return whether the hash of the category is in a split."""
        return row.iloc[0, at] in catboost_codes(model, row).get(at, {})

    def sizes(self, part: Any) -> Iterator[Callable[[], Any]]:
        """Yield the number of trees and the scale: training goes on in place."""
        if hasattr(part, "tree_count_"):
            yield lambda: part.tree_count_
            yield part.get_scale_and_bias

    def _margins(self, model: Any, rows: Any) -> Any:
        return model.predict(rows, prediction_type="RawFormulaVal", thread_count=1)

    def _threshold(self, model: Any) -> float:
        return catboost_threshold(model)


class CatBoostOutputReader(OutputReader, CatBoostReader):
    """Reader of one output of an estimator of several."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_catboost`."""
        return read_catboost(model.whole, model.at)

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return the predictions of the output."""
        return np.asarray(super().predictions(model.whole, rows))[:, model.at]

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return the probabilities of 0 and 1."""
        return of_both_classes(super().probabilities(model.whole, rows)[:, model.at])

    def limit(self, model: Any) -> ResponseLimit | None:
        """Return the probability threshold of each output if it was changed."""
        return super().limit(model.whole)

    def _margins(self, model: Any, rows: Any) -> Any:
        return super()._margins(model.whole, rows)[:, model.at]

    def _threshold(self, model: Any) -> float:
        return super()._threshold(model.whole)


Labels = dict[int, list[Any]]


def catboost_codes(model: Any, frame: pd.DataFrame) -> dict[int, dict[Any, float]]:
    """Return the code of each category that a split tests, by position of its column."""
    if not model.get_cat_feature_indices():
        return {}
    content = exported(model)
    places, hashes = category_columns(content).tolist(), hashes_of(content)
    labels = {at: _labels(frame.iloc[:, at]) for at in places}
    codes: dict[int, dict[Any, float]] = {at: {} for at in places}
    leaves = _has_category(content, hashes, _rows(frame, labels))
    tree = 0
    for at, values in zip(places, hashes, strict=True):
        for code in range(len(values)):
            met = np.flatnonzero(leaves[: len(labels[at]), tree])
            codes[at] |= {labels[at][place]: float(code) for place in met.tolist()}
            tree += 1
    return codes


def _labels(column: "pd.Series[Any]") -> list[Any]:
    """Return the categories of a column, also those that only its dtype has."""
    values = pd.unique(column.astype(object)).tolist()
    if isinstance(column.dtype, pd.CategoricalDtype):
        values += column.cat.categories.difference(values).tolist()
    missing = [value for value in values if is_missing(value)]
    if missing:
        raise InputError(
            f"X_train: column {column.name!r} has missing values, which CatBoost does not accept "
            "as categories. Replace them by a category such as 'missing', also in training."
        )
    return values


def _rows(frame: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """Return a frame with as many rows as one column has labels, each label in one of them."""
    most = max(map(len, labels.values()))
    columns = {
        at: pd.Series([labels[at][row % len(labels[at])] for row in range(most)], dtype=object)
        if at in labels
        else pd.Series(np.zeros(most))
        for at in range(frame.shape[1])
    }
    return pd.DataFrame(columns).set_axis(frame.columns, axis=1)


def _has_category(content: dict[str, Any], hashes: list[list[int]], rows: pd.DataFrame) -> Any:
    """Return whether each row has the category of each hash, 0 or 1, (n_rows, n_hashes)."""
    import catboost

    pairs = [(place, value) for place, values in enumerate(hashes) for value in values]
    if not pairs:
        return np.zeros((len(rows), 0))
    numbers = content["features_info"].get("float_features") or []
    before = sum(len(feature["borders"]) for feature in numbers)  # splits are numbered after these
    trees = [
        {
            "splits": [
                {
                    "split_type": "OneHotFeature",
                    "split_index": before + at,
                    "cat_feature_index": place,
                    "value": value,
                }
            ],
            "leaf_values": [0, 1],
            "leaf_weights": [1, 1],
        }
        for at, (place, value) in enumerate(pairs)
    ]
    asking = {name: part for name, part in content.items() if name != "trees"}
    asking |= {"oblivious_trees": trees, "scale_and_bias": [1, [0]]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asking.json"
        path.write_text(json.dumps(asking), encoding="utf-8")
        model = catboost.CatBoost().load_model(str(path), format="json")
    try:
        return model.calc_leaf_indexes(rows, thread_count=1)
    except catboost.CatBoostError as error:
        raise InputError(
            f"X_train: CatBoost rejects a value as a category ({first_line(error)}). Pass the "
            "frame that the model was fitted on, with the same dtypes."
        ) from error


def _claims(path: Path) -> bool:
    """Return whether a file is CatBoost's: a .json that starts so; XGBoost's start otherwise."""
    if path.suffix.lower() != ".json":
        return True
    with path.open("rb") as file:
        key = re.match(rb'\s*\{\s*"(\w+)"', file.read(HEAD))
    return key is not None and key[1] in KEYS


def _load_catboost(path: Path) -> Any:
    try:
        import catboost
    except ImportError as error:
        raise InputError(
            "it needs catboost. Install it: pip install 'counterfolio[catboost]'"
        ) from error

    form = path.suffix.lower()[1:]
    loss = catboost.CatBoost().load_model(str(path), format=form).get_all_params()["loss_function"]
    classifies = any(loss.startswith(prefix) for prefix in CLASSIFYING)
    model = catboost.CatBoostClassifier() if classifies else catboost.CatBoostRegressor()
    return model.load_model(str(path), format=form)


READERS = {
    **dict.fromkeys(("CatBoostClassifier", *PREDICTING), CatBoostReader()),
    "CatBoostOutput": CatBoostOutputReader(),
}


def _save_catboost(model: Any, path: Path) -> None:
    model.save_model(str(path))


OPTIONAL = "sklearn", "xgboost"  # for callbacks of its training
FORMATS = (
    FileFormat((".cbm", ".json"), _load_catboost, "catboost", _save_catboost, _claims, OPTIONAL),
)
