"""Check records of counterfolio. One file: numpy, and the library that made the model.

A record claims: no admissible row cheaper than ``below`` is decided as wanted. ``docs/proofs.md``
has its format, and why the rules are sound. All is computed anew here, in whole numbers.
"""

import argparse
import base64
import copy
import gzip
import hashlib
import json
import math
import re
import sys
import zlib
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ONE, DEAREST = 2**40, 2**46  # whole units of cost in "below"; no level costs more than so many
LOWERED, TINY = Fraction(2**44 - 1, 2**44), 2.0**-1000  # powers that are not whole are off by less
FURTHEST = math.nextafter(2.0**128 - 2.0**103, 0.0)  # that float32 has, rounded to its largest
# Of a distance: what "optimal" leaves open; of scores added up here; of a lead what is enough.
GAP, SUMMED, SHARE = 4e-9, 1e-9, 0.9
# Of steps; numbers in boxes that wait; limits and values of a record; leaves' columns looked at.
MOST_BYTES, MOST_HELD, MOST_LIMITS, MOST_VALUES, MOST_WORK = 2**28, 10**8, 10**3, 10**6, 10**10
NEVER = -(2**62)  # less than any leaf or level weighs
STEP = rb"(close|refused N|(?:cut|split)(?: N N [01]){,60}|price(?: N N N)? N N)(?:\n|\Z)"
STEP = STEP.replace(b"N", rb"\d{1,18}")
# The form of what counts in a record; (form, other) is also null, which means the other.
BOUND, VALUES = (float, math.inf), ([float], None)
FEATURE = {"name": str, "kind": str, "columns": [int], "labels": [str], "stay": bool}
FEATURE |= {"lower": (float, -FURTHEST), "upper": (float, FURTHEST), "step": (float, 0.0)}
FEATURE |= {"unit": float, "weight": float, "values": VALUES, "prices": VALUES}
CHANGES = [dict.fromkeys(("feature", "before", "after"), object)]
QUESTION = {"target": object, "power": BOUND, "lead": float, "features": [FEATURE]}
QUESTION |= {"max_changes": [{"count": int, "features": [int]}]}
RECORD = {"columns": [str], "query": [float], "query_class": object, "model": {"trees": str}}
RECORD |= {"question": QUESTION, "status": str, "distance": BOUND, "lower_bound": BOUND}
RECORD |= {"answer": ({"row": [float], "class": object, "changes": CHANGES}, None)}
RECORD |= {"proof": {"below": BOUND, "covers": [{"refused": [[float]], "steps": str}]}}


class RejectedError(Exception):
    """The record does not prove what it claims; the message says where."""


def demand(holds: object, otherwise: str) -> None:
    """RejectedError unless something holds."""
    if not holds:
        raise RejectedError(otherwise)


def formed(told: Any, form: Any, where: str) -> Any:
    """A part of a record in its form; RejectedError if it has another."""
    if isinstance(form, tuple):
        return form[1] if told is None else formed(told, form[0], where)
    if isinstance(form, dict):
        demand(isinstance(told, dict) and told.keys() >= form.keys(), f"{where} lacks {[*form]}")
        return {name: formed(told[name], own, f"{where}.{name}") for name, own in form.items()}
    if isinstance(form, list):
        demand(isinstance(told, list), f"{where} is no list")
        return [formed(each, form[0], f"{where}[{number}]") for number, each in enumerate(told)]
    known = form is object or type(told) is form or (form is float and type(told) is int)
    demand(known, f"{where} is no {form.__name__}")
    fits = 0 <= told < ONE if form is int else form is not float or abs(told) <= sys.float_info.max
    demand(fits, f"{where} is too large, below 0 or no number")
    return float(told) if form is float else told


class Model:
    """Trees as flat nodes, of which a leaf has column -1, and the library's own model."""

    def __init__(self, trees: Any, bias: Array, labels: Any, rounding: Any, native: Any) -> None:
        sizes, (unit, terms, shift) = [len(tree[0]) for tree in trees], rounding
        self.bias, self.labels, self.native = bias, labels, native
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
        grid = 1 / max(number.as_integer_ratio()[1] for number in told)  # divides them all
        self.scale = 2.0 ** (57 - math.ceil(math.log2(float(most.sum()) + 1)))
        exact = most.max() < grid / unit / 8 and shift < grid / 4
        band = 1.01 * unit * (len(trees) + terms) * float(np.sort(most)[-2:].sum()) + shift
        # The lead below which a class can't win: of sums that are exact the first wins ties.
        self.needed = grid * np.tri(bias.size, k=-1) if exact else np.full(2 * bias.shape, -band)
        nodes = self.root, self.column, self.last, self.left, self.right, self.score, bias
        self.digest = hashlib.sha256(b"".join(a.astype("<f8").tobytes() for a in nodes)).hexdigest()

    def leaves(self, row: Array) -> Array:
        """The leaf of each tree that a row ends in."""
        at = self.root
        while (self.column[at] >= 0).any():
            at = np.where(row[self.column[at]] <= self.last[at], self.left[at], self.right[at])
        return at

    def decide(self, told: Any, lead: float = 0.0) -> list[int]:
        """The classes that the library predicts, which have to be those of the trees read here."""
        columns = self.native.n_features_in_
        demand({len(row) for row in told} == {columns}, f"a row does not have {columns} values")
        rows = np.array(told, float)
        demand(np.isfinite(rows.astype(np.float32)).all(), "a row holds what is no float32")
        decided = [self.labels.index(label) for label in self.native.predict(rows).tolist()]
        for row, own in zip(rows, decided, strict=True):
            total = self.score[self.leaves(row)].sum(axis=0) + self.bias
            for k in set(range(total.size)) - {own}:
                ahead = SHARE * lead or self.needed[own, k] - SUMMED
                demand(total[own] - total[k] >= ahead, "a row's trees decide otherwise, or less")
        return decided


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
    return Model(trees, bias, list(range(n_classes)), (2.0**-24, 9, 2.0**-20), model)


def read_forest(model: Any) -> Model:
    """scikit-learn's trees read float32, and send what is at most the threshold left."""
    trees, alone = list[Any](), copy.copy(model)
    alone.n_jobs = 1  # several threads add in any order
    vars(alone).pop("feature_names_in_", None)  # arrays have none
    for own in (tree.tree_ for tree in getattr(model, "estimators_", [model])):
        children = own.children_left.astype(int), own.children_right.astype(int)
        trees.append((own.threshold, own.feature, *children, own.value[:, 0, :]))
    classes, rounding = model.classes_.tolist(), (2.0**-53, 8, 0.0)
    return Model(trees, np.zeros(len(classes)), classes, rounding, alone)


def read(model: Any) -> Model:
    """The trees of a fitted model; RejectedError where no reader of this file knows its type."""
    kind = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    known = re.fullmatch("sklearn.(DecisionTree|ExtraTrees?|RandomForest)Classifier", kind)
    boosted = kind in ("xgboost.XGBClassifier", "xgboost.XGBRFClassifier")
    demand(known or boosted, f"models of type {kind} are not read by this checker")
    return read_forest(model) if known else read_xgboost(model)


def value_of(feature: Any, row: Any) -> float:
    """A feature's value in a row; of a one-hot group the place of its category."""
    own, one_hot = [row[column] for column in feature["columns"]], feature["kind"] == "categorical"
    whole = sorted(own) == [0] * (len(own) - 1) + [1] if one_hot else len(own) == 1
    demand(whole, f"{feature['name']} has no value in a row")
    return float(own.index(1)) if one_hot else own[0]


def costs_of(feature: Any, start: float, power: float, edges: list[float]) -> dict[float, Fraction]:
    """What a feature may become, of each cell between edges at least the nearest, and its cost."""
    one_hot, places = feature["kind"] == "categorical", range(len(feature["columns"]))
    lower, upper, prices = feature["lower"], feature["upper"], feature["prices"] or []
    weight, unit, step = (Fraction(str(feature[name])) for name in ("weight", "unit", "step"))
    listed = [*places] if one_hot and feature["values"] is None else feature["values"]
    near, table = set(listed or ()), dict(zip(listed or (), prices, strict=False))
    sound = min(weight, step, *prices, 0) == 0 < unit and (near <= {*places} or not one_hot)
    priced = feature["prices"] is None or len(prices) == len(near) == len(listed or ())
    demand(sound and priced, f"{feature['name']} has a cost below 0, or values or prices are amiss")
    if listed is None:  # what is nearest is cheapest
        ends = {edge if edge < start else math.nextafter(edge, math.inf) for edge in edges}
        near = {min(max(end, lower), upper) for end in ends | {start}}
        if step > 0:  # multiples on both sides
            below = {math.floor(Fraction(end) / step) for end in near}
            near = {float((k + more) * step) for k in below for more in (0, 1)}
    costs, p = dict[float, Fraction](), 1.0 if math.isinf(power) else power
    largest = Fraction(TINY ** -min(1.0, 1 / max(p, TINY)))  # no power is too large for floats
    near = {value for value in near if lower <= value <= upper}
    for value in near | {start} if feature["stay"] else near:
        far = 1.0 if one_hot else float(min(abs(Fraction(value) - Fraction(start)) / unit, largest))
        paid = Fraction(far**p) * LOWERED if min(far, far**p) > TINY else 0
        costs[value] = weight * Fraction(table.get(value, paid)) * (value != start)
    return costs


class Cover:
    """Levels of columns, leaves as boxes of them, and the tree of boxes with all cheap rows."""

    def __init__(self, model: Model, question: Any, query: Any, below: float, work: float) -> None:
        self.model, self.work, self.groups, power = model, work, list[Array](), question["power"]
        edges = [np.unique(model.last[model.column == k]).tolist() for k in range(len(query))]
        levels: list[dict[int, tuple[int, int, float]]] = [{} for _ in query]
        # The largest change is below the bound if each is: it costs all or nothing.
        per_cost = ONE / Fraction(below) if 0 < below < math.inf else 0
        grain = ONE if power == math.inf else 1
        for number, feature in enumerate(question["features"], 1):
            own, start = feature["columns"], value_of(feature, query)
            costs = costs_of(feature, start, power, edges[own[0]])
            demand(costs, f"{feature['name']} has no admissible value")
            if one_hot := feature["kind"] == "categorical":  # a column for each, of no and yes
                for column in own:
                    levels[column][0] = 0, 0, 0.0
                self.groups.append(np.array([own[int(value)] for value in costs]))
            for value, paid in costs.items():
                units = min(int(paid * per_cost), DEAREST) // grain * grain
                told = units, number * (value != start), 1.0 if one_hot else value
                column = own[int(value) if one_hot else 0]
                cell = 1 if one_hot else int(np.searchsorted(edges[column], value))
                levels[column][cell] = min(levels[column].get(cell, told), told)
        self.size = np.array([len(own) for own in levels], np.int32)
        self.start = np.cumsum(self.size) - self.size
        flat = [own[cell] for own in levels for cell in sorted(own)]
        self.cost, changed, values = (np.append(each, 0) for each in zip(*flat, strict=True))
        self._grow(np.split(values[:-1], self.start[1:]))
        self.priced: Any = None
        # What rows need that are cheap and admissible: of levels, of leaves, and how much of both.
        self.limits: list[Any] = [(-self.cost, None, 1 - ONE)]
        for limit in question["max_changes"][:MOST_LIMITS]:
            counted = np.isin(changed, [place + 1 for place in limit["features"]]) & (changed > 0)
            self.limits.append((-counted.astype(int), 0 * self.tree, -limit["count"]))

    def _grow(self, values: list[Array]) -> None:
        """The leaves that an admissible row can get to, as boxes of levels."""
        model, inner = self.model, self.model.root
        cut = np.zeros(model.column.size, int)  # levels that go left
        for column, own in enumerate(values):
            here = model.column == column
            cut[here] = np.searchsorted(own, model.last[here], side="right")
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
        own = np.arange(self.node.size)[:, None]
        self.first, self.last = self.lo[self.axis, own], self.hi[self.axis, own]
        ends = np.stack([self.first, self.last + 1], axis=-1) + self.start[self.axis][:, :, None]
        self.cheap = np.maximum.reduceat(-self.cost, ends.ravel())[::2].reshape(self.axis.shape)
        self.cheap[np.isin(self.axis, [column for group in self.groups for column in group])] = 0

    def charge(self, price: int, place: list[int]) -> None:
        """Add to what rows cost something that is true of those that are wanted, times a price."""
        levels, leaves, least = self.priced or (-self.cost, 0 * self.tree, 1 - ONE)
        if len(place) == 4:  # they are within levels of a column if their leaf of a tree is
            tree, column, first, last = place
            known = column < self.size.size and last < self.size[column]
            demand(known and tree < self.model.root.size, "a price is on no tree, or no level")
            level, unit = np.arange(levels.size) - self.start[column], Fraction(price, 2**58)
            levels = levels + price * ((first <= level) & (level <= last))
            inside = (self.lo[column] >= first) & (self.hi[column] <= last)
            leaves = leaves - price * (inside & (self.tree == tree))
        else:
            demand(place[0] < len(self.leads), "a price is on no lead")
            _, weight, needed = self.leads[place[0]]
            unit = Fraction(price) / Fraction(self.model.scale)
            gain = -(-weight.astype(object) * unit.numerator // unit.denominator)
            leaves, least = leaves + gain.astype(int), least + math.floor(needed * unit)
        self.charged += unit * 2**58
        demand(self.charged < 2**61, "prices are too large")
        self.priced = levels, leaves, least
        self.needs = [self.limits[0], self.priced, *self.limits[1:], *self.leads]

    def look(self, box: Any, told: list[list[int]]) -> tuple[Any, list[Any], Array]:
        """A box less parts; these parts; and which of the whole box and them hold no such row."""
        (lo, hi, live), boxes = box, [box[:2]]
        for column, at, low in told:
            inside = column < lo.size and lo[column] <= at < hi[column]
            demand(inside, f"{column} {at} {low} is no part of the box")
            above, below = lo.copy(), hi.copy()
            above[column], below[column] = at + 1, at
            boxes.append((lo, below) if low else (above, hi))
            lo, hi = (above, hi) if low else (lo, below)
        axis, ends = self.axis[live], np.array(boxes)
        kept = ((box[0][axis] <= self.last[live]) & (box[1][axis] >= self.first[live])).all(axis=1)
        live, axis, los, his = live[kept], axis[kept], ends[:, 0], ends[:, 1]
        part, columns = np.arange(len(boxes)), [0, *(own[0] for own in told)]
        meets = self.lo[columns][:, live] <= his[part, columns][:, None]
        meets &= self.hi[columns][:, live] >= los[part, columns][:, None]
        ends = (ends + self.start + [[0], [1]]).transpose(0, 2, 1).ravel()
        closed = np.zeros(len(boxes), bool)
        for levels, leaves, least in self.needs:
            count = np.bincount(self.tree[live], minlength=self.model.root.size)
            if not count.all():
                live, closed[:] = live[:0], True
                break
            own = np.maximum.reduceat(levels, ends)[::2].reshape(los.shape)
            room = own.sum(axis=1) - least
            for group in self.groups:  # exactly one of its columns is a yes, of those that may be
                no, yes = levels[self.start[group]], levels[self.start[group] + 1]
                may = his[:, group] & (los[:, group].sum(axis=1)[:, None] == los[:, group])
                room += np.where(may, yes - no, NEVER // len(self.groups)).max(axis=1)
                room += no.sum() - own[:, group].sum(axis=1)
            if leaves is None:  # a leaf costs as much as its cheapest levels, or the box's
                missed = np.maximum(own[0, axis] - self.cheap[live], 0).sum(axis=1)
            else:  # with the best leaves of other trees
                leaf = np.where(meets, leaves[live], NEVER)
                best = np.maximum.reduceat(leaf, count.cumsum() - count, axis=1)
                missed, room = best[0].repeat(count) - leaf[0], room + best.sum(axis=1)
                closed |= best.min(axis=1) == NEVER
            closed |= room < 0
            kept = missed <= room[0]
            live, axis, meets = live[kept], axis[kept], meets[:, kept]
        return (lo, hi, live), [(*ends, live) for ends in boxes[1:]], closed

    def check(self, target: int, lead: float, refused: Any, steps: str) -> None:
        """Walk through the tree of boxes for a class; RejectedError if it is not closed."""
        score, bias, scale = self.model.score[self.node], self.model.bias, self.model.scale
        self.leads, self.charged = list[Any](), Fraction(0)
        for rival in (k for k in range(bias.size) if k != target):
            # Weights are rounded up and what is needed down, so that nothing that wins is lost.
            won, lost = np.ceil(score[:, target] * scale), np.floor(score[:, rival] * scale)
            least = Fraction(lead or self.model.needed[target, rival])
            least += Fraction(bias[rival]) - Fraction(bias[target])
            weight = won.astype(int) - lost.astype(int)
            self.leads.append((0 * self.cost, weight, math.floor(least * Fraction(scale))))
        self.needs, self.priced = [*self.limits, *self.leads], None  # no prices yet
        rows, unpacked = np.array(refused, float), zlib.decompressobj()
        demand(not refused or target not in self.model.decide(refused), "a refused row is wanted")
        try:
            text = unpacked.decompress(base64.b64decode(steps, validate=True), MOST_BYTES)
        except (ValueError, zlib.error) as error:
            raise RejectedError(f"the steps can't be unpacked: {error}") from error
        demand(unpacked.eof, "the steps are cut off, or too many")
        waiting, at = [(0 * self.size, self.size - 1, np.arange(self.tree.size))], 0
        most = MOST_HELD // (100 + 2 * self.size.size + self.tree.size)
        while waiting:
            demand(at < len(text), "a box is left open at the end")
            step, line = re.match(STEP, text[at : at + 4000]), text[at : at + 60].splitlines()[0]
            where = f"step {line.decode('ascii', 'replace')!r} at byte {at}"
            if not step:
                raise RejectedError(f"{where} is not known")
            what, *words = step[1].split()
            told, at, box = [int(word) for word in words], at + step.end(), waiting.pop()
            each = 10 * self.tree.size if what == b"price" else box[2].size + self.cost.size
            self.work -= len(self.needs) * (1000 + (1 + len(told) // 3) * each)
            demand(self.work >= 0, "the steps are more work than is allowed; --work allows more")
            if what == b"price":
                self.charge(told[-1], told[:-1])
                waiting.append(box)
            elif what in (b"cut", b"split"):
                box, parts, closed = self.look(box, np.reshape(told, (-1, 3)).tolist())
                demand(what == b"split" or closed[1:].all(), f"{where} does not hold")
                waiting += [*parts, box] if what == b"split" else [box]
                demand(len(waiting) <= most, "too many boxes wait")
            else:  # no leaf counts, or all are of a row that is decided otherwise
                demand(not told or told[0] < len(rows), f"{where} tells of no row")
                leaves = self.model.leaves(rows[told[0]]) if told else self.node[:0]
                live = self.look(box, [])[0][2]
                demand(np.isin(self.node[live], leaves).all(), f"{where} does not hold")
        demand(at == len(text), "the steps go on without a box")


def distance(question: Any, query: Any, answer: Any) -> Fraction:
    """What an answer costs; RejectedError if it is not admissible, or told to change otherwise."""
    paid, moved, power = list[Fraction](), {}, question["power"]
    for k, feature in enumerate(question["features"]):
        ends = value_of(feature, query), value_of(feature, answer["row"])
        own = costs_of(feature, ends[0], power, [math.nextafter(ends[1], -math.inf), ends[1]])
        demand(ends[1] in own, f"{feature['name']} of the answer is not admissible")
        paid.append(own[ends[1]])
        if ends[0] != ends[1]:
            words = {} if feature["kind"] == "numeric" else dict(enumerate(feature["labels"]))
            places = ends if feature["kind"] == "categorical" else np.argsort(ends).tolist()
            moved[k] = [feature["name"], *map(words.get, places, ends)]
    for limit in question["max_changes"]:
        few = len(moved.keys() & limit["features"]) <= limit["count"]
        demand(few, "the answer changes too much")
    changes = [[own["feature"], own["before"], own["after"]] for own in answer["changes"]]
    demand(changes == [*moved.values()], "the answer changes otherwise")
    return max(paid) if math.isinf(power) else sum(paid, Fraction(0))


def check(record: Any, model: Any, work: float = MOST_WORK) -> str:
    """What a record proves of a fitted model, as a sentence; RejectedError if it proves nothing."""
    record = record.get("record", record) if isinstance(record, dict) else {}  # one of a batch
    demand(record.get("version") == 3, "this is no record of version 3")
    demand(record.get("proof"), f"the record has no proof: {record.get('why_no_proof')}")
    record = formed(record, RECORD, "record")
    question, proof, answer, query = (record[k] for k in ("question", "proof", "answer", "query"))
    own, target, lead = read(model), question["target"], question["lead"]
    demand(own.digest == record["model"]["trees"], "the record is about another model's trees")
    now, names = own.decide([query])[0], getattr(model, "feature_names_in_", record["columns"])
    demand([*names] == record["columns"], "the columns are not the model's")
    demand(record["query_class"] == own.labels[now], "the query is decided otherwise")
    columns = sorted(column for each in question["features"] for column in each["columns"])
    same = columns == [*range(len(query))] and len(query) < 2**16
    demand(same, "the columns of features are not the model's")
    wanted = [k for k, x in enumerate(own.labels) if (k != now if target is None else x == target)]
    cost, lower, below = record["distance"], record["lower_bound"], proof["below"]
    power, status = question["power"], record["status"]
    sound = min(lead, below, power) >= 0 and not 100 < power < math.inf
    demand(sound, "a bound, a lead or a power is below 0, or the power above 100")
    if answer:
        decided, paid = own.decide([answer["row"]], lead)[0], distance(question, query, answer)
        same = cost < math.inf and abs(paid - Fraction(cost)) <= paid * Fraction(GAP)
        demand(same, f"the answer does not cost {cost!r}")
        same = decided in wanted and answer["class"] == own.labels[decided]
        demand(same, "the model does not decide the answer as wanted, or as told")
    # Without an answer the distance is infinite, and so is the bound if there can be none.
    least = {"optimal": cost * (1 - GAP), "infeasible": math.inf, "feasible": 0, "unknown": 0}
    holds = least.get(status, math.nan) <= below <= cost and lower * (1 - GAP) <= below
    holds &= (answer is None) == (cost == math.inf) == (status in ("infeasible", "unknown"))
    holds &= (lower == math.inf) == (below == math.inf) == (status == "infeasible")
    demand(holds, f"with this answer and these bounds nothing is {status}")
    classes = wanted if below > 0 else []
    demand(wanted and len(proof["covers"]) == len(classes), "not every class has a cover")
    cover = Cover(own, question, query, below, work)
    for k, told in zip(classes, proof["covers"], strict=True):
        cover.check(k, lead, told["refused"], told["steps"])
    cheaper = "" if below == math.inf else f" cheaper than {below!r}"
    named = " or ".join(repr(own.labels[k]) for k in wanted)
    named += f" by a lead of {lead!r}" if lead else ""
    return f"verified: no admissible row{cheaper} is decided as {named} by this model"


def main() -> int:
    """Check the records of a file, one a line or one in all; 0 if all of them hold."""
    parser = argparse.ArgumentParser("counterfolio-check", description=__doc__)
    parser.add_argument("records", help=".json of one, .jsonl with one a line, or these with .gz")
    parser.add_argument("--model", required=True, help=".json, .ubj, .skops, a pickle")
    parser.add_argument("--trust-pickle", action="store_true", help="load files that can run code")
    parser.add_argument("--work", type=float, default=MOST_WORK, help="most of a record's, 1e10")
    given, wrong, number = parser.parse_args(), 0, 0
    try:
        if given.model.endswith((".json", ".ubj")):
            model = __import__("xgboost").XGBClassifier()
            model.load_model(given.model)
        elif given.model.endswith(".skops"):
            skops = __import__("skops.io").io
            names = skops.get_untrusted_types(file=given.model) if given.trust_pickle else []
            model = skops.load(given.model, trusted=names)
        else:
            demand(given.trust_pickle, "pickles can run any code; say --trust-pickle to load one")
            model = __import__("joblib").load(given.model)
        with (gzip.open if given.records.endswith(".gz") else open)(given.records, "rb") as file:
            take = file.read if re.search(r"\.json(\.gz)?$", given.records) else file.readline
            texts = filter(bytes.strip, iter(lambda: take(MOST_BYTES), b""))
            for number, text in enumerate(texts, 1):
                try:
                    demand(text.count(b",") < MOST_VALUES, "the record has too many values")
                    said = check(json.loads(text), model, given.work)
                except Exception as error:  # whatever went wrong, nothing is verified
                    why = (
                        error if isinstance(error, RejectedError) else f"it can't be read: {error}"
                    )
                    said, wrong = f"not verified: {str(why)!r}", wrong + 1
                sys.stdout.write(f"{number}: {said}\n")
        demand(number, f"there is no record in {given.records}")
    except (Exception, KeyboardInterrupt) as error:  # a pickle may raise anything
        stopped = isinstance(error, KeyboardInterrupt)
        why = "interrupted, the rest was not checked" if stopped else str(error)
        sys.stderr.write(f"counterfolio-check: {why}\n")
        return 130 if stopped else 2
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
