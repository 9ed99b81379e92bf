"""Records of answers: query, answer and proof in one document that others can check."""

import gzip
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole
from encoders.query.features import TRUTHS, Feature
from encoders.query.goal import ClassGoal, Goal, ValueGoal, Wanted
from encoders.query.query import Query
from portfolio.checker import MOST_POWER, MOST_WORK, check
from portfolio.engine.findings import TOO_SMALL
from portfolio.engine.question import Question, check_from_0
from portfolio.engine.warm_up import warm_up
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import wanted_of
from portfolio.model.native import NativeModel
from portfolio.proofs.columns import columns_of, limits_of
from portfolio.proofs.prove import Cover, Limits, prove
from portfolio.proofs.trees_read import trees_read, whole_of
from portfolio.results.codec import AsJson, encode
from portfolio.results.result import Result
from portfolio.results.rule_words import rule_words
from portfolio.workers.interrupt import run_interruptible

FORMAT, VERSION = "counterfolio-record", 5
# Factors of a bound: what the search proves, and the smaller value that the record claims.
# The difference allows for rounding.
PROVED, CLAIMED = 1 - 5e-10, 1 - 2e-9

PLAIN_ONLY = (
    "pipelines, native categories, missing values, isolation forests and further models are not "
    "supported"
)


@dataclass(frozen=True)
class Record(AsJson):
    """A versioned record of one answer, with a proof if there is one.

    Attributes
    ----------
    content : dict of plain values; ``docs/reference/proof-records.md`` describes the members.
    """

    content: dict[str, Any]

    @property
    def proved(self) -> bool:
        """True if the record contains a proof; else :attr:`why_not` is the reason."""
        return self.content["proof"] is not None

    @property
    def why_not(self) -> str:
        """Reason why the proof is missing, "" if there is one."""
        return str(self.content["why_no_proof"])

    def __str__(self) -> str:
        if self.proved:
            steps = sum(len(cover["steps"]) for cover in self.content["proof"]["covers"])
            return f"record of status {self.content['status']}, with a proof of {steps} bytes."
        return f"record of status {self.content['status']}, without a proof: {self.why_not}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return self.content

    def check(self, model: Any, work: float = MOST_WORK) -> str:
        """Return the verdict of the independent checker, as one sentence."""
        check_from_0("work", work)
        return check(json.loads(self.to_json()), model, work)

    def write(self, path: str | Path) -> None:
        """Write the record as JSON, compressed if the name ends in ``.gz``; whole or not at all."""
        text = self.to_json().encode() + b"\n"
        content = gzip.compress(text, mtime=0) if str(path).endswith(".gz") else text
        try:
            replace_whole(Path(path), lambda partial: partial.write_bytes(content))
        except OSError as error:
            raise InputError(
                f"cannot write the record to {path} ({error.strerror}). Choose another file."
            ) from error


@dataclass(frozen=True, eq=False)
class NumberLimits:
    """Limits of one of the model's own numbers."""

    output: str | None  # name of the output; None if the model has one
    native: NativeModel
    goal: ValueGoal

    def number(self, row: FloatArray) -> float:
        """Return the number of a row."""
        return float(self.native.values(row[None, :], self.goal.scale, self.goal.output)[0])

    def content(self, query: FloatArray) -> dict[str, Any]:
        """Return the limits and the number of the query as plain values."""
        goal, classes = self.goal, self.native.classes
        return {
            "output": self.output,
            "number": goal.scale,
            "class": _label(classes[goal.output]) if goal.scale == "probability" else None,
            "lower": goal.low if goal.low > -np.inf else None,
            "upper": goal.high if goal.high < np.inf else None,
            "query": self.number(query),
        }


@dataclass(frozen=True, eq=False)
class Recorder:
    """A factory of records, which keeps the model and the query of a result."""

    model: ExplainedModel  # the explained model
    question: Question  # settings as given by the user
    query: Query  # resolved for the row
    goals: tuple[Goal, ...]  # the target: a class each, or limits on a number

    def __call__(
        self,
        result: Result,
        limits: Limits,
        reasons: Sequence[str] = (),
    ) -> Record:
        """Return the record of a result."""
        proof = self._without_proof(result) or self._proof(result, limits)
        why = proof if isinstance(proof, str) else ""
        space, row = self.model.space, None if result.row is None else result.row.values
        content = {
            "format": FORMAT,
            "version": VERSION,
            "counterfolio": version("counterfolio"),
            "model": self._model(),
            "columns": list(space.columns),
            "features": [_in_words(each) for each in space.features],
            "query": self.query.row.tolist(),
            "query_class": self._class_now(),
            "question": self._question(),
            "status": result.status,
            "stop_reason": result.stop_reason,
            "distance": result.distance,
            "lower_bound": result.lower_bound,
            "answer": None
            if row is None
            else {
                "row": row.tolist(),
                "class": _label(result.target) if self.model.aim is None else self._target(),
                "numbers": [each.number(row) for each in self._limits()],
                "score": result.score,
                "score_before": result.score_before,
                "onward": [change.feature for change in result.changed if change.onward],
            },
            "message": result.message,
            "claimed_by": {
                "backend": result.backend,
                "decision": result.decision,
                "certified_by": result.certified_by,
                "attempts": [
                    {"backend": a.backend, "status": a.status, "stop_reason": a.stop_reason}
                    for a in result.attempts
                ],
            },
            "seconds": result.timings.total,
            "created": datetime.now(UTC).date().isoformat(),
            "reasons": list(reasons),
            "why_no_proof": why,
        }
        plain = encode(content)
        return Record(plain | {"proof": None if why else proof})

    def _class_now(self) -> Any:
        """Return the model's own prediction for the query; None for a regressor."""
        if not self.model.native.classes:
            return None
        labels = [_prediction(native, self.query.row) for native in self._natives()]
        return labels[0] if self.model.aim is None else self._by_output(labels)

    def _model(self) -> dict[str, Any]:
        native, digest = self.model.native, self.model.once(trees_read).digest
        kind = type(native.model if self.model.aim is None else whole_of(native.model))
        library = kind.__module__.partition(".")[0]
        name = {"sklearn": "scikit-learn"}.get(library, library)
        several = self.model.aim is not None
        outputs = {"outputs": [*map(str, self.model.output_names)]} if several else {}
        return {
            "type": kind.__name__,
            "library": f"{name} {version(name)}" if digest else library,
            "classes": self._classes(),
            "trees": digest,
            "file": self.model.file_digest,
            **outputs,
        }

    def _classes(self) -> Any:
        """Return the class labels of the model, or of each output that the target names."""
        labels = [[_label(each) for each in native.classes] for native in self._natives()]
        return labels[0] if self.model.aim is None else self._by_output(labels)

    def _natives(self) -> list[NativeModel]:
        """Return the model, or that of each output that the target names."""
        model = self.model
        others = [] if model.aim is None else model.views[0].companions
        return [model.native, *(oracle.native for oracle in others)]

    def _by_output(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return values of the outputs that the target names, by name."""
        assert self.model.aim is not None
        return dict(zip(map(str, self.model.aim), values, strict=True))

    def _question(self) -> dict[str, Any]:
        query, unit = self.query, self.model.ensemble.margin_unit
        power = query.cost.power
        space = self.model.space
        return {
            "target": self._target(),
            "numbers": [each.content(query.row) for each in self._limits()],
            "margin": query.margin,
            "lead": query.margin * unit,
            "scale": self.question.scale,
            "power": int(power) if power.is_integer() else power,
            "constraints": [
                rule_words(each, space, query.row) for each in self.question.constraints
            ],
            "columns": columns_of(space, query),
            "limits": limits_of(space, query),
        }

    def _goals(self) -> list[tuple[str | None, NativeModel, Goal]]:
        """Return the goals of the model, or that of each output that the target names."""
        if self.model.aim is None:
            return [(None, self.model.native, goal) for goal in self.goals]
        further = [each.goal for each in self.model.views[0].ensemble.companions]
        goals = [self.goals[0], *further]
        return list(zip(map(str, self.model.aim), self._natives(), goals, strict=True))

    def _limits(self) -> list["NumberLimits"]:
        """Return the limits of the numbers that the target is about; none for classes."""
        return [
            NumberLimits(output, native, goal)
            for output, native, goal in self._goals()
            if isinstance(goal, ValueGoal)
        ]

    def _target(self) -> Any:
        """Return the target, by output if there are several."""
        if self.model.aim is not None:
            return _labels(self.model.aim)
        return _label(wanted_of(self.model, self.question.target) or self.question.target)

    def _without_proof(self, result: Result) -> str:
        """Return the reason why no proof could be checked, or "" if it could."""
        model, query = self.model, self.query
        if result.status == "unknown" and result.lower_bound <= 0:
            return "no bound is known"
        if TOO_SMALL in result.message:
            return "the cost of the change is too small for float64"
        if self._limits():
            return "only classes are supported as targets"
        if len(model.aim or ()) > 1 and query.margin > 0:
            return "a margin is not supported for several outputs"
        if query.related is not None:
            return "relations between features are not supported"
        if any(callable(own) for own in query.cost.own):
            return "cost functions are not supported"
        power = query.cost.power
        if np.isfinite(power) and not (power.is_integer() and power <= MOST_POWER):
            return f"norms other than 0, 1, ..., {MOST_POWER} and inf are not supported"
        ensemble = model.ensemble
        joined = any(view.ensemble.companions for view in model.views) and model.aim is None
        if joined or ensemble.sets is not None or model.native.table is not None:
            return PLAIN_ONLY
        for feature in model.space.features:
            if feature.one_hot and (feature.has_base or not query.row[list(feature.columns)].any()):
                return "one-hot groups with a base category are not supported"
        if any(f.missing or f.coded or f.codes for f in model.space.features) or ensemble.unsure:
            return PLAIN_ONLY
        return self.model.once(trees_read).refusal

    def _proof(self, result: Result, limits: Limits) -> dict[str, Any] | str:
        # A backend's "optimal" may leave a small gap; the recorded search leaves none.
        bound = result.distance if result.status == "optimal" else result.lower_bound
        if bound == 0:
            return {"below": 0.0, "covers": []}
        below = float(bound * CLAIMED) if np.isfinite(bound) else None
        covers: list[Cover] = []
        for goal in self.goals:
            assert isinstance(goal, ClassGoal)
            room = replace(limits, n_bytes=limits.n_bytes - sum(len(c.steps) for c in covers))
            cover = prove(self.model, self.query, goal, bound * PROVED, below, room)
            if isinstance(cover, str):
                return cover
            covers.append(cover)
        return {
            "below": below,
            "covers": [each.to_dict() for each in covers],
        }


def _in_words(feature: Feature) -> dict[str, Any]:
    """Return the description of a feature for readers; the checker ignores it."""
    return {
        "name": feature.name,
        "kind": feature.kind,
        "columns": list(feature.columns),
        "values": list(feature.values),
        "labels": list(feature.labels or (TRUTHS if feature.truth else ())),
    }


def _prediction(native: NativeModel, row: FloatArray) -> Any:
    """Return the prediction of an output for a row: a label, or a number of a regressor."""
    if not native.classes:
        return float(native.values(row[None, :], "prediction", 0)[0])
    return _label(native.classes[int(native.predict(row[None, :])[0])])


def _labels(aim: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the targets of several outputs as JSON values, by name."""
    return {str(name): _label(value) for name, value in aim.items()}


def _label(value: Any) -> Any:
    """Return a class label as a JSON value, or a goal in words."""
    if isinstance(value, Wanted):
        return value.words()
    return value.item() if isinstance(value, np.generic) else value


def record_of(
    model: ExplainedModel,
    question: Question,
    query: Query,
    goals: tuple[Goal, ...],
    result: Result,
    time_limit_s: float,
    reasons: list[str],
    proof_mb: float,
) -> Record:
    """Return the record of a result, with a proof if the limits allow it."""
    check_from_0("time_limit_s", time_limit_s)
    check_from_0("proof_mb", proof_mb)
    warm_up("proofs")
    stop, began = threading.Event(), time.perf_counter()
    recorder = Recorder(model, question, replace(query, margin=result.margin), goals)
    limits = Limits(1e6 * proof_mb, began + time_limit_s, stop.is_set)
    return run_interruptible(partial(recorder, result, limits, reasons), stop)
