"""Records of small problems, ways to spoil them, and whether what they claim is true."""

import base64
import copy
import gzip
import json
import math
from unittest.mock import patch

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from portfolio import Explainer
from portfolio.proofs.columns import FURTHEST
from tests.support.brute import Spec, all_rows, as_frame, thresholds
from tests.support.ensembles import random_frame
from tests.support.questions import random_constraints

MODELS = (
    lambda n, d, s: XGBClassifier(n_estimators=n, max_depth=d, random_state=s, n_jobs=1),
    lambda n, d, s: RandomForestClassifier(n, max_depth=d, random_state=s),
    lambda n, d, s: DecisionTreeClassifier(max_depth=d + 1, random_state=s),
    lambda n, d, s: ExtraTreesClassifier(n, max_depth=d, random_state=s),
)
ROWS = 30_000  # of the brute force


def asked(seed):
    """A random question, its result, and what it means: model, frame, query, features, rules."""
    rng = np.random.default_rng(seed)
    X, specs = random_frame(rng)
    y = rng.integers(0, int(rng.integers(2, 4)), len(X))
    made = MODELS[seed % len(MODELS)](int(rng.integers(3, 8)), int(rng.integers(1, 4)), seed)
    model = made.fit(X, np.unique(y, return_inverse=True)[1])
    explainer = Explainer(model, X)
    x = X.iloc[int(rng.integers(len(X)))]
    constraints, keeps = random_constraints(rng, specs, x.to_numpy())
    norm = [0, 1, 2, 3, "inf"][int(rng.integers(5))]
    weights = [float(w) for w in rng.choice([0.5, 1.0, 2.0], len(specs))]
    result = explainer.explain(x, norm=norm, weights=weights, constraints=constraints, threads=1)
    return result, model, X, specs, keeps, norm, weights


def recorded(seed):
    """A random question, its record as others read it, with prices or not, and the model."""
    result, model, *_ = asked(seed)
    with patch("encoders.search.cover.MANY", 0 if seed // len(MODELS) % 2 else 256):
        return json.loads(result.record().to_json()), model


def holds(record, model):
    """Whether no admissible row below the bound is decided as wanted; None if it is too large."""
    question, below = record["question"], record["proof"]["below"]
    below = math.inf if below is None else float(below)
    x = np.array(record["query"], dtype=float)
    cuts, dtype = thresholds(model, len(x))
    specs = []
    for k, told in enumerate(question["columns"]):
        own = [*cuts[k], x[k]]
        ends = (min(own) - 3, max(own) + 3)  # no cell is further out
        lower, upper = (
            e if abs(told[n]) >= FURTHEST else told[n]
            for n, e in zip(("lower", "upper"), ends, strict=True)
        )
        kind = "ordinal" if told["step"] == 1 else "numeric"
        specs.append(Spec(str(k), kind, (k,), lower, upper, tuple(told["values"])))
    rows = all_rows(specs, x, model, dtype, cuts, ROWS)
    if rows is None:
        return None
    kept, cost = admitted(question, x, rows)
    rows = rows[kept & (cost < below)]
    if len(rows) == 0:
        return True
    decided, target = model.predict(as_frame(model, rows)), question["target"]
    now = model.predict(as_frame(model, x[None, :]))[0]
    return not (decided != now if target is None else decided == target).any()


def admitted(question, x, rows):
    """Which rows a record's question admits, and what they cost, by the definition alone."""
    power = math.inf if question["power"] is None else question["power"]
    kept, moved, costs = np.ones(len(rows), dtype=bool), rows != x, []
    for value, start, told in zip(rows.T, x, question["columns"], strict=True):
        fits = (value >= told["lower"]) & (value <= told["upper"])
        if told["values"]:
            fits &= np.isin(value, told["values"])
        elif told["step"]:
            fits &= value % told["step"] == 0
        kept &= fits | ((value == start) & told["stay"])
        gap = np.abs(value - start) / told["unit"]
        paid = gap if math.isinf(power) else gap**power
        if told["prices"]:
            table = dict(zip(told["values"], told["prices"], strict=True))
            paid = np.array([table.get(v, 0.0) for v in value])
        costs.append(told["weight"] * paid * (value != start))
    for limit in question["limits"]:
        load = moved[:, limit["changed"]].sum(axis=1) + (~moved[:, limit["same"]]).sum(axis=1)
        kept &= load <= limit["most"]
    table = np.column_stack(costs)
    return kept, table.max(axis=1) if math.isinf(power) else table.sum(axis=1)


def spoiled(rng, record):
    """The record with one thing changed, and what that is: of the claim or of the proof."""
    record = copy.deepcopy(record)
    ways = [w for w in (*CLAIMS, *PROOFS) if w(rng, copy.deepcopy(record)) is not False]
    way = ways[int(rng.integers(len(ways)))]
    way(rng, record)
    return record, way.__name__


def _column(rng, record):
    columns = record["question"]["columns"]
    return columns[int(rng.integers(len(columns)))]


def bound(rng, record):
    """A larger bound, with an answer that costs as much to go with it."""
    if not float(record["proof"]["below"] or 0):
        return False
    record["proof"]["below"] *= float(1 + rng.choice([1e-7, 0.1, 3]))
    if rng.random() < 0.5:
        record["distance"] = record["proof"]["below"]
    return None


def no_bound(rng, record):
    if record["proof"]["below"] is None:
        return False
    record["proof"]["below"], record["answer"], record["status"] = None, None, "infeasible"
    record["distance"], record["lower_bound"] = None, None
    return None


def wider(rng, record):
    told = _column(rng, record)
    side, furthest = [("lower", -FURTHEST), ("upper", FURTHEST)][int(rng.integers(2))]
    told[side] = furthest if rng.random() < 0.5 else told[side] + rng.normal()


def listed(rng, record):
    told = _column(rng, record)
    if not told["values"]:
        return False
    if rng.random() < 0.5:
        told["values"] = [*told["values"], float(rng.integers(-2, 5))]
        told["prices"] = [*told["prices"], 0.5] if told["prices"] else []
    else:
        told["values"], told["prices"] = [], []
    return None


def stays(rng, record):
    told = _column(rng, record)
    told["stay"] = not told["stay"]


def cheaper(rng, record):
    _column(rng, record)[["weight", "unit"][int(rng.integers(2))]] *= float(
        rng.choice([0.3, 0.9, 5, -1])
    )


def another_table(rng, record):
    """One value of a cost table, or of a group's column, costs less or more."""
    told = _column(rng, record)
    if not told["prices"]:
        return False
    told["prices"][int(rng.integers(len(told["prices"])))] *= float(rng.choice([0, 0.5, 3]))
    return None


def norm(rng, record):
    record["question"]["power"] = [0, 1, 2, 4, None][int(rng.integers(5))]


def limits(rng, record):
    """A limit says less, or of other columns, or is none."""
    told = record["question"]["limits"]
    if not told:
        return False
    at, way = int(rng.integers(len(told))), rng.random()
    if way < 0.3:
        told[at]["most"] += 1
    elif way < 0.5:
        told.pop(at)
    elif way < 0.75 and told[at]["changed"]:
        told[at]["changed"].pop()
    elif told[at]["same"]:
        told[at]["same"].pop()
    else:
        told[at]["same"].append(int(rng.integers(len(record["query"]))))
    return None


def another_row(rng, record):
    at = int(rng.integers(len(record["query"])))
    record["query"][at] += float(rng.choice([-1, 1, 1e-3]))


def another_class(rng, record):
    record["question"]["target"] = int(rng.integers(0, 3))
    if rng.random() < 0.5:
        del record["proof"]["covers"][1:]


def another_answer(rng, record):
    if record["answer"] is None:
        return False
    record["answer"]["row"][int(rng.integers(len(record["query"])))] += float(
        rng.choice([-1, 1, 0.01])
    )
    return None


def _lines(record, change):
    if not record["proof"]["covers"]:
        return False
    cover = record["proof"]["covers"][-1]
    lines = gzip.decompress(base64.b64decode(cover["steps"])).decode().splitlines()
    change(lines)
    cover["steps"] = base64.b64encode(gzip.compress("\n".join(lines).encode())).decode()
    return None


def drop_a_step(rng, record):
    return _lines(record, lambda lines: lines.pop(int(rng.integers(len(lines)))))


def swap_steps(rng, record):
    def change(lines):
        i, j = rng.integers(len(lines), size=2)
        lines[i], lines[j] = lines[j], lines[i]

    return _lines(record, change)


def _boxes(lines):
    """Lines that tell of boxes: where they are, and their words."""
    told = [(at, line.split()) for at, line in enumerate(lines)]
    return [(at, words) for at, words in told if words[0] == "split"]


def move_a_box(rng, record):
    def change(lines):
        if told := _boxes(lines):
            at, words = told[int(rng.integers(len(told)))]
            k = int(rng.integers(1, len(words)))
            words[k] = str(max(0, int(words[k]) + int(rng.choice([-1, 1]))))
            lines[at] = " ".join(words)

    return _lines(record, change)


def other_refused(rng, record):
    """A row that the model refused is another one, or is not told of."""
    covers = [cover for cover in record["proof"]["covers"] if cover["refused"]]
    if not covers:
        return False
    rows = covers[int(rng.integers(len(covers)))]["refused"]
    row = rows.pop(int(rng.integers(len(rows))))
    if rng.random() < 0.5:
        row[int(rng.integers(len(row)))] += float(rng.choice([-1, 1, 0.01]))
        rows.append(row)
    return None


def close_for_split(rng, record):
    """A box that is split is said to hold nothing, and so no part of it waits."""

    def change(lines):
        if told := _boxes(lines):
            at, _ = told[int(rng.integers(len(told)))]
            lines[at] = "close"
            if rng.random() < 0.7:
                del lines[at + 1 : at + int(rng.integers(2, 4))]

    return _lines(record, change)


def cut_more(rng, record):
    """Levels are cut off that nobody cut off."""
    n_columns = len(record["query"])

    def change(lines):
        place = f"{rng.integers(n_columns)} {rng.integers(4)} {rng.integers(2)}"
        lines[(at := int(rng.integers(len(lines)))) : at] = [f"split {place}", "close"]

    return _lines(record, change)


def other_side(rng, record):
    """What was said of one side is said of the other."""

    def change(lines):
        if told := _boxes(lines):
            at, words = told[int(rng.integers(len(told)))]
            words[3] = str(1 - int(words[3]))
            lines[at] = " ".join(words)

    return _lines(record, change)


def end_early(rng, record):
    def change(lines):
        del lines[int(rng.integers(len(lines))) :]
        lines.append("close")

    return _lines(record, change)


def refuse(rng, record):
    """A row is said to be refused: the answer, or the query."""
    if not record["proof"]["covers"] or record["answer"] is None:
        return False
    cover = record["proof"]["covers"][-1]
    cover["refused"].append(record["answer"]["row"] if rng.random() < 0.7 else record["query"])
    if rng.random() < 0.7:
        return _lines(record, lambda lines: lines.__setitem__(slice(None), ["close"]))
    return None


def another_price(rng, record):
    """A price is another one, or on something else."""
    cover = record["proof"]["covers"][-1] if record["proof"]["covers"] else {"worth": []}
    if not cover["worth"]:
        return False
    lists = [cover["worth"], *cover["prices"]]
    told = lists[int(rng.integers(len(lists)))]
    if rng.random() < 0.5:
        told[-1] = int(float(told[-1]) * rng.choice([-1, 0, 0.9, 2, 1e4, 1e30]))
    else:
        told[int(rng.integers(len(told)))] += 1
    return None


def prices_alone(rng, record):
    """Random prices, which are said to close all there is."""
    if not record["proof"]["covers"]:
        return False
    cover, n_columns, unit = record["proof"]["covers"][-1], len(record["query"]), 2.0**40
    cover["prices"] = []
    for _ in range(int(rng.integers(1, 30))):
        place = [rng.integers(4), rng.integers(n_columns), 0, rng.integers(3)]
        place = place if rng.random() < 0.5 else [*place[:2], rng.integers(1, 3), 2]
        cover["prices"].append([*map(int, place), int(unit * float(rng.exponential()) / 4)])
    cover["worth"] = [int(unit * rng.exponential() * 16) for _ in range(len(cover["worth"]) or 1)]
    return _lines(record, lambda lines: lines.__setitem__(slice(None), ["close"]))


def fewer_covers(rng, record):
    if not record["proof"]["covers"]:
        return False
    record["proof"]["covers"].pop()
    return None


CLAIMS = (bound, no_bound, wider, listed, stays, cheaper, another_table, norm, limits, another_row,
          another_class, another_answer)  # fmt: skip
PROOFS = (drop_a_step, swap_steps, move_a_box, other_refused, close_for_split, cut_more,
          other_side, end_early, refuse, another_price, prices_alone, fewer_covers)  # fmt: skip
