"""Checks of the parsed trees against the model's own leaves, scores and predictions."""

from dataclasses import replace

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, blocks, evenly
from encoders.core.errors import CounterfolioError, InputError, UnsupportedModelError
from encoders.problem.partition import broken_tree, covered
from encoders.query.features import FeatureSpace
from encoders.query.goal import Scale
from encoders.readers.read import predicts_likeliest
from encoders.readers.refusals import first_line
from encoders.trees.arithmetic import Link
from encoders.trees.blend import Blend
from encoders.trees.cells import Cells, codes
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import last_read_as
from portfolio.model.native import SUMMED, NativeModel, clear_lead, own_errors

TRAINING_ROWS, PROBES = 50_000, 2_000
OUTPUT_ROWS = 500  # rows whose probabilities are compared
PREDICTED_ROWS = 1_000  # rows for predict, if it follows from scores that are compared for all
MOST_LEAVES = 2_000_000  # training rows x trees that are compared, about half a second
FEW = 500_000  # rows x trees whose leaves are compared in one step
MOST_LITERALS = 4_000_000  # rows x literals of leaf boxes that are tested
SOME_LITERALS = 250_000  # rows x literals in one step, which fit into the cache
MOVED_SHARE = 0.5  # share of a probe's columns that are moved to a threshold
SEEN_SHARE = 0.3  # share of a column's probes that get another seen value, or none
MISREAD = (
    "so it cannot be read exactly. Check for a custom objective, a setting of predict, or a "
    "damaged file."
)


def check_against_model(
    ensemble: Ensemble,
    cells: Cells,
    native: NativeModel,
    training: FloatArray,
    space: FeatureSpace,
) -> None:
    """Check the parsed trees against the model; raise InputError for rows that it rejects."""
    rows = _with_gaps(training, space, native)
    try:
        check_reading(ensemble, cells, native, rows)
    except CounterfolioError:
        raise
    except own_errors(native.model) as error:
        raise InputError(
            f"the model's own predict rejects rows of X_train ({first_line(error)}). Pass the "
            "frame that it was fitted on, with the same dtypes and categories."
        ) from error


def _with_gaps(values: FloatArray, space: FeatureSpace, native: NativeModel) -> FloatArray:
    """Return the training rows, and a row with each gap that is allowed but not among them."""
    rows = [values]
    for feature in space.features:
        columns = list(feature.columns)
        if feature.missing and not np.isnan(values[:, columns]).any():
            row = values[:1].copy()
            row[:, columns] = np.nan
            try:
                native.leaves(row)
            except own_errors(native.model) as error:
                raise InputError(
                    f"feature {feature.name}: the model does not accept missing values "
                    f"({first_line(error)}). Set 'missing' to False for this feature."
                ) from error
            rows.append(row)
    return values if len(rows) == 1 else np.concatenate(rows)


def check_reading(
    ensemble: Ensemble, cells: Cells, native: NativeModel, training: FloatArray
) -> None:
    """Raise UnsupportedModelError if the model's leaves, scores or predictions differ from ours.

    The rows are training rows, and rows with values on, just below and just above thresholds.
    """
    check_sums(ensemble, native, _alike_together(ensemble, _rows(ensemble, cells, training)))


def check_sums(ensemble: Ensemble, native: NativeModel, rows: FloatArray) -> None:
    """Raise UnsupportedModelError if leaves, scores or predictions differ for some rows."""
    leaves = ensemble.leaves(rows)
    native_leaves = native.leaves(rows)
    if native_leaves is not None:
        _check_leaves(leaves, native_leaves)
    scores = ensemble.sums(leaves)
    if ensemble.regression:
        _check_outputs(ensemble, scores, native.values(rows, "prediction", 0), 0)
        return
    blend = ensemble.blend
    if blend is None:
        _check_scores(ensemble, scores, native.scores(rows, ensemble.margin_unit))
    # If predict follows from the scores that were just compared, a sample of rows suffices.
    follows = blend is None and predicts_likeliest(native.model)
    sample = evenly(len(rows), PREDICTED_ROWS if follows else len(rows))
    best = ensemble.outputs(scores[sample]).argmax(axis=1)
    wrong = clear_lead(ensemble, scores[sample]) & (best != native.predict(rows[sample]))
    if wrong.any():
        raise UnsupportedModelError(
            f"the model's own predict disagrees with its trees on {int(wrong.sum())} of "
            f"{len(sample)} rows, {MISREAD}"
        )
    some = evenly(len(rows), OUTPUT_ROWS)
    # A plain mean of the sums is what the library compares, which was checked for all rows.
    if ensemble.n_classes == 2 and blend is None and ensemble.link.raw != Link("mean"):
        _check_outputs(ensemble, scores[some], native.values(rows[some], "raw", 1), 1, raw=True)
    if ensemble.link.kind == "none":
        return
    scales: list[Scale] = [] if blend is None or not blend.counts else ["raw"]
    if blend is None or blend.has_probabilities:
        scales.append("probability")
    for output in range(len(native.classes) if isinstance(ensemble.link, Blend) else 1):
        last = len(native.classes) - 1 - output
        for scale in scales:
            numbers, raw = native.values(rows[some], scale, last), scale == "raw"
            _check_outputs(ensemble, scores[some], numbers, last, raw)


def check_boxes(ensemble: Ensemble, cells: Cells, training: FloatArray) -> None:
    """Raise UnsupportedModelError unless each tree's leaf boxes partition the space correctly."""
    size = np.array([boundary.size + 1 for boundary in cells.boundary])
    shares = covered(
        *(cells.tree_start, cells.leaf_start, cells.column, cells.lo, cells.hi, size),
        share=_group_shares(cells),
    )
    tree = broken_tree(shares)
    if tree is not None:
        raise UnsupportedModelError(
            f"the leaves of tree {tree} do not partition the space, {MISREAD}"
        )
    rows = _thinned(_rows(ensemble, cells, training), MOST_LITERALS // (cells.column.size + 1) + 1)
    code = np.ascontiguousarray(codes(cells.boundary, rows, ensemble.dtype).T)
    leaves = ensemble.leaves(rows)
    some = SOME_LITERALS // (cells.column.size + 1) + 1
    for first in range(0, len(rows), some):
        part = slice(first, first + some)
        row, leaf = np.nonzero(_inside(cells, code[:, part]).T)
        trees = np.bincount(row, minlength=len(leaves[part]))
        if (trees != ensemble.root.size).any() or (cells.node[leaf] != leaves[part].ravel()).any():
            raise UnsupportedModelError(
                f"a row has other active leaves by their boxes than by its paths, {MISREAD}"
            )


def _inside(cells: Cells, code: IntArray) -> BoolArray:
    """Return whether rows lie in the boxes of leaves, bool (n_leaves, n_rows)."""
    inside = np.ones((cells.node.size, code.shape[1]), dtype=np.bool_)
    for mine, items, start in blocks(cells.leaf_start):
        column = cells.column[items]
        value = code[column]
        meets = (value >= cells.lo[items, None]) & (value <= cells.hi[items, None])
        if cells.takes_missing is not None:
            gap = value == cells.n_cells[column][:, None] - 1
            meets = np.where(gap, cells.takes_missing[items, None], meets)
        some = np.diff(start) > 0  # a tree of a single leaf has no literals
        if some.any():
            inside[mine][some] = np.logical_and.reduceat(meets, start[:-1][some], axis=0)
    for group in cells.groups:
        inside[group.leaf] &= group.allowed[:, group.class_of[code[group.column]]]
    return inside


def _group_shares(cells: Cells) -> FloatArray:
    """Return the share of the classes of grouped columns in each leaf, float64 (n_leaves,)."""
    share = np.ones(cells.node.size)
    for group in cells.groups:
        share[group.leaf] *= group.allowed.mean(axis=1)
    return share


def _rows(ensemble: Ensemble, cells: Cells, training: FloatArray) -> FloatArray:
    most = max(1, MOST_LEAVES // ensemble.root.size)
    sample = _thinned(training, min(TRAINING_ROWS, most))
    rows = np.concatenate([sample, _probes(ensemble, cells, sample, min(PROBES, most))])
    sure = np.ones(len(rows), dtype=np.bool_)
    for column, unsure in (ensemble.unsure or {}).items():
        sure &= ~unsure.hold(rows[:, column])
    return rows[sure]


def _alike_together(ensemble: Ensemble, rows: FloatArray) -> FloatArray:
    """Return the rows sorted by the leaves of the first tree.

    Rows in the same leaf take similar paths through the other trees. Nodes stay in the cache, ours
    and the library's, which halves the time for large forests.
    """
    alike = replace(ensemble, root=ensemble.root[:1]).leaves(rows)[:, 0]
    return rows[np.argsort(alike, kind="stable")]


def _thinned(rows: FloatArray, most: int) -> FloatArray:
    return rows[evenly(len(rows), most)]


def _probes(ensemble: Ensemble, cells: Cells, training: FloatArray, count: int) -> FloatArray:
    """Return training rows with some values moved onto a threshold, or one float64 beside it."""
    random = np.random.default_rng(0)
    rows = training[random.integers(0, len(training), count)]
    limit = float(np.finfo(ensemble.dtype).max)
    coded = frozenset() if ensemble.sets is None else ensemble.sets.coded
    for column, boundary in enumerate(cells.boundary):
        values = training[:, column]
        if column in coded or np.isnan(values).any():
            moved = np.flatnonzero(random.random(count) < SEEN_SHARE)
            rows[moved, column] = random.choice(np.unique(values), moved.size)
        if column in coded:
            continue
        inside = boundary[np.abs(boundary) < limit]
        if inside.size == 0:
            continue
        moved = np.flatnonzero(random.random(count) < MOVED_SHARE)
        edge = last_read_as(inside[random.integers(0, inside.size, moved.size)], ensemble.dtype)
        toward = random.integers(-1, 2, moved.size)
        with np.errstate(over="ignore"):  # overflow is clipped below
            beside = np.nextafter(edge, np.where(toward < 0, -np.inf, np.inf))
        value = np.where(toward == 0, edge, beside)
        unsure = (ensemble.unsure or {}).get(column)
        if unsure is not None:
            value = np.where(toward > 0, unsure.up(value), unsure.down(value))
        rows[moved, column] = np.clip(value, -limit, limit)
    return rows


def _check_leaves(ours: IntArray, native: IntArray) -> None:
    """Raise UnsupportedModelError unless leaves correspond one to one, whatever their numbering."""
    same = ours.shape == native.shape and native.min(initial=0) >= 0
    if same:
        step = max(1, FEW // max(1, len(ours)))
        some = [slice(at, at + step) for at in range(0, native.shape[1], step)]
        same = all(_are_alike(ours[:, trees], native[:, trees]) for trees in some)
    if not same:
        raise UnsupportedModelError(
            f"the model's own library assigns rows to other leaves than its trees do, {MISREAD}"
        )


def _are_alike(ours: IntArray, native: IntArray) -> bool:
    """Return whether two numberings of the leaves of some trees describe the same leaves."""
    width = int(native.max(initial=0)) + 1
    named = native + np.arange(native.shape[1]) * width  # trees may share leaf numbers
    ours = ours - (ours.min() if ours.size else 0)
    return _is_function(ours, named) and _is_function(named, ours)


def _is_function(first: IntArray, second: IntArray) -> bool:
    """Return whether equal numbers in ``first`` always come with equal numbers in ``second``."""
    image = np.zeros(int(first.max(initial=0)) + 1, dtype=np.int64)
    image[first] = second
    return bool((image[first] == second).all())


def _check_outputs(
    ensemble: Ensemble, sums: FloatArray, native: FloatArray, output: int, raw: bool = False
) -> None:
    """Raise UnsupportedModelError if outputs differ from the link of the sums beyond rounding."""
    band = ensemble.rounding.sums + SUMMED * float(np.abs(sums).max(initial=1.0))
    link = ensemble.link.raw if raw else ensemble.link
    low, high = link.of_output(sums.shape[1], output).limits(sums, output, band)
    if not ((low <= native) & (native <= high)).all():
        raise UnsupportedModelError(
            f"the model's own output does not follow from the sums of its leaves, {MISREAD}"
        )


def _check_scores(ensemble: Ensemble, ours: FloatArray, native: FloatArray) -> None:
    """Raise UnsupportedModelError if the library's sums differ from ours beyond rounding."""
    slack = ensemble.rounding.band + SUMMED * np.abs(ours).max(axis=1, initial=1.0)
    off = native.shape != ours.shape or (np.abs(ours - native).max(axis=1) > slack).any()
    if off:
        raise UnsupportedModelError(
            f"the model's own scores are not the sums of its leaves, {MISREAD}"
        )
