"""Check records (docs/explanation/proofs.md) with numpy and the model's library only."""

import argparse
import base64
import copy
import gzip
import hashlib
import io
import itertools
import json
import math
import re
import sys
import zlib
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
ONE, DEAREST = 2**40, 2**46  # units of cost in "below"; maximum cost of a level, in units
# Relative tolerance of a distance; error of sums; sufficient share of a lead; smallest cost.
GAP, SUMMED, SHARE, LEAST = 4e-9, 1e-9, 0.9, Fraction(1, 2**1000)
# Maximum bytes of a record, numbers in memory, values of a record, and work (numbers read).
MOST_BYTES, MOST_HELD, MOST_VALUES, MOST_WORK = 2**28, 10**8, 10**6, 10**11
FULL, MOST_POWER, FURTHEST = 2**59, 8, 2.0**128 - 2.0**103 - 2.0**75  # of scores, norms, float32
# Types of the checked members of a record; (type, default) allows null, which means default.
BOUND = (float, math.inf)
COLUMN: Any = dict.fromkeys(("step", "unit", "weight"), Fraction)
COLUMN |= {"lower": float, "upper": float, "values": [float], "prices": [Fraction], "stay": bool}
LIMIT = {"most": int, "changed": [int], "same": [int]}
QUESTION = {"target": object, "power": (int, math.inf), "lead": float}
QUESTION |= {"columns": [COLUMN], "limits": [LIMIT]}
RECORD = {"columns": [str], "query": [float], "query_class": object}
RECORD |= {"question": QUESTION, "status": str, "distance": BOUND, "lower_bound": BOUND}
RECORD |= {"answer": ({"row": [float], "class": object}, None)}
COVER = {"refused": [[float]], "prices": [[int]], "worth": [int], "steps": str}
RECORD |= {"proof": {"below": BOUND, "covers": [COVER]}, "model": {"trees": str, "classes": object}}

FORMATS = "give .json or .ubj of XGBoost, .skops, .txt of LightGBM, .cbm of CatBoost, or a pickle"
NATIVE, PICKLES = (".json", ".ubj", ".skops"), (".pkl", ".pickle", ".joblib")
OTHER_OUTPUTS = "the record names other outputs than the model has"
JOINT = "sklearn.MultiOutputClassifier"  # one model per output
WRAPPERS = r"sklearn\..*\.(\w*SearchCV|FrozenEstimator|SelfTrainingClassifier)"
PREDICTING = "best_estimator_", "estimator_", "estimator"  # the first is the model of a wrapper
UNREAD = {".txt": "LightGBM", ".cbm": "CatBoost"}  # their records have no proof
PLAIN = ("sklearn.", "numpy.", "scipy.", "collections.")  # loading these types runs no code


class RejectedError(Exception):
    """A record that does not prove what it claims; the message says where."""


def demand(holds: object, otherwise: str) -> None:
    """Raise RejectedError with this message unless a condition holds."""
    if not holds:
        raise RejectedError(otherwise)


def formed(told: Any, form: Any, where: str) -> Any:
    """Return a part of a record, converted to its type; raise RejectedError for another type."""
    if isinstance(form, tuple):
        return form[1] if told is None else formed(told, form[0], where)
    kind = form if isinstance(form, type) else type(form)
    number, known = kind in (float, Fraction), kind in (object, type(told))
    if number and type(told) in (float, int):
        known = abs(told) <= sys.float_info.max
    known = known and (kind is not int or 0 <= told < FULL)
    demand(known, f"{where} is not of type {kind.__name__}, or too large, or below 0")
    if kind is dict:
        demand(told.keys() >= form.keys(), f"{where} must have the members {[*form]}")
        return {name: formed(told[name], own, f"{where}.{name}") for name, own in form.items()}
    if kind is list:
        return [formed(each, form[0], f"{where}[{number}]") for number, each in enumerate(told)]
    return kind(str(told)) if number else told


class Model:
    """Leaves of trees as boxes (above ``low``, up to ``high``), and the model of the library."""

    def __init__(self, trees: Any, labels: Any, unit: float, shift: float, *native: Any) -> None:
        self.labels = self.classes = labels
        (self.native, self.at), sizes = native, [len(tree[0]) for tree in trees]
        root = np.cumsum([0, *sizes[:-1]])
        last, column, left, right, score = map(np.concatenate, zip(*trees, strict=True))
        demand(not np.isnan(last[left >= 0]).any(), "a threshold of the model is NaN")
        # Largest value that goes left: the largest float64 that float32 rounds to <= threshold.
        value = last.astype(np.float32)
        value = np.where(value > last, np.nextafter(value, np.float32(-np.inf)), value)
        middle = (value + np.nextafter(value, np.float32(np.inf)).astype(float)) / 2
        last = np.where(middle.astype(np.float32) <= value, middle, np.nextafter(middle, -np.inf))
        at, first = root, np.repeat(root, sizes)
        low = np.full((last.size, self.native.n_features_in_), np.inf)  # unreachable: empty
        high = -low
        low[root], high[root] = -np.inf, np.inf
        while (at := at[left[at] >= 0]).size:
            below, above, axis = left[at] + first[at], right[at] + first[at], column[at]
            low[below], high[below] = low[above], high[above] = low[at], high[at]
            high[below, axis] = np.minimum(high[at, axis], last[at])
            low[above, axis] = np.maximum(low[at, axis], last[at])
            at = np.append(below, above)
        node = np.flatnonzero((left < 0) & (low < high).all(axis=1))
        self.low, self.high, self.score = low[node], high[node], score[node]
        self.tree, self.n_trees = np.searchsorted(root, node, side="right") - 1, root.size
        most = np.maximum.reduceat(np.abs(self.score), np.searchsorted(node, root)).sum(axis=0)
        grid = 1 / max(each.as_integer_ratio()[1] for each in self.score.ravel().tolist())
        self.scale = 2.0 ** (57 - math.ceil(math.log2(float(most.sum()) + 1)))
        exact = most.max() < grid / unit / 8 and shift < grid / 4  # all scores are multiples of it
        band = 1.01 * unit * (len(trees) + 8) * float(np.sort(most)[-2:].sum()) + shift
        # Lead below which a class cannot win; with exact sums the first class wins ties.
        self.needed = grid * np.tri(most.size, k=-1) if exact else np.full(2 * most.shape, -band)
        read = self.tree, self.low, self.high, self.score
        self.digest = hashlib.sha256(b"".join(a.astype("<f8").tobytes() for a in read)).hexdigest()

    def leaves(self, row: Any) -> Array:
        """Return the indices of the leaves that contain a row, one per tree."""
        return np.flatnonzero(((self.low < row) & (row <= self.high)).all(axis=1))

    def leads(self, target: int) -> Any:
        """Yield the columns of a class and of a rival, and the least lead of the class."""
        for rival in (k for k in range(self.score.shape[1]) if k != target):
            yield target, rival, self.needed[target, rival]

    def decide(self, told: Any, lead: float = 0.0) -> list[int]:
        """Return the predicted class indices of rows; raise RejectedError if the trees disagree."""
        demand({len(row) for row in told} == {self.native.n_features_in_}, "a row has a bad length")
        rows = np.array(told, float)
        demand((np.abs(rows) <= FURTHEST).all(), "a row has a value outside float32")
        labels = self.native.predict(rows).reshape(len(rows), -1)[:, self.at or 0].tolist()
        decided = [self.labels.index(label) for label in labels]
        for row, own in zip(rows, decided, strict=True):
            total = self.score[self.leaves(row)].sum(axis=0)
            ahead = total[own] - total >= (SHARE * lead or self.needed[own] - SUMMED)
            demand(np.delete(ahead, own).all(), "the trees do not confirm predict for a row")
        return decided


def read_xgboost(model: Any, at: int | None, count: int) -> Model:
    """Read XGBoost, which adds float32, compares probabilities, and sends x < threshold left."""
    best = getattr(model, "best_iteration", None)
    booster = model.get_booster() if best is None else model.get_booster()[: best + 1]
    learner, trees = json.loads(bytes(booster.save_raw("json")))["learner"], list[Any]()
    grown, param = learner["gradient_booster"], learner["learner_model_param"]
    demand(int(param.get("num_target", 1)) == count, OTHER_OUTPUTS)
    n_classes = max(2, int(param["num_class"]))
    objective, made = learner["objective"]["name"], grown.get("model", {}).get("trees", [])
    dart = grown["name"] != "gbtree" or grown["model"].get("weight_drop")  # since XGBoost 3.4
    known = made != [] and not dart and math.isnan(model.missing)
    known &= objective == ("multi:softprob" if n_classes > 2 else "binary:logistic")
    plain = (t["tree_param"]["size_leaf_vector"] in "01" and not any(t["split_type"]) for t in made)
    demand(known and all(plain), f"this kind of XGBoost model ({objective}) is not supported")
    pairs = zip(made, grown["model"]["tree_info"], strict=True)
    for own, info in (pair for pair in pairs if at in (None, pair[1])):
        value = np.array(own["split_conditions"], np.float32)
        score, last = np.zeros((value.size, n_classes)), np.nextafter(value.astype(float), -np.inf)
        score[:, info if n_classes > 2 else 1] = value
        nodes = (np.array(own[k]) for k in ("split_indices", "left_children", "right_children"))
        trees.append((last, *nodes, score))
    # With all leaves set to 0, the raw score of a row is the bias. None selects all scores.
    first = json.loads(bytes(booster[:1].save_raw("json")))
    for own in first["learner"]["gradient_booster"]["model"]["trees"]:
        own["split_conditions"] = [0.0] * len(own["split_conditions"])
    empty = type(booster)(model_file=bytearray(json.dumps(first).encode()))
    raw = empty.inplace_predict(np.zeros((1, model.n_features_in_)), predict_type="margin")[..., at]
    bias = np.append(np.zeros(n_classes - raw.size), raw).astype(float)
    trees.append((np.zeros(1), *[np.array([-1])] * 3, bias[None, :]))  # the bias, as one leaf
    return Model(trees, list(range(n_classes)), 2.0**-24, 2.0**-20, model, at)


class SeveralOutputs:
    """Outputs of one model, by name: all leaves, each with scores of one output."""

    leaves = Model.leaves

    def __init__(self, parts: dict[str, Model], goal: Any) -> None:
        demand(isinstance(goal, dict) and goal and goal.keys() <= parts.keys(), OTHER_OUTPUTS)
        self.goal, self.parts = {name: parts[name] for name in goal}, [*parts.values()]
        self.sizes = [len(part.labels) for part in self.goal.values()]
        self.classes = {name: part.labels for name, part in self.goal.items()}
        demand(math.prod(self.sizes) <= MOST_VALUES, "the outputs have too many labels together")
        choices = itertools.product(*(part.labels for part in self.goal.values()))
        self.labels = [dict(zip(goal, each, strict=True)) for each in choices]
        ends = ([vars(part)[k] for part in self.parts] for k in ("low", "high"))
        self.low, self.high = map(np.concatenate, ends)
        self.n_trees, self.score = 0, np.zeros((len(self.low), 0))
        self.first, tree = dict[str, int](), list[Array]()
        for name, part in parts.items():
            self.first[name], at = self.score.shape[1], sum(map(len, tree))
            self.score = np.pad(self.score, [(0, 0), (0, part.score.shape[1])])
            self.score[at : at + len(part.low), self.first[name] :] = part.score
            tree.append(part.tree + self.n_trees)
            self.n_trees += part.n_trees
        self.tree, self.scale = np.concatenate(tree), min(p.scale for p in self.parts)
        self.digest = hashlib.sha256("".join(p.digest for p in self.parts).encode()).hexdigest()

    def decide(self, rows: Any, lead: float = 0.0) -> list[int]:
        """Return the index of the labels of each row; see :meth:`Model.decide`. A lead is 0."""
        each = [part.decide(rows) for part in self.goal.values()]
        return [int(at) for at in np.ravel_multi_index(each, self.sizes)]

    def leads(self, target: int) -> Any:
        """Yield two columns of scores, and by how much the first leads at least."""
        places = np.unravel_index(target, self.sizes)
        for (name, part), at in zip(self.goal.items(), places, strict=True):
            for column, rival, needed in part.leads(int(at)):
                yield self.first[name] + column, self.first[name] + rival, needed


def read_named(model: Any, names: Any, goal: Any) -> Model | SeveralOutputs:
    """Return the trees of a model, or of all of its outputs, which ``names`` has in their order."""
    if names is None:
        return read(model)
    names = formed(names, [str], "record.model.outputs")
    if f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}" == JOINT:
        parts = [read(member) for member in model.estimators_]
    else:
        demand(len(names) > 1, OTHER_OUTPUTS)
        parts = [read(model, at, len(names)) for at in range(len(names))]
    demand(len(parts) == len({*names}) == len(names) > 0, OTHER_OUTPUTS)
    return SeveralOutputs(dict(zip(names, parts, strict=True)), goal)


def read(model: Any, at: int | None = None, count: int = 1) -> Model:
    """Return the trees of a model, or of one output; RejectedError if it is not supported."""
    kind = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    if kind in ("xgboost.XGBClassifier", "xgboost.XGBRFClassifier"):
        return read_xgboost(model, at, count)
    kind = model if isinstance(model, str) else kind
    known = re.fullmatch("sklearn.(DecisionTree|ExtraTrees?|RandomForest)Classifier", kind)
    demand(known, f"models of type {kind} are not supported by this checker")
    # These trees convert to float32, and send x <= threshold left.
    names, trees = ("threshold", "feature", "children_left", "children_right"), list[Any]()
    demand(model.n_outputs_ == count, OTHER_OUTPUTS)
    labels = (model.classes_ if at is None else model.classes_[at]).tolist()
    for own in (tree.tree_ for tree in getattr(model, "estimators_", [model])):
        value = own.value[:, at or 0, : len(labels)]
        trees.append((*(getattr(own, name) for name in names), value))
    alone = copy.copy(model)
    alone.n_jobs = 1  # several threads would add in any order
    vars(alone).pop("feature_names_in_", None)  # arrays have no names
    return Model(trees, labels, 2.0**-53, 0.0, alone, at)


def costs_of(column: Any, start: float, power: int, edges: list[float], per_cost: Any) -> Any:
    """Return {value: (cost in units, cost as float)}, with the cheapest value of each cell."""
    lower, upper, values, prices = (column[k] for k in ("lower", "upper", "values", "prices"))
    weight, unit, step, near = column["weight"], column["unit"], column["step"], set(values)
    sound = min(weight, step, *prices, 0) == 0 < unit and len(prices) in (0, len(near))
    sound &= max(map(abs, (lower, upper, *values))) <= FURTHEST and len(near) == len(values)
    demand(sound, "a cost is below 0, a value is too large or repeated, or prices are invalid")
    if not values:  # the nearest value of a cell is cheapest: one of its ends, or start
        sides = {side for edge in edges for side in (edge, math.nextafter(edge, math.inf))}
        near = {min(max(value, lower), upper) for value in sides | {start}}
        if step > 0:  # the multiples of step on both sides
            below = {math.floor(Fraction(value) / step) for value in near}
            near = {float((k + more) * step) for k in below for more in (0, 1)}
    near = {value for value in near if lower <= value <= upper}
    costs, table = dict[float, Any](), dict(zip(values, prices, strict=False))
    for value in near | {start} if column["stay"] else near:
        far = abs(Fraction(value) - Fraction(start)) / unit
        cost = (value != start) * weight * table.get(value, far**power)
        told = cost and max(min(cost, 2**1000), LEAST)
        costs[value] = min(int(cost * per_cost), DEAREST), float(told)
    return costs


class Cover:
    """Levels of columns, leaves as boxes of levels, and the search tree over all cheap rows."""

    def __init__(self, model: Any, asked: Any, query: Any, below: float, answer: Any) -> None:
        self.model, limits, power = model, asked["limits"], asked["power"]
        # With power inf each change must be below the bound: it costs all units or none.
        per_cost = ONE / Fraction(below) if 0 < below < math.inf else 0
        grain, exponent = (ONE, 1) if power == math.inf else (1, power)
        apart, flat, paid = {k for limit in limits for k in limit["same"]}, list[Any](), [0.0]
        self.lo, self.hi = np.zeros((2, *model.low.shape), int)
        for k, (column, start) in enumerate(zip(asked["columns"], query, strict=True)):
            levels, end = dict[float, Any](), answer[k : k + 1]
            edges = np.unique([model.low[:, k], model.high[:, k]])[1:-1]
            costs = costs_of(column, start, exponent, edges.tolist() + end, per_cost)
            listed = costs and (column["values"] or k not in apart)
            known = f"column {k} has no admissible value, or the answer's is not admissible"
            demand(listed and {*end} <= costs.keys(), known)
            paid += [costs[value][1] for value in end]
            cells = [*costs] if k in apart else np.searchsorted(edges, [*costs]).tolist()
            for cell, (value, (due, _)) in zip(cells, costs.items(), strict=True):
                # Keep the cheapest value of a cell; of equal ones prefer an unchanged value.
                told = due // grain * grain, value != start, k, value
                levels[cell] = min(levels.get(cell, told), told)
            flat += [levels[cell] for cell in sorted(levels)]
            values = [told[-1] for told in flat[-len(levels) :]]
            self.lo[:, k] = np.searchsorted(values, model.low[:, k], side="right")
            self.hi[:, k] = np.searchsorted(values, model.high[:, k], side="right") - 1
        self.paid = max(paid) if power == math.inf else math.fsum(paid)
        # The levels of the answer, one per column, follow all others.
        last, ends = len(flat), zip(answer or query, query, strict=True)
        flat += [(0, end != start, k, end) for k, (end, start) in enumerate(ends)]
        cost, changed, owner, _ = (np.array(each) for each in zip(*flat, strict=True))
        self.size = np.bincount(owner) - 1
        self.start = np.cumsum(self.size) - self.size
        held = sum(1 + len(limit["changed"]) + len(limit["same"]) for limit in limits)
        demand(held * (owner.size + len(self.lo)) <= MOST_HELD, "there are too many limits")
        # Constraints on rows: columns, weights of their levels, and the maximum of their sum.
        needs = [(np.arange(self.size.size), cost, ONE - 1)]
        for limit in limits:
            moves, stays = (np.isin(owner, limit[name]) for name in ("changed", "same"))
            load = np.where(changed, moves, stays).astype(np.int8)
            demand(load[last:].sum() <= limit["most"], "the answer violates a limit")
            columns = np.unique(limit["changed"] + limit["same"]).astype(int)
            needs.append((columns, load, limit["most"]))
        self.needs = [(a, b, self.least(a, b, self.lo, self.hi), most) for a, b, most in needs]

    def least(self, columns: Array, levels: Array, lo: Array, hi: Array) -> Any:
        """Return the smallest weight of each of some columns in boxes."""
        ends = np.array([lo[..., columns], hi[..., columns] + 1]) + self.start[columns]
        lightest = np.minimum.reduceat(levels, ends.reshape(2, -1).T.ravel())[::2]
        return lightest.reshape(ends.shape[1:])

    def ask(self, target: int, lead: float, prices: list[list[int]], worth: list[int]) -> None:
        """Set up the constraints that rows predicted as a class satisfy: leads and priced sums."""
        score, leads = self.model.score * self.model.scale, list[Any]()
        columns, cost, _, most = self.needs[0]
        for winner, rival, least in self.model.leads(target):
            # Round weights and the required lead down, so that no winning row is lost. No sum of
            # weights exceeds FULL, so that a larger lead need not be represented.
            weight = np.floor(score[:, rival]).astype(int) - np.ceil(score[:, winner]).astype(int)
            needed = (lead or least) * self.model.scale
            leads.append((columns[:0], cost, weight, -math.floor(min(needed, FULL))))
        demand(sum(price for *_, price in prices) + sum(worth) < FULL, "prices are too large")
        # Add the constraints, times their prices, to the cost of rows.
        levels, leaves = cost.copy(), 0 * self.model.tree
        for tree, column, first, last, price in prices:
            demand(column < self.size.size and last < self.size[column], "a price has no level")
            levels[self.start[column] + first : self.start[column] + last + 1] -= price
            inside = (self.lo[:, column] >= first) & (self.hi[:, column] <= last)
            leaves += price * (inside & (self.model.tree == tree))
        for price, (_, _, weight, own) in zip(worth or [0] * len(leads), leads, strict=True):
            leaves += (weight.astype(object) * price >> 58).astype(int)
            most += own * price >> 58
        self.asked = [*self.needs, (columns, levels, leaves, most), *leads]

    def look(self, lo: Array, hi: Array, live: Array) -> Array:
        """Return the leaves of ``live`` that a cheap row of the target in a box may be in."""
        for columns, levels, leaves, most in self.asked:
            own = self.least(columns, levels, lo, hi)
            room = most - own.sum()
            if leaves.ndim == 2:  # additional weight of their levels
                live = live[np.maximum(leaves[live] - own, 0).sum(axis=1) <= room]
            else:  # with the best leaves of other trees
                count = np.bincount(self.model.tree[live], minlength=self.model.n_trees)
                if not count.all():
                    return live[:0]
                weight = leaves[live]
                best = np.minimum.reduceat(weight, count.cumsum() - count)
                live = live[weight - best.repeat(count) + best.sum() <= room]
        return live

    def walk(self, refused: Any, steps: str, work: float) -> float:
        """Check that the steps close all boxes of the search tree; return the remaining work."""
        rows = {self.model.leaves(row).tobytes() for row in refused}
        file = gzip.GzipFile(fileobj=io.BytesIO(base64.b64decode(steps, validate=True)))
        live = np.flatnonzero((self.lo <= self.hi).all(axis=1))  # reachable by admissible rows
        waiting = [(0 * self.size, self.size - 1, live)]
        for number, line in enumerate(iter(lambda: file.readline(100), b""), 1):
            where = f"step {number} {line!r}"
            demand(waiting, f"{where} comes after the last box")
            demand(re.fullmatch(rb"(close|split \d+ \d+ [01])\n?", line), f"{where} is not a step")
            lo, hi, live = waiting.pop()
            work -= sum(10_000 + 10 * lo.size + live.size * (1 + a[0].size) for a in self.asked)
            demand(work >= 0, "the steps take more work than allowed; raise --work")
            live = self.look(lo, hi, live)
            if line.startswith(b"split"):
                column, at, low = map(int, line.split()[1:])
                demand(column < lo.size and lo[column] <= at < hi[column], f"{where} is invalid")
                own = np.arange(lo.size) == column
                left = lo, np.where(own, at, hi), live[self.lo[live, column] <= at]
                right = np.where(own, at + 1, lo), hi, live[self.hi[live, column] > at]
                waiting += [left, right] if low else [right, left]
            elif live.size:  # they must be the leaves of a refused row
                demand(live.tobytes() in rows, f"{where} does not hold")
            demand(len(waiting) * (100 + 2 * lo.size + len(self.lo)) <= MOST_HELD, "too many boxes")
        demand(not waiting, "the steps leave a box open")
        return work


def check(record: Any, model: Any, work: float = MOST_WORK) -> str:
    """Return what a record proves about a model, as a sentence; raise RejectedError if nothing."""
    record = record.get("record", record) if isinstance(record, dict) else {}  # a line of a batch
    demand(isinstance(record, dict) and record.get("version") == 5, "the record is not version 5")
    demand(record.get("proof"), f"the record has no proof: {record.get('why_no_proof')!s:.200}")
    whole, record = record, formed(record, RECORD, "record")
    question, answer, query = (record[k] for k in ("question", "answer", "query"))
    outputs = whole["model"].get("outputs")
    while re.fullmatch(WRAPPERS, f"{type(model).__module__}.{type(model).__name__}"):
        model = next(vars(model)[name] for name in PREDICTING if name in vars(model))
    own = read_named(model, outputs, question["target"])
    covers, below = record["proof"]["covers"], record["proof"]["below"]
    goal, limits, lead, power = (question[k] for k in ("target", "limits", "lead", "power"))
    demand(own.digest == record["model"]["trees"], "the record is about the trees of another model")
    demand(own.classes == record["model"]["classes"], "the record has other classes than the model")
    now, names = own.decide([query])[0], getattr(model, "feature_names_in_", record["columns"])
    demand(record["query_class"] == own.labels[now], "the model predicts another query_class")
    named = {k for limit in limits for k in limit["changed"] + limit["same"]}
    same = [*names] == record["columns"] and len(query) == len(names) == len(question["columns"])
    demand(same and named <= {*range(len(query))}, "the columns differ from the model's")
    sound = lead >= 0 and (power <= MOST_POWER or power == math.inf) and len(query) < 2**16
    demand(sound, "the lead is below 0, the power above 8, or there are too many columns")
    demand(outputs is None or lead == 0, "a lead of several outputs is not supported")
    wanted = [k for k, x in enumerate(own.labels) if (k != now if goal is None else x == goal)]
    cost, lower, status = (record[k] for k in ("distance", "lower_bound", "status"))
    decided = own.decide([answer["row"]], lead)[0] if answer else -1
    cover = Cover(own, question, query, below, answer["row"] if answer else [])
    if answer:
        demand(abs(cover.paid - cost) <= cover.paid * GAP, f"the answer does not cost {cost!r}")
        same = decided in wanted and answer["class"] == own.labels[decided]
        demand(same, "the model does not predict the answer as its class, or as a target")
    # Without an answer the distance is infinite.
    told = {"optimal": (True, cost * (1 - GAP)), "infeasible": (False, math.inf)}
    answered, least = (told | {"feasible": (True, 0), "unknown": (False, 0)}).get(status, (None, 0))
    holds = answered == (answer is not None) == (cost < math.inf) and least <= below <= cost
    demand(holds and lower * (1 - GAP) <= below, f"the bounds contradict the status {status}")
    demand(wanted and len(covers) == len(wanted) * (below > 0), "the number of covers is wrong")
    try:
        for k, told in zip(wanted, covers, strict=False):
            much = len(told["refused"] + told["prices"]) * own.low.size > work
            demand(not much, "too many refused rows or prices; raise --work")
            demand(k not in own.decide([query, *told["refused"]])[1:], "a refused row is valid")
            cover.ask(k, lead, told["prices"], told["worth"])
            work = cover.walk(told["refused"], told["steps"], work)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise RejectedError(f"a cover is invalid: {error}") from error
    claim = "verified: no admissible row" + (f" cheaper than {below!r}" if below < math.inf else "")
    names = " or ".join(repr(own.labels[k]) for k in wanted)
    leading = f" by a lead of {lead!r}" if lead else ""
    order = "" if outputs is None else f", whose outputs are {outputs!r} in this order"
    return f"{claim} is predicted as {names}{leading} by this model{order}"


def load(path: str, trusted: bool) -> Any:
    """Return the model of a file, or the name of its library if that is not supported."""
    ending = path.lower()[path.rfind(".") :]
    known = f"files of format {ending!r} are not supported; {FORMATS}"
    demand("." in ending and (ending in PICKLES or ending in NATIVE or ending in UNREAD), known)
    with open(path, "rb") as file:  # it exists
        demand(file.read(1), f"{path} is empty")
    if ending in UNREAD:
        return UNREAD[ending]
    if ending == ".skops":
        skops = __import__("skops.io").io
        types = skops.get_untrusted_types(file=path)
        strange = [] if trusted else [name for name in types if not name.startswith(PLAIN)]
        held = f"the file contains an object of type {[*strange, ''][0]}, which can run code"
        demand(not strange, f"{held}; add --trust-pickle to load it")
        return skops.load(path, trusted=types)
    if ending in NATIVE:
        model = __import__("xgboost").XGBClassifier()
        try:
            model.load_model(path)
        except Exception as error:  # such as a .json file of CatBoost
            raise RejectedError(f"{path} is not an XGBoost classifier; {FORMATS}") from error
        return model
    demand(trusted, "pickles can run any code; add --trust-pickle to load one")
    return __import__("joblib").load(path)


def main() -> int:
    """Check the records of a file; return the exit code, 0 if all are verified."""
    parser = argparse.ArgumentParser("counterfolio-check", description=__doc__)
    parser.add_argument("records", help=".json (one), .jsonl (one per line), or these with .gz")
    parser.add_argument("--model", required=True, help=f"model file; {FORMATS}")
    parser.add_argument("--trust-pickle", action="store_true", help="load files that can run code")
    parser.add_argument("--work", type=float, default=MOST_WORK, help="limit per record (1e11)")
    given, said, wrong, why = parser.parse_args(), "", 0, ""
    try:
        model = load(given.model, given.trust_pickle)
        with (gzip.open if given.records.endswith(".gz") else open)(given.records, "rb") as file:
            whole = re.search(r"\.json(\.gz)?$", given.records)
            take, most = (file.read, 1) if whole else (file.readline, MOST_VALUES)
            for number, text in enumerate(iter(lambda: take(MOST_BYTES), b""), 1):
                demand(number <= most, "the file is too large; split it")
                if text.isspace():
                    continue
                try:
                    demand(text.count(b",") < MOST_VALUES, "the record has too many values")
                    said = check(json.loads(text), model, given.work)
                except Exception as error:  # whatever went wrong, nothing is verified
                    kind = "" if isinstance(error, RejectedError) else "invalid record: "
                    said, wrong = f"not verified: {(kind + str(error))[:300]!r}", 1
                sys.stdout.write(f"{number}: {said}\n")
        demand(said, f"{given.records} contains no record")
    except KeyboardInterrupt:
        why, wrong = "interrupted; the remaining records were not checked", 130
    except Exception as error:  # a pickle may raise anything
        why, wrong = [*str(error).splitlines(), repr(error)][0], 2
    sys.stderr.write(f"counterfolio-check: {why}\n" if why else "")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
