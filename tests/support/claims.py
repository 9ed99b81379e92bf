"""Claims that are written by hand, and what the checker says of them."""

import base64
import gzip
import json

import numpy as np
from xgboost import XGBClassifier

from portfolio.checker import check, read
from portfolio.proofs.columns import FURTHEST


def accepted(record, model):
    try:
        return check(record, model).startswith("verified")
    except Exception:
        return False


def xgboost_of(trees, columns):
    """A model of stumps: (column, threshold, left, right)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, columns)), np.arange(40) % 2
    made = XGBClassifier(n_estimators=len(trees), max_depth=1, base_score=0.501).fit(X, y)
    content = json.loads(bytes(made.get_booster().save_raw("json")))
    grown = content["learner"]["gradient_booster"]["model"]["trees"]
    for own, (column, threshold, left, right) in zip(grown, trees, strict=True):
        own["split_indices"] = [column, 0, 0]
        own["split_conditions"] = [threshold, left, right]
    model = XGBClassifier()
    model.load_model(bytearray(json.dumps(content).encode()))
    return model


def column(**other):
    """A column of a record that may become any number, each for what it is further away."""
    own = {"lower": -FURTHEST, "upper": FURTHEST, "step": 0, "stay": True, "unit": 1, "weight": 1}
    return own | {"values": [], "prices": []} | other


def one_of(*columns):
    """Limits that say that exactly one of some columns is a yes, which the first one is."""
    own, others = list(columns[:1]), list(columns[1:])
    return [
        {"most": len(same), "changed": changed, "same": same}
        for changed, same in ((own, others), (others, own))
    ]


def claimed(model, query, columns, below=None, steps=b"close\n", prices=((), ()), **other):
    """A record that says that nothing below a bound is decided as 1."""
    question = {"target": 1, "lead": 0, "power": 1, "limits": []} | other
    now = model.predict(np.array([query], dtype=float))[0].item()
    cover = {"refused": [], "prices": list(prices[0]), "worth": list(prices[1])}
    cover |= {"steps": base64.b64encode(gzip.compress(steps)).decode()}
    return {
        "version": 5,
        "why_no_proof": "",
        "distance": None,
        "status": "unknown" if below else "infeasible",
        "model": {"trees": read(model).digest, "classes": read(model).classes},
        "columns": [str(k) for k in range(len(query))],
        "query": query,
        "query_class": now,
        "lower_bound": below,
        "question": question | {"columns": columns},
        "answer": None,
        "proof": {"below": below, "covers": [cover]},
    }


def boxes(columns, first=0):
    """Steps that split each of some columns once, in every box, and close all that is left."""
    if first == columns:
        return b"close\n"
    return b"split %d 0 0\n" % first + 2 * boxes(columns, first + 1)
