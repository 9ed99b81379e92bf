"""What a record claims, held against the model."""

import base64
import io
import math
import zlib
from typing import Any

import numpy as np

from portfolio.checker.cover import Cover
from portfolio.checker.space import Space, admissible, check_costs, costs
from portfolio.checker.trees import Array, Model, RejectedError, read

GAP = 4e-9  # of the distance: what "optimal" leaves open
SUMMED = 1e-9  # of a score: what adding the trees up here may be off by
MOST_BYTES = 2**28  # of a proof's steps


def exact_distance(question: Any, row: list[float]) -> float:
    """What an answer costs; RejectedError if it is not admissible.

    Parameters
    ----------
    question : of a record
    row : of the answer, a number for each column
    """
    paid, moved, power = [0.0], [], float(question["power"])
    for feature in question["features"]:
        own = [row[column] for column in feature["columns"]]
        value = np.array([float(own.index(1.0)) if len(own) > 1 and 1.0 in own else own[0]])
        edges = np.append(np.nextafter(value, -np.inf), value)  # a cell of this value alone
        ones = feature["kind"] != "categorical" or sorted(own) == [0.0] * (len(own) - 1) + [1.0]
        if not ones or value[0] not in admissible(feature, edges):
            raise RejectedError(f"{feature['name']} of the answer is not admissible")
        paid.append(float(costs(feature, value, power)[0]))
        moved.append(bool(value[0] != feature["start"]))
    for limit in question["max_changes"]:
        named = range(len(moved)) if limit["features"] is None else limit["features"]
        if sum(moved[index] for index in named) > limit["count"]:
            raise RejectedError("the answer changes more features than it may")
    return max(paid) if math.isinf(power) else math.fsum(paid)


def decided(model: Model, rows: Array) -> Array:
    """The classes that the library predicts; Rejected where the trees as read here say another.

    Parameters
    ----------
    model : as read
    rows : float64 (n_rows, n_columns)
    """
    told = model.predict(rows)
    for row, own in zip(rows, told.tolist(), strict=True):
        lead = model.sums(row)[own] - model.sums(row)
        if any(lead[k] < model.needed(own, k) - SUMMED for k in range(lead.size) if k != own):
            raise RejectedError("the library decides a row otherwise than its trees as read here")
    return told


def check_answer(record: Any, model: Model, wanted: list[int], below: float | None) -> None:
    """The answer's class, its cost, and whether the bound says what the status does.

    Parameters
    ----------
    record : as read from JSON
    model : as read
    wanted : class indices that would do
    below : the bound, None for no limit
    """
    status, distance = record["status"], record["distance"]
    if record["answer"] is None:
        if status != ("infeasible" if below is None else "unknown"):
            raise RejectedError(f"without an answer and with this bound nothing is {status}")
        return
    row = np.array(record["answer"]["row"], dtype=float)
    cost, told = exact_distance(record["question"], row.tolist()), float(distance)
    if int(decided(model, row[None, :])[0]) not in wanted:
        raise RejectedError("the model does not decide the answer as wanted")
    if not abs(cost - told) <= GAP * told:
        raise RejectedError(f"the answer costs {cost!r}, not {distance}")
    least = told * (1 - GAP) if status == "optimal" else 0.0
    if status not in ("optimal", "feasible") or below is None or not least <= below <= told:
        raise RejectedError(f"this bound does not make the answer {status}")


def check(record: Any, model: Any) -> str:
    """What a record proves of a model, as one sentence; RejectedError if it proves nothing.

    Parameters
    ----------
    record : as read from JSON
    model : fitted, of its own library
    """
    if (record["format"], record["version"]) != ("counterfolio-record", 1):
        raise RejectedError("this is no record of version 1")
    if record["proof"] is None:
        raise RejectedError(f"the record has no proof: {record['why_no_proof']}")
    own, question, proof = read(model), record["question"], record["proof"]
    if own.digest() != record["model"]["trees"]:
        raise RejectedError("the record is about another model: the digests of the trees differ")
    check_costs(question)
    row = np.array(record["query"], dtype=float)
    for feature in question["features"]:
        start = row[feature["columns"]]
        if feature["start"] != (start.argmax() if feature["kind"] == "categorical" else start[0]):
            raise RejectedError(f"{feature['name']} of the question is not that of the query")
    wanted, others = question["classes"], set(range(own.bias.size))
    others -= {int(decided(own, row[None, :])[0])}
    labels = [own.labels[index] for index in wanted]
    if not wanted or min(wanted) < 0 or len(set(wanted)) < len(wanted):
        raise RejectedError("the question names no class, or one twice")
    if set(wanted) != others if question["any_other"] else labels != [question["target"]]:
        raise RejectedError("the question's classes are not those of its target")
    below, lead = proof["below"] and float(proof["below"]), float(question["lead"])
    if lead < 0 or not (below is None or 0 <= below < math.inf):
        raise RejectedError("a bound or a lead is no number from 0 on")
    check_answer(record, own, wanted, below)
    if [cover["class"] for cover in proof["covers"]] != (wanted if below != 0 else []):
        raise RejectedError("not every class that is wanted has a cover")
    for cover in proof["covers"]:
        space = Space(own, question, below)
        rows = np.array(cover["refused"], dtype=float).reshape(-1, row.size)
        if rows.size and (decided(own, rows) == cover["class"]).any():
            raise RejectedError("a row that is said to be refused is decided as wanted")
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(base64.b64decode(cover["steps"], validate=True), MOST_BYTES)
        if not unpacked.eof:
            raise RejectedError("the steps are cut off, or too many")
        Cover(space, cover["class"], lead, cover).check(io.StringIO(text.decode("ascii")))
    cheaper = "" if below is None else f" cheaper than {proof['below']}"
    ahead = f" by a lead of {lead:g}" if lead else ""
    named = " or ".join(map(repr, labels))
    return f"verified: no admissible row{cheaper} is decided as {named}{ahead} by this model"
