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
import re
import sys
import zlib
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ONE, DEAREST = 2**40, 2**46  # whole units of cost in "below"; no level costs more than so many
LOWERED, TINY = Fraction(2**44 - 1, 2**44), 2.0**-1000  # powers that are not whole are off by less
# Of a distance: what "optimal" leaves open; of scores added up here; of a lead what is enough.
GAP, SUMMED, SHARE = 4e-9, 1e-9, 0.9
# Of a record; numbers in boxes that wait; values of a record or of limits; leaves looked at.
MOST_BYTES, MOST_HELD, MOST_VALUES, MOST_WORK = 2**28, 10**8, 10**6, 10**10
NEVER, FULL = -(2**62), 2**59  # less than any leaf or level weighs, more than any row's weights
STEP = rb"(close|refused N|(?:cut|split)(?: N N [01]){,60}|price(?: N N N)? N N)(?:\n|\Z)"
STEP = STEP.replace(b"N", rb"\d{1,18}")
# The form of what counts in a record; (form, other) is also null, which means the other.
BOUND = (float, math.inf)
COLUMN: Any = dict.fromkeys(("lower", "upper", "step", "unit", "weight"), float)
COLUMN |= {"values": [float], "prices": [float], "stay": bool}
LIMIT = {"most": int, "columns": [int], "less": [int]}
QUESTION = {"target": object, "power": BOUND, "lead": float, "columns": [COLUMN], "limits": [LIMIT]}
RECORD = {"columns": [str], "query": [float], "query_class": object, "model": {"trees": str}}
RECORD |= {"question": QUESTION, "status": str, "distance": BOUND, "lower_bound": BOUND}
RECORD |= {"answer": ({"row": [float], "class": object}, None)}
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
    kind = form if isinstance(form, type) else type(form)
    known = kind in (object, type(told)) or (kind, type(told)) == (float, int)
    demand(known, f"{where} is no {kind.__name__}")
    if kind is dict:
        demand(told.keys() >= form.keys(), f"{where} lacks {[*form]}")
        return {name: formed(told[name], own, f"{where}.{name}") for name, own in form.items()}
    if kind is list:
        return [formed(each, form[0], f"{where}[{number}]") for number, each in enumerate(told)]
    fits = 0 <= told < ONE if kind is int else kind is not float or abs(told) <= sys.float_info.max
    demand(fits, f"{where} is too large, below 0 or no number")
    return float(told) if kind is float else told


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
        middle = (value + np.nextafter(value, np.float32(np.inf)).astype(float)) / 2
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
    first = json.loads(bytes(booster[:1].save_raw("json")))
    for own in first["learner"]["gradient_booster"]["model"]["trees"]:
        own["split_conditions"] = [0.0] * len(own["split_conditions"])
    empty = type(booster)(model_file=bytearray(json.dumps(first).encode()))
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
    forest = re.fullmatch("sklearn.(DecisionTree|ExtraTrees?|RandomForest)Classifier", kind)
    known = forest or kind in ("xgboost.XGBClassifier", "xgboost.XGBRFClassifier")
    demand(known, f"models of type {kind} are not read by this checker")
    return read_forest(model) if forest else read_xgboost(model)


def costs_of(column: Any, start: float, power: float, edges: list[float]) -> dict[float, Fraction]:
    """What a column may become, of each cell between edges at least the nearest, and its cost."""
    lower, upper, values, prices = (column[k] for k in ("lower", "upper", "values", "prices"))
    weight, unit, step = (Fraction(str(column[name])) for name in ("weight", "unit", "step"))
    near = set(values)
    sound = min(weight, step, *prices, 0) == 0 < unit and len(prices) in (0, len(near))
    demand(sound and len(near) == len(values), "a cost is below 0, or values or prices are amiss")
    if not values:  # what is nearest is cheapest
        ends = {edge if edge < start else math.nextafter(edge, math.inf) for edge in edges}
        near = {min(max(end, lower), upper) for end in ends | {start}}
        if step > 0:  # multiples on both sides
            below = {math.floor(Fraction(end) / step) for end in near}
            near = {float((k + more) * step) for k in below for more in (0, 1)}
    costs, table = dict[float, Fraction](), dict(zip(values, prices, strict=False))
    p = 1.0 if math.isinf(power) else power
    largest = Fraction(TINY ** -min(1.0, 1 / max(p, TINY)))  # no power is too large for floats
    near = {value for value in near if lower <= value <= upper}
    for value in near | {start} if column["stay"] else near:
        far = float(min(abs(Fraction(value) - Fraction(start)) / unit, largest))
        paid = Fraction(far**p) * LOWERED if min(far, far**p) > TINY else 0
        costs[value] = weight * Fraction(table.get(value, paid)) * (value != start)
    return costs


class Cover:
    """Levels of columns, leaves as boxes of them, and the tree of boxes with all cheap rows."""

    needs: list[Any]  # of cheap rows that are wanted: of levels, of leaves, and how much of both
    priced: Any  # the one of prices, None before there are any

    def __init__(
        self, model: Model, question: Any, query: Any, below: float, answer: Any, work: float
    ) -> None:
        self.model, self.work, limits, power = model, work, question["limits"], question["power"]
        apart = {column for limit in limits for column in limit["less"]}
        size, flat, paid = list[int](), list[Any](), [Fraction(0)]
        # The largest change is below the bound if each is: it costs all or nothing.
        per_cost = ONE / Fraction(below) if 0 < below < math.inf else 0
        grain = ONE if power == math.inf else 1
        for k, (column, start) in enumerate(zip(question["columns"], query, strict=True)):
            edges, levels = np.unique(model.last[model.column == k]).tolist(), dict[float, Any]()
            end = answer[k : k + 1]
            ends = [math.nextafter(value, -math.inf) for value in end] + end
            costs = costs_of(column, start, power, edges + ends)
            listed = costs and (column["values"] or k not in apart)
            demand(listed and {*end} <= costs.keys(), f"column {k} has none of its values")
            paid += [costs[value] for value in end]
            for value, cost in costs.items():
                told = min(int(cost * per_cost), DEAREST) // grain * grain, value != start, value
                # Of a cell the cheapest counts, which changes least, but where that is no gain.
                cell = value if k in apart else float(np.searchsorted(edges, value))
                levels[cell] = min(levels.get(cell, told), told)
            flat += [levels[cell] for cell in sorted(levels)]
            size.append(len(levels))
        self.paid = max(paid) if math.isinf(power) else sum(paid)
        self.cost, changed, values = (np.append(each, 0) for each in zip(*flat, strict=True))
        self.size, self.changes = np.array(size, np.int32), np.cumsum([0, *changed])
        self.start = np.cumsum(self.size) - self.size
        self.limits = np.zeros((2, len(query), len(limits)))
        for at, limit in enumerate(limits):
            self.limits[0, limit["columns"], at] = self.limits[1, limit["less"], at] = 1
        self.most = np.array([limit["most"] for limit in limits])
        moved = np.array(query) != (answer or query)
        demand(([1, -1] @ (moved @ self.limits) <= self.most).all(), "the answer breaks a limit")
        self._grow(np.split(values[:-1], self.start[1:]))

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
        node = np.flatnonzero((model.column < 0) & (lo <= hi).all(axis=1))
        self.node = node[~self.breaks(lo[node], hi[node])]
        self.lo, self.hi = lo[self.node].T.copy(), hi[self.node].T.copy()
        self.tree = np.searchsorted(model.root, self.node, side="right") - 1
        # Most columns are whole in a leaf: those that are not come first, the others are left out.
        literal = (self.lo > 0) | (self.hi < self.size[:, None] - 1)
        self.axis = np.argsort(~literal.T, axis=1, kind="stable")[:, : literal.sum(axis=0).max()]
        own = np.arange(self.node.size)[:, None]
        self.first, self.last = self.lo[self.axis, own], self.hi[self.axis, own]
        ends = np.stack([self.first, self.last + 1], axis=-1) + self.start[self.axis][:, :, None]
        self.cheap = np.maximum.reduceat(-self.cost, ends.ravel())[::2].reshape(self.axis.shape)

    def breaks(self, lo: Array, hi: Array) -> Array:
        """Which boxes of levels, one a line, hold no row that keeps the limits."""
        changed = self.changes[self.start + hi + 1] - self.changes[self.start + lo]
        load = (changed > hi - lo) @ self.limits[0] - (changed > 0) @ self.limits[1]
        return np.asarray((load > self.most).any(axis=1))

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
        self.needs = [self.needs[0], self.priced, *self.leads]

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
        los, his = ends[:, 0], ends[:, 1]
        closed = self.breaks(los, his)
        kept = ((box[0][axis] <= self.last[live]) & (box[1][axis] >= self.first[live])).all(axis=1)
        live, axis = live[kept & ~closed[0]], axis[kept & ~closed[0]]
        part, columns = np.arange(len(boxes)), [0, *(own[0] for own in told)]
        meets = self.lo[columns][:, live] <= his[part, columns][:, None]
        meets &= self.hi[columns][:, live] >= los[part, columns][:, None]
        ends = (ends + self.start + [[0], [1]]).transpose(0, 2, 1).ravel()
        for levels, leaves, least in self.needs:
            count = np.bincount(self.tree[live], minlength=self.model.root.size)
            if not count.all():
                live, closed[:] = live[:0], True
                break
            own = np.maximum.reduceat(levels, ends)[::2].reshape(los.shape)
            room = own.sum(axis=1) - least
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
            # Weights are rounded up and what is needed down, so that nothing that wins is lost;
            # no weights add up to so much that a larger need would be another one.
            won, lost = np.ceil(score[:, target] * scale), np.floor(score[:, rival] * scale)
            least = Fraction(lead or self.model.needed[target, rival])
            least += Fraction(bias[rival]) - Fraction(bias[target])
            weight = won.astype(int) - lost.astype(int)
            needed = min(math.floor(least * Fraction(scale)), FULL)
            self.leads.append((0 * self.cost, weight, needed))
        self.needs, self.priced = [(-self.cost, None, 1 - ONE), *self.leads], None
        demand(not refused or target not in self.model.decide(refused), "a refused row is wanted")
        file = gzip.GzipFile(fileobj=io.BytesIO(base64.b64decode(steps, validate=True)))
        waiting = [(0 * self.size, self.size - 1, np.arange(self.tree.size))]
        most = MOST_HELD // (100 + 2 * self.size.size + self.tree.size)
        while waiting:
            line = file.readline(4000)
            step, where = re.fullmatch(STEP, line), f"step {line[:60].decode('ascii', 'replace')!r}"
            demand(line, "a box is left open at the end")
            if not step:
                raise RejectedError(f"{where} is not known")
            what, *words = step[1].split()
            told, box = [int(word) for word in words], waiting.pop()
            each = 10 * self.tree.size if what == b"price" else box[2].size + self.cost.size
            self.work -= (len(self.needs) + self.most.size) * (1000 + (1 + len(told) // 3) * each)
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
                demand(not told or told[0] < len(refused), f"{where} tells of no row")
                leaves = self.model.leaves(np.array(refused[told[0]])) if told else self.node[:0]
                live = self.look(box, [])[0][2]
                demand(np.isin(self.node[live], leaves).all(), f"{where} does not hold")
        demand(not file.read(1), "the steps go on without a box")


def check(record: Any, model: Any, work: float = MOST_WORK) -> str:
    """What a record proves of a fitted model, as a sentence; RejectedError if it proves nothing."""
    record = record.get("record", record) if isinstance(record, dict) else {}  # one of a batch
    demand(record.get("version") == 4, "this is no record of version 4")
    demand(record.get("proof"), f"the record has no proof: {record.get('why_no_proof')}")
    record = formed(record, RECORD, "record")
    question, answer, query = (record[k] for k in ("question", "answer", "query"))
    covers, below = record["proof"]["covers"], record["proof"]["below"]
    own, limits, lead, power = read(model), *(question[k] for k in ("limits", "lead", "power"))
    demand(own.digest == record["model"]["trees"], "the record is about another model's trees")
    now, names = own.decide([query])[0], getattr(model, "feature_names_in_", record["columns"])
    demand(record["query_class"] == own.labels[now], "the query is decided otherwise")
    named = {k for limit in limits for k in limit["columns"] + limit["less"]}
    same = [*names] == record["columns"] and len(query) == len(names) == len(question["columns"])
    demand(same and named <= {*range(len(query))}, "the columns are not the model's")
    few = len(query) < 2**16 and len(query) * len(limits) <= 10 * MOST_VALUES
    sound = min(lead, power) >= 0 and (power <= 100 or power == math.inf)
    demand(few and sound, "too many limits or columns, a lead or power below 0, or one above 100")
    goal = question["target"]
    wanted = [k for k, x in enumerate(own.labels) if (k != now if goal is None else x == goal)]
    cost, lower, status = (record[k] for k in ("distance", "lower_bound", "status"))
    decided = own.decide([answer["row"]], lead)[0] if answer else -1
    cover = Cover(own, question, query, below, answer["row"] if answer else [], work)
    if answer:
        same = cost < math.inf and abs(cover.paid - Fraction(cost)) <= cover.paid * Fraction(GAP)
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
    demand(wanted and len(covers) == len(classes), "not every class has a cover")
    try:
        for k, told in zip(classes, covers, strict=True):
            cover.check(k, lead, told["refused"], told["steps"])
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise RejectedError(f"the steps can't be unpacked: {error}") from error
    cheaper = "" if below == math.inf else f" cheaper than {below!r}"
    names = " or ".join(repr(own.labels[k]) for k in wanted)
    leading = f" by a lead of {lead!r}" if lead else ""
    return f"verified: no admissible row{cheaper} is decided as {names}{leading} by this model"


def load(path: str, trusted: bool) -> Any:
    """The model of a file."""
    if path.endswith((".json", ".ubj")):
        model = __import__("xgboost").XGBClassifier()
        model.load_model(path)
        return model
    if path.endswith(".skops"):
        skops = __import__("skops.io").io
        return skops.load(path, trusted=skops.get_untrusted_types(file=path) if trusted else [])
    demand(trusted, "pickles can run any code; say --trust-pickle to load one")
    return __import__("joblib").load(path)


def main() -> int:
    """Check the records of a file, one a line or one in all; 0 if all of them hold."""
    parser = argparse.ArgumentParser("counterfolio-check", description=__doc__)
    parser.add_argument("records", help=".json of one, .jsonl with one a line, or these with .gz")
    parser.add_argument("--model", required=True, help=".json, .ubj, .skops, a pickle")
    parser.add_argument("--trust-pickle", action="store_true", help="load files that can run code")
    parser.add_argument("--work", type=float, default=MOST_WORK, help="most of a record's, 1e10")
    given, number, wrong, why = parser.parse_args(), 0, 0, ""
    try:
        model = load(given.model, given.trust_pickle)
        with (gzip.open if given.records.endswith(".gz") else open)(given.records, "rb") as file:
            take = file.read if re.search(r"\.json(\.gz)?$", given.records) else file.readline
            for number, text in enumerate(
                filter(bytes.strip, iter(lambda: take(MOST_BYTES), b"")), 1
            ):
                try:
                    demand(text.count(b",") < MOST_VALUES, "the record has too many values")
                    said = check(json.loads(text), model, given.work)
                except Exception as error:  # whatever went wrong, nothing is verified
                    kind = "" if isinstance(error, RejectedError) else "it can't be read: "
                    said, wrong = f"not verified: {kind + str(error)!r}", 1
                sys.stdout.write(f"{number}: {said}\n")
        demand(number, f"there is no record in {given.records}")
    except KeyboardInterrupt:
        why, wrong = "interrupted, the rest was not checked", 130
    except Exception as error:  # a pickle may raise anything
        why, wrong = str(error), 2
    sys.stderr.write(f"counterfolio-check: {why}\n" if why else "")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
