"""Check records of counterfolio. One file: numpy, and the library that made the model.

A record claims: no admissible row cheaper than ``below`` is decided as wanted. Its proof is a walk
through a binary tree of boxes. All of it is computed anew here, from the library's own dump of the
model and in whole numbers. ``docs/proofs.md`` has the format, and why the rules are sound.
"""

import argparse
import base64
import copy
import gzip
import hashlib
import io
import json
import math
import sys
import zlib
from bisect import bisect_left
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Box = tuple[Array, Array, Array] | None  # first and last levels, leaves that count; None is empty
ONE, DEAREST = 2**40, 2**46  # whole units of cost in "below"; no level costs more than so many
LOWERED, TINY = Fraction(2**44 - 1, 2**44), 2.0**-1000  # powers that are not whole are off by less
FURTHEST = math.nextafter(2.0**128 - 2.0**103, 0.0)  # that float32 has, rounded to its largest
# Of a distance: what "optimal" leaves open; of scores added up here; of a lead what is enough.
GAP, SUMMED, SHARE = 4e-9, 1e-9, 0.9
# Of steps; numbers in boxes that wait; limits and values of a record; leaves' columns looked at.
MOST_BYTES, MOST_HELD, MOST_LIMITS, MOST_VALUES, MOST_WORK = 2**28, 10**8, 10**3, 10**6, 10**10


class RejectedError(Exception):
    """The record does not prove what it claims; the message says where."""


def demand(holds: object, otherwise: str) -> None:
    """RejectedError unless something holds."""
    if not holds:
        raise RejectedError(otherwise)


class Model:
    """Trees as flat nodes, of which a leaf has column -1, and the library's own predict."""

    def __init__(self, trees: Any, bias: Array, labels: Any, rounding: Any, predict: Any) -> None:
        sizes, (unit, terms, shift) = [len(tree[0]) for tree in trees], rounding
        self.bias, self.labels, self.predict = bias, labels, predict
        self.root = np.cumsum([0, *sizes[:-1]])
        column, last, left, right, score = map(np.concatenate, zip(*trees, strict=True))
        inner, own, first = left >= 0, np.arange(left.size), np.repeat(self.root, sizes)
        self.column, self.last = np.where(inner, column, -1), np.where(inner, last, 0.0)
        self.left, self.right = np.where(inner, [left + first, right + first], own)
        self.score = np.where(inner[:, None], 0.0, score)
        demand(not np.isnan(self.last).any(), "a threshold is no number")
        most = np.maximum.reduceat(np.abs(self.score), self.root).sum(axis=0) + np.abs(bias)
        told = [*self.score.ravel().tolist(), *bias.tolist()]
        self.grid = 1 / max(number.as_integer_ratio()[1] for number in told)  # divides them all
        self.exact = most.max() < self.grid / unit / 8 and shift < self.grid / 4
        self.band = 1.01 * unit * (len(trees) + terms) * float(np.sort(most)[-2:].sum()) + shift

    def needed(self, target: int, rival: int) -> Fraction:
        """The exact lead below which a class does not win, whatever floats are rounded to."""
        # The first class wins a tie of exact sums; other sums are off by the band at most.
        return Fraction((0 if target < rival else self.grid) if self.exact else -self.band)

    def digest(self) -> str:
        """SHA-256 of all nodes."""
        nodes = self.root, self.column, self.last, self.left, self.right, self.score, self.bias
        return hashlib.sha256(b"".join(a.astype("<f8").tobytes() for a in nodes)).hexdigest()

    def leaves(self, row: Array) -> Array:
        """The leaf of each tree that a row ends in."""
        at = self.root
        while (self.column[at] >= 0).any():
            at = np.where(row[self.column[at]] <= self.last[at], self.left[at], self.right[at])
        return at

    def decide(self, rows: Array, lead: float = 0.0) -> list[int]:
        """The classes that the library predicts, which have to be those of the trees read here."""
        demand(np.isfinite(rows.astype(np.float32)).all(), "a row holds what is no float32")
        told: list[int] = self.predict(rows).tolist()
        for row, own in zip(rows, told, strict=True):
            total = self.score[self.leaves(row)].sum(axis=0) + self.bias
            for k in set(range(total.size)) - {own}:
                ahead = SHARE * lead or self.needed(own, k) - SUMMED
                demand(total[own] - total[k] >= ahead, "a row's trees decide otherwise, or less")
        return told


def last_read_as(value: Array) -> Array:
    """Largest float64 that is rounded to at most ``value``, which is float32."""
    following = np.nextafter(value, np.float32(np.inf)).astype(float)
    middle = np.where(following == np.inf, np.inf, (value.astype(float) + following) / 2)
    return np.where(middle.astype(np.float32) <= value, middle, np.nextafter(middle, -np.inf))


def read_xgboost(model: Any) -> Model:
    """XGBoost adds float32 and compares probabilities; a split sends what is below it left."""
    best = getattr(model, "best_iteration", None)
    booster = model.get_booster() if best is None else model.get_booster()[: best + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    shape, grown = learner["learner_model_param"], learner["gradient_booster"]
    n_classes, objective, trees = max(2, int(shape["num_class"])), learner["objective"]["name"], []
    made: Any = grown["name"] == "gbtree" and math.isnan(model.missing) and grown["model"]["trees"]
    known = bool(made) and all(t["tree_param"]["size_leaf_vector"] in "01" for t in made)
    known = known and not any(any(t["split_type"]) for t in made)
    known &= objective == ("multi:softprob" if n_classes > 2 else "binary:logistic")
    demand(known, f"xgboost models like this one, with {objective}, are not read here")
    for own, info in zip(made, grown["model"]["tree_info"], strict=True):
        value = np.array(own["split_conditions"], np.float32)
        score, last = np.zeros((value.size, n_classes)), np.nextafter(value, np.float32(-np.inf))
        score[:, info if n_classes > 2 else 1] = value
        children = np.array(own["left_children"]), np.array(own["right_children"])
        trees.append((np.array(own["split_indices"]), last_read_as(last), *children, score))
    # The raw score of a row is the bias where each leaf is 0.
    first, empty = json.loads(bytes(booster[:1].save_raw("json"))), type(booster)()
    for own in first["learner"]["gradient_booster"]["model"]["trees"]:
        own["split_conditions"] = [0.0] * len(own["split_conditions"])
    empty.load_model(bytearray(json.dumps(first).encode()))
    raw = empty.inplace_predict(np.zeros((1, model.n_features_in_)), predict_type="margin")
    bias = np.append(np.zeros(n_classes - raw.size), raw).astype(float)
    return Model(trees, bias, list(range(n_classes)), (2.0**-24, 9, 2.0**-20), model.predict)


def read_forest(model: Any) -> Model:
    """scikit-learn's trees read float32, and send what is at most the threshold left."""
    trees, alone = [], copy.copy(model)
    # Several threads add in any order.
    alone.n_jobs, alone.classes_ = 1, np.arange(len(model.classes_))
    vars(alone).pop("feature_names_in_", None)  # arrays have none
    for own in (tree.tree_ for tree in getattr(model, "estimators_", [model])):
        near = own.threshold.astype(np.float32)
        near = np.where(near > own.threshold, np.nextafter(near, np.float32(-np.inf)), near)
        children = own.children_left.astype(int), own.children_right.astype(int)
        trees.append((own.feature, last_read_as(near), *children, own.value[:, 0, :]))
    bias, rounding = np.zeros(len(model.classes_)), (2.0**-53, 8, 0.0)
    return Model(trees, bias, model.classes_.tolist(), rounding, alone.predict)


FORESTS, BOOSTED = ("DecisionTree", "ExtraTree", "ExtraTrees", "RandomForest"), ("XGB", "XGBRF")
READERS = {f"sklearn.{kind}Classifier": read_forest for kind in FORESTS}
READERS |= {f"xgboost.{kind}Classifier": read_xgboost for kind in BOOSTED}


def read(model: Any) -> Model:
    """The trees of a fitted model; RejectedError where no reader of this file knows its type."""
    kind = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    demand(kind in READERS, f"models of type {kind} are not read by this checker")
    return READERS[kind](model)


def value_of(feature: Any, row: Array) -> float:
    """A feature's value in a row; of a one-hot group the place of its category."""
    own, one_hot = row[feature["columns"]].tolist(), feature["kind"] == "categorical"
    whole = sorted(own) == [0] * (len(own) - 1) + [1] if one_hot else len(own) == 1
    demand(whole, f"{feature['name']} has no value in a row")
    return float(own.index(1) if one_hot else own[0])


def costs_of(feature: Any, start: float, power: float, edges: list[float]) -> dict[float, Fraction]:
    """What a feature may become, of each cell between edges at least the nearest, and its cost."""
    one_hot, listed = feature["kind"] == "categorical", feature["values"]
    weight, unit = Fraction(float(feature["weight"])), Fraction(float(feature["unit"]))
    step, told = Fraction(repr(float(feature["step"] or 0))), feature["prices"] or ()
    table = {float(value): Fraction(float(paid)) for value, paid in told}
    lower = -FURTHEST if feature["lower"] is None else float(feature["lower"])
    upper = FURTHEST if feature["upper"] is None else float(feature["upper"])
    holds = min(weight, step, *table.values()) >= 0 < unit and len(table) == len(told)
    demand(holds and lower >= -math.inf <= upper, f"a cost of {feature['name']} is below 0 or NaN")
    # Not what is nearest is cheapest then.
    demand(one_hot or listed is not None or not table, f"{feature['name']} has prices, no values")
    first = [-FURTHEST, *(math.nextafter(edge, math.inf) for edge in edges)]
    cells = [(max(a, lower), min(b, upper)) for a, b in zip(first, [*edges, FURTHEST], strict=True)]
    if one_hot or listed is not None:
        near = set(map(float, range(len(feature["columns"])) if listed is None else listed))
    elif step == 0:
        near = {min(max(start, a), b) for a, b in cells}
    else:  # the multiples on both sides of the start, and of both ends of each cell
        below = {math.floor(Fraction(end) / step) for cell in cells for end in (start, *cell)}
        near = {float((k + more) * step) for k in below for more in (0, 1)}

    kept = {value for value in near if lower <= value <= upper}
    costs, p = dict[float, Fraction](), {math.inf: 1, 0.0: 0, 1.0: 1, 2.0: 2}.get(power, power)
    for value in sorted(kept | {start} if feature["stay"] else kept):
        far = Fraction(1) if one_hot else abs(Fraction(value) - Fraction(start)) / unit
        paid = Fraction(far**p) * (1 if isinstance(p, int) else LOWERED)  # exact, or no more
        paid *= isinstance(p, int) or min(far, paid) > TINY
        costs[value] = weight * (table[value] if table else paid) if value != start else Fraction(0)
    return costs


class Cover:
    """Levels of columns, leaves as boxes of them, and the tree of boxes that holds all cheap rows.

    A level is a cell between thresholds that holds an admissible value; it costs what that does.
    """

    def __init__(self, model: Model, question: Any, query: Array, below: float | None) -> None:
        features, power, self.model = question["features"], float(question["power"]), model
        columns = sorted(column for feature in features for column in feature["columns"])
        whole = columns == list(range(query.size)) and set(map(type, columns)) == {int}
        demand(whole and model.column.max() < query.size < 2**16, "features are not the model's")
        edges = [np.unique(model.last[model.column == column]).tolist() for column in columns]
        levels: list[dict[int, tuple[int, bool, float]]] = [{} for _ in columns]
        for feature in features:
            own, start = feature["columns"], value_of(feature, query)
            for value, paid in costs_of(feature, start, power, edges[own[0]]).items():
                units = min(int(paid / Fraction(below) * ONE), DEAREST) if below else 0
                # The largest change is below the bound if each is: it costs all or nothing.
                units = units // ONE * ONE if math.isinf(power) else units
                if feature["kind"] == "categorical":  # a column for each, with levels no and yes
                    for place, column in enumerate(own):
                        yes = place == value
                        levels[column][yes] = (units * yes, value != start and yes, float(yes))
                else:
                    cell, told = bisect_left(edges[own[0]], value), (units, value != start, value)
                    levels[own[0]][cell] = min(levels[own[0]].get(cell, told), told)
        self.size = np.array([len(own) for own in levels], np.int32)
        demand(self.size.all(), "a feature has no admissible value")
        self.start = np.cumsum(self.size) - self.size
        flat = [own[cell] for own in levels for cell in sorted(own)]
        self.cost, changed, values = (np.append(each, 0) for each in zip(*flat, strict=True))
        # The least of 1, 2, 4, ... levels from each on; two of these cover any range.
        least = [self.cost]
        for k in range(int(self.size.max()).bit_length() - 1):
            least.append(np.minimum(least[-1], np.roll(least[-1], -(2**k))))
        self.least = np.array(least)
        one_hot = [np.array(f["columns"]) for f in features if f["kind"] == "categorical"]
        self.groups = [own[self.size[own] == 2] for own in one_hot if (self.size[own] == 2).any()]
        self.grouped = np.isin(columns, [column for group in self.groups for column in group])
        owner = {column: k for k, feature in enumerate(features) for column in feature["columns"]}
        self.bounds = []  # of changes: which levels are one, and how many there may be
        for limit in question["max_changes"][:MOST_LIMITS]:
            mine = [limit["features"] is None or owner[c] in limit["features"] for c in columns]
            self.bounds.append((changed * np.append(np.repeat(mine, self.size), 0), limit["count"]))
        cut = np.zeros(model.column.size, int)  # levels that go left
        for column, first in enumerate(self.start):
            here, own = model.column == column, values[first : first + self.size[column]]
            cut[here] = np.searchsorted(own, model.last[here], side="right")
        self._grow(cut)

    def _grow(self, cut: Array) -> None:
        """The leaves that an admissible row can get to, as boxes of levels, tree by tree."""
        tree, node, model = np.arange(self.model.root.size), self.model.root, self.model
        lo, hi = (np.tile(ends, (tree.size, 1)) for ends in (0 * self.size, self.size - 1))
        while (inner := np.flatnonzero(model.column[node] >= 0)).size:
            # The left child takes the place of its parent, the right one comes at the end.
            own, right = node[inner], np.arange(node.size, node.size + inner.size)
            tree, lo, hi = (np.concatenate([each, each[inner]]) for each in (tree, lo, hi))
            node = np.append(model.left[node], model.right[own])
            axis, at = model.column[own], cut[own]
            hi[inner, axis] = np.minimum(hi[inner, axis], at - 1)
            lo[right, axis] = np.maximum(lo[right, axis], at)
            kept = (lo <= hi).all(axis=1)
            for group in self.groups:  # exactly one of its columns is a yes
                kept &= (lo[:, group].sum(axis=1) <= 1) & hi[:, group].any(axis=1)
            order = np.flatnonzero(kept)[np.argsort(tree[kept], kind="stable")]
            tree, node, lo, hi = tree[order], node[order], lo[order], hi[order]
        self.tree, self.node, self.begin = tree, node, np.flatnonzero(np.diff(tree, prepend=-1))
        # Most columns are whole in a leaf: those that are not come first, the others are left out.
        literal = (lo > 0) | (hi < self.size - 1)
        self.axis = np.argsort(~literal, axis=1, kind="stable")[:, : literal.sum(axis=1).max()]
        self.first, self.last = (np.take_along_axis(ends, self.axis, 1) for ends in (lo, hi))

    def _weigh(self, target: int, lead: float) -> None:
        """For each rival what the leaves weigh, in whole numbers, and how much is needed."""
        score, bias, self.rows = self.model.score[self.node], self.model.bias, []
        most = float(np.maximum.reduceat(np.abs(score).max(axis=1), self.begin).sum())
        self.scale = scale = 2.0 ** (57 - math.ceil(math.log2(most + 1)))
        self.work, self.charged, self.constant = 0, Fraction(0), 0  # no prices yet
        self.gain, self.paid = np.zeros_like(self.tree), self.cost.copy()
        for rival in (k for k in range(bias.size) if k != target):
            # Weights are rounded up and what is needed down, so that nothing that wins is lost.
            won, lost = np.ceil(score[:, target] * scale), np.floor(score[:, rival] * scale)
            needed = Fraction(lead) if lead else self.model.needed(target, rival)
            needed += Fraction(bias[rival]) - Fraction(bias[target])
            weight = won.astype(int) - lost.astype(int)
            self.rows.append((weight, math.floor(needed * Fraction(scale))))

    def cheapest(self, entries: Array, lo: Array, hi: Array) -> tuple[Array, int]:
        """The least entry of each column in a box, and the least that a row adds up to."""
        ends = np.stack([self.start + lo, self.start + hi + 1], axis=1).ravel()
        own = np.minimum.reduceat(entries, ends)[::2]
        # Exactly one column of a one-hot feature is a yes; a no costs nothing.
        yes = (entries[self.start[group] + 1][hi[group] == 1].min() for group in self.groups)
        return own, int(own[~self.grouped].sum()) + sum(map(int, yes))

    def counting(self, lo: Array, hi: Array, live: Array) -> Array:
        """The leaves that a row of a box may have that is admissible, cheap and wanted."""
        own, total = self.cheapest(self.cost, lo, hi)
        # None if each of its rows is too dear, or changes too much.
        changes = (self.cheapest(entries, lo, hi)[1] > most for entries, most in self.bounds)
        if total >= ONE or any(changes):
            return live[:0]
        axis = self.axis[live]
        self.work += axis.size
        first, last = np.maximum(lo[axis], self.first[live]), np.minimum(hi[axis], self.last[live])
        fits = (first <= last).all(axis=1)
        live, axis, first, last = live[fits], axis[fits], first[fits], last[fits]
        # Not one if the cheapest row in both boxes is too dear; categories are in the total.
        k, start = np.frexp(last - first + 1.0)[1] - 1, self.start[axis]
        paid = np.minimum(self.least[k, start + first], self.least[k, start + last + 1 - (1 << k)])
        more = np.where(self.grouped[axis], 0, paid - own[axis])
        live = live[more.sum(axis=1) < ONE - total]
        if self.charged:  # not one if it pays too much, even with the best ones of other trees
            begin = np.flatnonzero(np.diff(self.tree[live], prepend=-1))
            if begin.size == self.begin.size:
                gain, paid = self.gain[live], self.cheapest(self.paid, lo, hi)[0]
                best = np.maximum.reduceat(gain, begin)
                room = ONE - self.constant - int(paid.sum()) + int(best.sum())
                live = live[best[self.tree[live]] - gain < room]
        return live

    def charge(self, what: str, place: list[int], price: Fraction) -> None:
        """Put a price on what is true of each row that is admissible and wanted.

        Leaves, levels and a constant pay it or gain it: such a row never pays more than it costs.
        """
        unit, whole = price / Fraction(self.scale), int(price)
        self.charged += unit * 2**58 if what == "need" else price
        demand(price >= 0 <= min(place) and self.charged < 2**61, "a price is below 0 or too large")
        self.work += 10 * self.axis.size if what == "need" else self.axis.size // self.begin.size
        if what == "need":  # its leaves weigh as much as is needed
            weight, needed = self.rows[place[0]]
            self.gain -= (-weight.astype(object) * unit.numerator // unit.denominator).astype(int)
            self.constant += math.floor(needed * unit)
        else:  # it is within levels of a column if its leaf of a tree is
            tree, column, first, last = place
            demand(last < self.size[column], "a price is on no level")
            own = slice(self.begin[tree], np.append(self.begin, self.tree.size)[tree + 1])
            inside = (first <= self.first[own]) & (self.last[own] <= last)
            self.gain[own] -= whole * (inside & (self.axis[own] == column)).any(axis=1)
            self.paid[self.start[column] :][first : last + 1] -= whole

    def closes(self, box: Box, refused: Array | None) -> bool:
        """Whether no row of a box is admissible, cheap and decided as wanted."""
        counting = self.tree[:0] if box is None else self.counting(*box)
        if refused is not None:  # all have the leaves of a row that the library decides otherwise
            return bool(np.isin(self.node[counting], self.model.leaves(refused)).all())
        # A row has one leaf of each tree, and their weights add up to what is needed.
        begin = np.flatnonzero(np.diff(self.tree[counting], prepend=-1))
        short = (np.maximum.reduceat(w[counting], begin).sum() < n for w, n in self.rows)
        return begin.size < self.begin.size or any(short)

    def part(self, box: Box, axis: int, first: int, last: int) -> Box:
        """The rows of a box whose level of a column is within first..last; None for none."""
        if box is None or max(box[0][axis], first) > min(box[1][axis], last):
            return None
        lo, hi, live = box[0].copy(), box[1].copy(), box[2]
        lo[axis], hi[axis] = max(lo[axis], first), min(hi[axis], last)
        for group in (group for group in self.groups if axis in group):
            if lo[group].sum() > 1 or not hi[group].any():
                return None
            # A category that is sure excludes the others; the only one left is sure.
            sure = lo[group] if lo[group].any() else hi[group]
            if sure.sum() == 1:
                lo[group] = hi[group] = sure
        return lo, hi, live

    def check(self, target: int, lead: float, work: float, refused: Any, steps: str) -> None:
        """Walk through the tree of boxes for a class; RejectedError if it is not closed."""
        self._weigh(target, lead)
        rows = np.array(refused, dtype=float).reshape(-1, self.size.size)
        demand(not rows.size or target not in self.model.decide(rows), "a refused row is wanted")
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(base64.b64decode(steps, validate=True), MOST_BYTES)
        demand(unpacked.eof, "the steps are cut off, or too many")
        lines = io.TextIOWrapper(io.BytesIO(text), "ascii")  # as text all at once they take GBs
        box: Box = (np.zeros_like(self.size), self.size - 1, np.arange(self.tree.size))
        waiting, held, looks = list[Box](), 0, 1 + len(self.bounds)
        for number, line in enumerate(iter(lambda: lines.readline(1000).strip(), ""), 1):
            self.work += looks * (1000 + self.cost.size // 16)
            demand(self.work <= work, "the steps are more work than is allowed; --work allows more")
            what, *told = line.split()
            if what in ("low", "high"):  # both sides hold all of the box: one is next, one waits
                axis, v = map(int, told)
                sides = self.part(box, axis, 0, v), self.part(box, axis, v + 1, self.size.max())
                box, other = sides if what == "low" else sides[::-1]
                waiting.append(other)
                held += 100 + sum(map(np.size, other or ()))
                demand(held <= MOST_HELD, "too many boxes wait")
            elif what == "filter":  # a leaf that does not count in a box counts in no part of it
                box = box and (*box[:2], self.counting(*box))
            elif what in ("within", "need"):
                self.charge(what, list(map(int, told[:-1])), Fraction(float(told[-1])))
            else:
                demand(what in ("close", "refused"), f"step {number}, {line!r}, is not known")
                closed = self.closes(box, rows[int(told[0])] if what == "refused" else None)
                demand(closed, f"step {number}, {line!r}, does not hold")
                if not waiting:
                    demand(not lines.read(1), "steps go on after the last box is closed")
                    return
                box = waiting.pop()
                held -= 100 + sum(map(np.size, box or ()))
        raise RejectedError("a box is left open at the end")


def words(feature: Any, value: float, other: float) -> tuple[float, Any]:
    """A value that changes to another or from it, and its name where there is one."""
    place = value if feature["kind"] == "categorical" else value > other
    return value, feature["labels"][int(place)] if feature["labels"] else value


def distance(question: Any, query: Array, row: Array, told: Any) -> float:
    """What an answer costs; RejectedError if it is not admissible, or told to change otherwise."""
    paid, moved, power = [], {}, float(question["power"])
    for k, feature in enumerate(question["features"]):
        start, value = value_of(feature, query), value_of(feature, row)
        own = costs_of(feature, start, power, [math.nextafter(value, -math.inf), value])
        demand(value in own, f"{feature['name']} of the answer is not admissible")
        paid.append(own[value])
        if value != start:
            ends = words(feature, start, value), words(feature, value, start)
            moved[k] = {"feature": [feature["name"]], "before": ends[0], "after": ends[1]}
    for limit in question["max_changes"]:
        named = moved if limit["features"] is None else limit["features"]
        demand(len(moved.keys() & named) <= limit["count"], "the answer changes too much")
    for known, own in zip(moved.values(), told, strict=True):
        demand(all(own[key] in each for key, each in known.items()), "the answer changes otherwise")
    return float(max(paid) if math.isinf(power) else sum(paid))


def check(record: Any, model: Any, work: float = MOST_WORK) -> str:
    """What a record proves of a fitted model, as a sentence; RejectedError if it proves nothing."""
    question, proof, answer, status = (record[k] for k in ("question", "proof", "answer", "status"))
    demand(record["version"] == 1, "this is no record of version 1")
    demand(proof is not None, f"the record has no proof: {record['why_no_proof']}")
    own, query, target = read(model), np.array(record["query"], float), question["target"]
    demand(own.digest() == record["model"]["trees"], "the record is about another model's trees")
    now, names = own.decide(query[None, :])[0], getattr(model, "feature_names_in_", None)
    demand(names is None or [*names] == record["columns"], "the columns are not the model's")
    demand(record["query_class"] == own.labels[now], "the query is decided otherwise")
    wanted = [k for k, x in enumerate(own.labels) if (k != now if target is None else x == target)]
    below, lead = proof["below"] and float(proof["below"]), float(question["lead"])
    power, norm = float(question["power"]), question["norm"]
    same = power == (1 if norm == "own" else float(norm)) >= 0 and not 100 < power < math.inf
    demand(same, "the power is not that of the norm, or too large")
    demand(lead >= 0 and (below is None or 0 <= below < math.inf), "a bound is no number from 0 on")
    if answer is None:
        holds = status == ("infeasible" if below is None else "unknown")
    else:
        row, told = np.array(answer["row"], float), float(record["distance"])
        cost = distance(question, query, row, answer["changes"])
        decided = own.decide(row[None, :], lead)[0]
        demand(abs(cost - told) <= GAP * cost, f"the answer costs {cost!r}, not {told!r}")
        demand(decided in wanted, "the model does not decide the answer as wanted")
        demand(answer["class"] == own.labels[decided], "the answer is decided otherwise")
        at_least = {"optimal": told * (1 - GAP), "feasible": 0.0}.get(status, math.inf)
        holds = below is not None and at_least <= below <= told
    told = record["lower_bound"]
    holds &= below is None if told is None else float(told) * (1 - GAP) <= (below or 0)
    demand(holds, f"with this answer and this bound nothing is {status}")
    whole = wanted and len(proof["covers"]) == (len(wanted) if below != 0 else 0)
    demand(whole, "not every class that is wanted has a cover")
    cover = Cover(own, question, query, below)
    for k, told in zip(wanted, proof["covers"], strict=below != 0):
        cover.check(k, lead, work, **told)
    cheaper = "" if below is None else f" cheaper than {below!r}"
    named = " or ".join(repr(own.labels[k]) for k in wanted)
    named += f" by a lead of {lead!r}" if lead else ""
    return f"verified: no admissible row{cheaper} is decided as {named} by this model"


def load(path: str, trusted: bool) -> Any:
    """A model from its file, by its own library."""
    if path.endswith((".json", ".ubj")):
        model = __import__("xgboost").XGBClassifier()
        model.load_model(path)
        return model
    if path.endswith(".skops"):
        skops = __import__("skops.io").io
        return skops.load(path, trusted=skops.get_untrusted_types(file=path) if trusted else [])
    demand(trusted, f"{path} is a pickle, which can run any code; say --trust-pickle to load it")
    return __import__("joblib").load(path)


def main() -> int:
    """Check the records of a file, one a line or one in all; 0 if all of them hold."""
    parser = argparse.ArgumentParser("counterfolio-check", description=__doc__)
    parser.add_argument("records", help=".json, .jsonl, or either with .gz")
    parser.add_argument("--model", required=True, help=".json, .ubj, .skops, a pickle")
    parser.add_argument("--trust-pickle", action="store_true", help="load files that can run code")
    parser.add_argument("--work", type=float, default=MOST_WORK, help="most of a record's, 1e10")
    given, wrong, number = parser.parse_args(), 0, 0
    try:
        model = load(given.model, given.trust_pickle)
        with (gzip.open if given.records.endswith(".gz") else open)(given.records, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_BYTES), b""), 1):
                try:
                    demand(line.count(b",") < MOST_VALUES, "the record has too many values")
                    record = json.loads(line)  # in a batch it is within an answer
                    said = check(record.get("record", record), model, given.work)
                except Exception as error:  # whatever went wrong, nothing is verified
                    kind = "" if isinstance(error, RejectedError) else f"{type(error).__name__}: "
                    said, wrong = f"not verified: {repr(kind + str(error))[1:-1]}", wrong + 1
                sys.stdout.write(f"{number}: {said}\n")
    except Exception as error:  # a pickle may raise anything
        sys.stderr.write(f"counterfolio-check: {error}\n")
        return 2
    return 0 if number and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
