"""Check records of counterfolio. One file: numpy, and the library that made the model.

A record claims: no admissible row cheaper than ``below`` is decided as wanted. ``docs/proofs.md``
has its format, and why the rules are sound. All is computed anew here, in whole numbers.
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
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Box = tuple[Array, Array, Array]  # first and last levels, leaves that may count
ONE, DEAREST = 2**40, 2**46  # whole units of cost in "below"; no level costs more than so many
LOWERED, TINY = Fraction(2**44 - 1, 2**44), 2.0**-1000  # powers that are not whole are off by less
FURTHEST = math.nextafter(2.0**128 - 2.0**103, 0.0)  # that float32 has, rounded to its largest
# Of a distance: what "optimal" leaves open; of scores added up here; of a lead what is enough.
GAP, SUMMED, SHARE = 4e-9, 1e-9, 0.9
# Of steps; numbers in boxes that wait; limits and values of a record; leaves' columns looked at.
MOST_BYTES, MOST_HELD, MOST_LIMITS, MOST_VALUES, MOST_WORK = 2**28, 10**8, 10**3, 10**6, 10**10
NEVER = -(2**62)  # less than any leaf or level weighs


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
        last, column, left, right, score = map(np.concatenate, zip(*trees, strict=True))
        inner, own, first = left >= 0, np.arange(left.size), np.repeat(self.root, sizes)
        self.column, self.score = np.where(inner, column, -1), np.where(inner[:, None], 0.0, score)
        self.left, self.right = np.where(inner, [left + first, right + first], own)
        # What goes left: the largest float64 that float32 rounds to at most the threshold.
        value = last.astype(np.float32)
        value = np.where(value > last, np.nextafter(value, np.float32(-np.inf)), value)
        after = np.nextafter(value, np.float32(np.inf)).astype(float)
        middle = np.where(after == np.inf, np.inf, (value.astype(float) + after) / 2)
        rounded = middle.astype(np.float32) <= value
        self.last = np.where(inner, np.where(rounded, middle, np.nextafter(middle, -np.inf)), 0.0)
        demand(not np.isnan(self.last).any(), "a threshold is no number")
        most = np.maximum.reduceat(np.abs(self.score), self.root).sum(axis=0) + np.abs(bias)
        told = np.append(self.score, bias).tolist()
        self.grid = 1 / max(number.as_integer_ratio()[1] for number in told)  # divides them all
        self.scale = 2.0 ** (57 - math.ceil(math.log2(float(most.sum()) + 1)))
        self.exact = most.max() < self.grid / unit / 8 and shift < self.grid / 4
        self.band = 1.01 * unit * (len(trees) + terms) * float(np.sort(most)[-2:].sum()) + shift
        nodes = self.root, self.column, self.last, self.left, self.right, self.score, bias
        self.digest = hashlib.sha256(b"".join(a.astype("<f8").tobytes() for a in nodes)).hexdigest()

    def needed(self, target: int, rival: int) -> Fraction:
        """The exact lead below which a class can't win: the first wins ties, floats have a band."""
        return Fraction((0 if target < rival else self.grid) if self.exact else -self.band)

    def leaves(self, row: Array) -> Array:
        """The leaf of each tree that a row ends in."""
        at = self.root
        while (self.column[at] >= 0).any():
            at = np.where(row[self.column[at]] <= self.last[at], self.left[at], self.right[at])
        return at

    def decide(self, rows: Array, lead: float = 0.0) -> list[int]:
        """The classes that the library predicts, which have to be those of the trees read here."""
        demand(np.isfinite(rows.astype(np.float32)).all(), "a row holds what is no float32")
        told = [self.labels.index(label) for label in self.predict(rows).tolist()]
        for row, own in zip(rows, told, strict=True):
            total = self.score[self.leaves(row)].sum(axis=0) + self.bias
            for k in set(range(total.size)) - {own}:
                ahead = SHARE * lead or self.needed(own, k) - SUMMED
                demand(total[own] - total[k] >= ahead, "a row's trees decide otherwise, or less")
        return told


def read_xgboost(model: Any) -> Model:
    """XGBoost adds float32 and compares probabilities; a split sends what is below it left."""
    best = getattr(model, "best_iteration", None)
    booster = model.get_booster() if best is None else model.get_booster()[: best + 1]
    learner, trees = json.loads(bytes(booster.save_raw("json")))["learner"], list[Any]()
    grown = learner["gradient_booster"]
    n_classes = max(2, int(learner["learner_model_param"]["num_class"]))
    objective, made = learner["objective"]["name"], grown.get("model", {}).get("trees", [])
    known = made != [] and grown["name"] == "gbtree" and math.isnan(model.missing)
    known &= objective == ("multi:softprob" if n_classes > 2 else "binary:logistic")
    plain = (t["tree_param"]["size_leaf_vector"] in "01" and not any(t["split_type"]) for t in made)
    demand(known and all(plain), f"xgboost models such as this one of {objective} are not read")
    for own, info in zip(made, grown["model"]["tree_info"], strict=True):
        value = np.array(own["split_conditions"], np.float32)
        score, last = np.zeros((value.size, n_classes)), np.nextafter(value.astype(float), -np.inf)
        score[:, info if n_classes > 2 else 1] = value
        nodes = (np.array(own[k]) for k in ("split_indices", "left_children", "right_children"))
        trees.append((last, *nodes, score))
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
    trees, alone = list[Any](), copy.copy(model)
    alone.n_jobs = 1  # several threads add in any order
    vars(alone).pop("feature_names_in_", None)  # arrays have none
    for own in (tree.tree_ for tree in getattr(model, "estimators_", [model])):
        children = own.children_left.astype(int), own.children_right.astype(int)
        trees.append((own.threshold, own.feature, *children, own.value[:, 0, :]))
    classes, rounding = model.classes_.tolist(), (2.0**-53, 8, 0.0)
    return Model(trees, np.zeros(len(classes)), classes, rounding, alone.predict)


def read(model: Any) -> Model:
    """The trees of a fitted model; RejectedError where no reader of this file knows its type."""
    kind = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    forests = ("DecisionTree", "ExtraTree", "ExtraTrees", "RandomForest")
    readers = {f"sklearn.{name}Classifier": read_forest for name in forests}
    readers |= {f"xgboost.{name}Classifier": read_xgboost for name in ("XGB", "XGBRF")}
    demand(kind in readers, f"models of type {kind} are not read by this checker")
    return readers[kind](model)


def value_of(feature: Any, row: Array) -> float:
    """A feature's value in a row; of a one-hot group the place of its category."""
    own, one_hot = row[feature["columns"]].tolist(), feature["kind"] == "categorical"
    whole = sorted(own) == [0] * (len(own) - 1) + [1] if one_hot else len(own) == 1
    demand(whole, f"{feature['name']} has no value in a row")
    return float(own.index(1) if one_hot else own[0])


def costs_of(feature: Any, start: float, power: float, edges: list[float]) -> dict[float, Fraction]:
    """What a feature may become, of each cell between edges at least the nearest, and its cost."""
    one_hot, listed = feature["kind"] == "categorical", feature["values"]
    listed = range(len(feature["columns"])) if one_hot and listed is None else listed
    weight, unit = Fraction(float(feature["weight"])), Fraction(float(feature["unit"]))
    step, told = Fraction(repr(float(feature["step"] or 0))), feature["prices"] or ()
    table = {float(value): Fraction(float(paid)) for value, paid in told}
    lower = -FURTHEST if feature["lower"] is None else max(float(feature["lower"]), -FURTHEST)
    upper = FURTHEST if feature["upper"] is None else min(float(feature["upper"]), FURTHEST)
    holds = min(weight, step, *table.values()) >= 0 < unit and len(table) == len(told)
    demand(holds and lower >= -math.inf <= upper, f"a cost of {feature['name']} is below 0 or NaN")
    # Not what is nearest is cheapest then.
    demand(listed is not None or not table, f"{feature['name']} has prices, no values")
    ends = {edge if edge < start else math.nextafter(edge, math.inf) for edge in edges} | {start}
    near = {min(max(end, lower), upper) for end in ends} if listed is None else map(float, listed)
    if listed is None and step > 0:  # multiples on both sides
        below = {math.floor(Fraction(end) / step) for end in near}
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
    """Levels of columns, leaves as boxes of them, and the tree of boxes with all cheap rows."""

    def __init__(self, model: Model, question: Any, query: Array, below: Any, work: float) -> None:
        self.model, self.work, features = model, work, question["features"]
        columns, power = sorted(c for own in features for c in own["columns"]), question["power"]
        whole = columns == list(range(query.size)) and set(map(type, columns)) == {int}
        demand(whole and model.column.max() < query.size < 2**16, "features are not the model's")
        edges = [np.unique(model.last[model.column == column]).tolist() for column in columns]
        levels: list[dict[int, tuple[int, int, float]]] = [{} for _ in columns]
        for number, feature in enumerate(features, 1):
            own, start = feature["columns"], value_of(feature, query)
            for value, paid in costs_of(feature, start, float(power), edges[own[0]]).items():
                units = min(int(paid / Fraction(below) * ONE), DEAREST) if below else 0
                # The largest change is below the bound if each is: it costs all or nothing.
                units = units // ONE * ONE if math.isinf(float(power)) else units
                told = units, number * (value != start), value
                if feature["kind"] == "categorical":  # a column for each, with levels no and yes
                    for place, column in enumerate(own):
                        yes = place == value
                        levels[column][yes] = (*told[:2], 1.0) if yes else (0, 0, 0.0)
                else:
                    cell = int(np.searchsorted(edges[own[0]], value))
                    levels[own[0]][cell] = min(levels[own[0]].get(cell, told), told)
        self.size = np.array([len(own) for own in levels], np.int32)
        demand(self.size.all(), "a feature has no admissible value")
        self.start = np.cumsum(self.size) - self.size
        flat = [own[cell] for own in levels for cell in sorted(own)]
        cost, changed, values = (np.append(each, 0) for each in zip(*flat, strict=True))
        # The most of 1, 2, 4, ... levels from each on: two of these cover any range.
        self.most = np.array([-cost] * int(self.size.max()).bit_length())
        for k in range(1, len(self.most)):
            self.most[k] = np.maximum(self.most[k - 1], np.roll(self.most[k - 1], -(2 ** (k - 1))))
        groups = (np.array(f["columns"]) for f in features if f["kind"] == "categorical")
        self.groups = [own[self.size[own] == 2] for own in groups if (self.size[own] == 2).any()]
        self.alone = ~np.isin(columns, [column for group in self.groups for column in group])
        cut = np.zeros(model.column.size, int)  # levels that go left
        for column, own in enumerate(np.split(values[:-1], self.start[1:])):
            here = model.column == column
            cut[here] = np.searchsorted(own, model.last[here], side="right")
        self._grow(cut)
        # What rows need that are cheap and admissible: of levels, of leaves, and how much of both.
        self.limits = [(-cost, 0 * self.tree, 1 - ONE)]
        for limit in question["max_changes"][:MOST_LIMITS]:
            named = range(len(features)) if limit["features"] is None else limit["features"]
            counted = np.isin(changed, [place + 1 for place in named if place >= 0])
            self.limits.append((-counted.astype(int), 0 * self.tree, -int(limit["count"])))

    def _grow(self, cut: Array) -> None:
        """The leaves that an admissible row can get to, as boxes of levels."""
        model, inner = self.model, self.model.root
        lo, hi = (np.tile(end, (cut.size, 1)) for end in (self.size, self.size - 1))  # empty
        lo[inner] = 0
        while (inner := inner[model.column[inner] >= 0]).size:
            left, right, axis = model.left[inner], model.right[inner], model.column[inner]
            lo[left], hi[left] = lo[right], hi[right] = lo[inner], hi[inner]
            hi[left, axis] = np.minimum(hi[left, axis], cut[inner] - 1)
            lo[right, axis] = np.maximum(lo[right, axis], cut[inner])
            inner = np.append(left, right)
        kept = (model.column < 0) & (lo <= hi).all(axis=1)
        for group in self.groups:  # exactly one of its columns is a yes
            kept &= (lo[:, group].sum(axis=1) <= 1) & hi[:, group].any(axis=1)
        self.node, self.lo, self.hi = np.flatnonzero(kept), lo[kept].T.copy(), hi[kept].T.copy()
        self.tree = np.searchsorted(model.root, self.node, side="right") - 1
        # Most columns are whole in a leaf: those that are not come first, the others are left out.
        literal = (self.lo > 0) | (self.hi < self.size[:, None] - 1)
        self.axis = np.argsort(~literal.T, axis=1, kind="stable")[:, : literal.sum(axis=0).max()]

    def charge(self, price: Fraction, place: list[int]) -> None:
        """Add to what rows cost something that is true of those that are wanted, times a price."""
        others = len(self.limits) + self.model.bias.size - 2  # that follow cost, and its prices
        levels, leaves, least = (self.needs[1:-others] or self.limits)[0]
        unit = price / Fraction(self.model.scale)
        self.charged += price if len(place) == 4 else unit * 2**58
        demand(price >= 0 <= min(place) and self.charged < 2**61, "a price is below 0 or too large")
        self.work -= levels.size + 10 * leaves.size
        if len(place) == 4:  # they are within levels of a column if their leaf of a tree is
            tree, column, first, last = place
            level, own = np.arange(levels.size) - self.start[column], self.tree == tree
            demand(own.any() and last < self.size[column], "a price is on no tree, or no level")
            inside = own & (self.lo[column] >= first) & (self.hi[column] <= last)
            levels = levels + int(price) * ((first <= level) & (level <= last))
            leaves = leaves - int(price) * inside
        else:
            (rival,) = place
            _, weight, needed = self.needs[1 - self.model.bias.size :][rival]
            gain = -(-weight.astype(object) * unit.numerator // unit.denominator)
            leaves, least = leaves + gain.astype(int), least + math.floor(needed * unit)
        self.needs[1:-others] = [(levels, leaves, least)]

    def reach(self, need: Any, lo: Array, hi: Array, leaf: Array, begin: Array) -> Any:
        """The most of each column and of each tree in boxes, and by how much all pass a need."""
        ends = np.stack([self.start + lo, self.start + hi + 1], axis=-1)
        own = np.maximum.reduceat(need[0], ends.ravel())[::2].reshape(lo.shape)
        best, room = np.maximum.reduceat(leaf, begin, axis=-1), own.sum(axis=-1) - need[2]
        for group in self.groups:  # exactly one of its columns is a yes, of those that may be
            no, yes = need[0][self.start[group]], need[0][self.start[group] + 1]
            may = hi[..., group] & (lo[..., group].sum(axis=-1, keepdims=True) == lo[..., group])
            room = room + np.where(may, yes - no, NEVER).max(axis=-1)
            room = room + no.sum() - own[..., group].sum(axis=-1)
        return own, best, room + best.sum(axis=-1)

    def look(self, box: Box, told: Array) -> tuple[Box, list[Box], Array]:
        """A box less parts, with leaves that count; the parts, and which of them hold no row."""
        (lo, hi, live), (column, at, low) = box, told.T[:, :, None]
        here = np.arange(lo.size) == column
        demand((here & (lo <= at) & (at < hi)).any(axis=1).all(), "a part is not in its box")
        lower: Array = np.where(here & (low == 0), at + 1, lo)
        upper: Array = np.where(here & (low > 0), at, hi)
        axis, closed = self.axis[live], np.zeros(len(told), bool)
        looked = live.size + closed.size * (live.size + self.start[-1])
        self.work -= axis.size + looked * len(self.needs)
        first: Array = np.maximum(lo[axis], self.lo[axis, live[:, None]])
        last: Array = np.minimum(hi[axis], self.hi[axis, live[:, None]])
        kept = (first <= last).all(axis=1)
        live, axis, first, last = (each[kept] for each in (live, axis, first, last))
        for number, need in enumerate(self.needs):
            tree, leaf = self.tree[live], need[1][live]
            begin = np.flatnonzero(np.diff(tree, prepend=-1))
            if begin.size < self.model.root.size:
                live, closed[:] = live[:0], True
                break
            if closed.size:
                fits = self.lo[column[:, 0]][:, live] <= upper[here][:, None]
                fits &= self.hi[column[:, 0]][:, live] >= lower[here][:, None]
                _, best, room = self.reach(need, lower, upper, np.where(fits, leaf, NEVER), begin)
                closed |= (best == NEVER).any(axis=1) | (room < 0)
            own, best, room = self.reach(need, lo, hi, leaf, begin)
            missed = best[tree] - leaf  # with the best leaves of other trees
            if number == 0:  # with the cheapest levels that are in both boxes
                k, start = np.frexp(last - first + 1.0)[1] - 1, self.start[axis]
                two = self.most[k, start + first], self.most[k, start + last + 1 - (1 << k)]
                missed = np.where(self.alone[axis], own[axis] - np.maximum(*two), 0).sum(axis=1)
            live = live[missed <= room]
        parts = [(*ends, live) for ends in zip(lower, upper, strict=True)]
        less = np.vstack([lo, np.where(here & (low > 0), at + 1, lo)]).max(axis=0)
        more = np.vstack([hi, np.where(here & (low == 0), at, hi)]).min(axis=0)
        return (less, more, live), parts, closed

    def check(self, target: int, lead: float, refused: Any, steps: str) -> None:
        """Walk through the tree of boxes for a class; RejectedError if it is not closed."""
        score, bias, scale = self.model.score[self.node], self.model.bias, self.model.scale
        self.needs, self.charged = [*self.limits], Fraction(0)  # no prices yet
        for rival in (k for k in range(bias.size) if k != target):
            # Weights are rounded up and what is needed down, so that nothing that wins is lost.
            won, lost = np.ceil(score[:, target] * scale), np.floor(score[:, rival] * scale)
            least = Fraction(lead) if lead else self.model.needed(target, rival)
            least += Fraction(bias[rival]) - Fraction(bias[target])
            weight = won.astype(int) - lost.astype(int)
            self.needs.append((0 * self.most[0], weight, math.floor(least * Fraction(scale))))
        rows = np.array(refused, dtype=float).reshape(-1, self.size.size)
        demand(not rows.size or target not in self.model.decide(rows), "a refused row is wanted")
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(base64.b64decode(steps, validate=True), MOST_BYTES)
        demand(unpacked.eof, "the steps are cut off, or too many")
        lines = io.TextIOWrapper(io.BytesIO(text), "ascii")  # as text all at once they take GBs
        waiting = [(0 * self.size, self.size - 1, np.arange(self.tree.size))]
        most = MOST_HELD // (100 + 2 * self.size.size + self.tree.size)
        for number, line in enumerate(iter(lambda: lines.readline(1000).strip(), ""), 1):
            demand(0 < len(waiting) <= most, "steps go on without a box, or too many boxes wait")
            self.work -= len(self.needs) * (1000 + self.most[0].size // 16)
            demand(self.work >= 0, "the steps are more work than is allowed; --work allows more")
            what, *told = line.split()
            if what == "price":
                self.charge(Fraction(float(told[-1])), list(map(int, told[:-1])))
                continue
            parted = what in ("cut", "split")
            demand(parted or what in ("close", "refused"), f"step {number}, {line!r}, is not known")
            box, parts, shut = self.look(waiting.pop(), np.array(told * parted, int).reshape(-1, 3))
            if not parted:  # no leaf counts, or all are of a row that is decided otherwise
                own = self.model.leaves(rows[int(told[0])]) if told else self.node[:0]
                shut = np.isin(self.node[box[2]], own)
            demand(what == "split" or shut.all(), f"step {number}, {line!r}, does not hold")
            waiting += (parts if what == "split" else []) + [box] * parted
        demand(not waiting, "a box is left open at the end")


def distance(question: Any, query: Array, row: Array, told: Any) -> float:
    """What an answer costs; RejectedError if it is not admissible, or told to change otherwise."""
    paid, moved, power = [], {}, float(question["power"])
    for k, feature in enumerate(question["features"]):
        ends, labels = (value_of(feature, query), value_of(feature, row)), feature["labels"]
        own = costs_of(feature, ends[0], power, [math.nextafter(ends[1], -math.inf), ends[1]])
        demand(ends[1] in own, f"{feature['name']} of the answer is not admissible")
        paid.append(own[ends[1]])
        if ends[0] != ends[1]:
            places = ends if feature["kind"] == "categorical" else np.argsort(ends)
            moved[k] = [feature["name"], *([labels[int(x)] for x in places] if labels else ends)]
    for limit in question["max_changes"]:
        named = moved if limit["features"] is None else limit["features"]
        demand(len(moved.keys() & named) <= limit["count"], "the answer changes too much")
    changes = [[own["feature"], own["before"], own["after"]] for own in told]
    demand(changes == [*moved.values()], "the answer changes otherwise")
    return float(max(paid) if math.isinf(power) else sum(paid))


def check(record: Any, model: Any, work: float = MOST_WORK) -> str:
    """What a record proves of a fitted model, as a sentence; RejectedError if it proves nothing."""
    question, proof, answer, status = (record[k] for k in ("question", "proof", "answer", "status"))
    demand(record["version"] == 2, "this is no record of version 2")
    demand(proof is not None, f"the record has no proof: {record['why_no_proof']}")
    own, query, target = read(model), np.array(record["query"], float), question["target"]
    demand(own.digest == record["model"]["trees"], "the record is about another model's trees")
    now, names = own.decide(query[None, :])[0], getattr(model, "feature_names_in_", None)
    demand(names is None or [*names] == record["columns"], "the columns are not the model's")
    demand(record["query_class"] == own.labels[now], "the query is decided otherwise")
    wanted = [k for k, x in enumerate(own.labels) if (k != now if target is None else x == target)]
    below, lead = proof["below"] and float(proof["below"]), float(question["lead"])
    power = 1 if question["norm"] == "own" else float(question["norm"])
    same = float(question["power"]) == power >= 0 and not 100 < power < math.inf
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
    cover = Cover(own, question, query, below, work)
    for k, told in zip(wanted, proof["covers"], strict=below != 0):
        cover.check(k, lead, **told)
    cheaper = "" if below is None else f" cheaper than {below!r}"
    named = " or ".join(repr(own.labels[k]) for k in wanted)
    named += f" by a lead of {lead!r}" if lead else ""
    return f"verified: no admissible row{cheaper} is decided as {named} by this model"


def main() -> int:
    """Check the records of a file, one a line or one in all; 0 if all of them hold."""
    parser = argparse.ArgumentParser("counterfolio-check", description=__doc__)
    parser.add_argument("records", help=".json, .jsonl, or either with .gz")
    parser.add_argument("--model", required=True, help=".json, .ubj, .skops, a pickle")
    parser.add_argument("--trust-pickle", action="store_true", help="load files that can run code")
    parser.add_argument("--work", type=float, default=MOST_WORK, help="most of a record's, 1e10")
    given, wrong, number = parser.parse_args(), 0, 0
    try:
        trusted, path = given.trust_pickle, given.model
        if path.endswith((".json", ".ubj")):
            model = __import__("xgboost").XGBClassifier()
            model.load_model(path)
        elif path.endswith(".skops"):
            skops = __import__("skops.io").io
            model = skops.load(path, trusted=trusted * skops.get_untrusted_types(file=path))
        else:
            demand(trusted, f"pickles can run any code; say --trust-pickle to load {path}")
            model = __import__("joblib").load(path)
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
    except KeyboardInterrupt:
        sys.stderr.write("counterfolio-check: interrupted, the rest was not checked\n")
        return 130
    return 0 if number and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
