"""Audits: solves every adverse row and aggregates the results by group."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.goal import ClassGoal
from encoders.query.names import feature_name
from portfolio.engine.question import Question
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.frames import as_pandas
from portfolio.model.goals import value_goal, wanted_of
from portfolio.model.tabular import read_rows
from portfolio.questions.groups.audit import Audit, AuditDifference, AuditGroup
from portfolio.questions.groups.audit_statistics import (
    Costs,
    Sampling,
    average,
    mean_difference,
    share,
    share_difference,
)
from portfolio.results.segments import Segments, segments_of

MOST_GROUPS, MOST_BANDS = 50, 20

Explain = Callable[[Any], pd.DataFrame]


@dataclass(frozen=True)
class Attribute:
    """Attribute that defines the groups.

    Attributes
    ----------
    by : str or sequence, name of a feature or a column, or the group of each row.
    reference : object, name of the group that the others are compared with; None for the largest.
    bands : int or None, number of bands of an attribute with more numbers.
    """

    by: Any
    reference: Any
    bands: int | None


def find_audit(
    model: ExplainedModel,
    X: Any,
    attribute: Attribute,
    question: Question,
    sampling: Sampling,
    explain: Explain,
) -> Audit:
    """Return the cost of recourse by group."""
    began = time.perf_counter()
    _check(question, sampling, model)
    _check_bands(attribute.bands)
    model.check_unchanged()
    frame, _ = as_pandas(X)
    _, _, read = read_rows(frame, model.space, model.input_type, model.native.table)
    wrong = next((at for at, values in enumerate(read) if isinstance(values, str)), None)
    if wrong is not None:
        raise InputError(f"row {wrong} of the table: {read[wrong]}")
    rows = np.array(read, dtype=np.float64).reshape(len(read), -1)
    model.check_decisions(rows)
    title, groups = _groups(model, frame, rows, attribute)
    first = _place(groups, attribute.reference)
    adverse = ~_reached(model, rows, question.target)
    places = np.flatnonzero(adverse)
    picked = frame.iloc[places] if isinstance(frame, pd.DataFrame) else np.asarray(frame)[places]
    answers = as_pandas(explain(picked))[0] if places.size else pd.DataFrame()
    of_answer = groups.of_row[places]
    lead = question.lead(model.ensemble.votes)
    costs = [_costs(answers, of_answer == at, lead) for at in range(len(groups.names))]
    described = [
        _group(name, groups.of_row == at, adverse, costs[at], sampling)
        for at, name in enumerate(groups.names)
    ]
    status, reason = _ended(answers, costs, lead)
    return Audit(
        status=status,
        stop_reason=reason,
        by=title,
        target=question.target,
        confidence=sampling.confidence,
        groups=tuple(described),
        differences=tuple(_differences(groups.names, costs, first, sampling)),
        seconds=time.perf_counter() - began,
        answers=answers.assign(group=[groups.names[at] for at in of_answer]),
    )


def _check(question: Question, sampling: Sampling, model: ExplainedModel) -> None:
    if question.target is None:
        raise InputError(
            "audit() needs the favourable outcome. Set target to a class, such as 'granted', or "
            "to a goal."
        )
    if wanted_of(model, question.target) is None:
        model.native.class_index(question.target)
    level = sampling.confidence
    if not (isinstance(level, float) and 0 < level < 1):
        raise InputError(f"confidence must be a float between 0 and 1, got {level!r}.")
    count = sampling.resamples
    if not isinstance(count, int) or isinstance(count, bool) or not 100 <= count <= 10**6:
        raise InputError(f"resamples must be a whole number from 100 to 10**6, got {count!r}.")


def _check_bands(bands: Any) -> None:
    whole = isinstance(bands, int) and not isinstance(bands, bool)
    if bands is not None and not (whole and 2 <= bands <= MOST_BANDS):
        raise InputError(f"bands must be a whole number from 2 to {MOST_BANDS}, got {bands!r}.")


def _groups(
    model: ExplainedModel, frame: Any, rows: FloatArray, attribute: Attribute
) -> tuple[str, Segments]:
    """Return the name of the attribute, and the group of each row."""
    by = attribute.by
    feature = model.space.named(feature_name(by)) if isinstance(by, Hashable) else None
    if feature is not None or isinstance(by, str):
        if feature is not None:
            at = model.space.features.index(feature)
            values: list[Any] = [feature.show(float(model.space.values(row)[at])) for row in rows]
        elif isinstance(frame, pd.DataFrame) and by in frame.columns:
            values = frame[by].tolist()
        else:
            names = [feature.name for feature in model.space.features]
            raise InputError(
                f"by={by!r} is not a feature.{close_names(by, names)} Use one of "
                f"{', '.join(names)}, a column of X, or one value per row."
            )
    else:
        values = list(by)
        if len(values) != len(rows):
            raise InputError(
                f"by has {len(values)} values, but there are {len(rows)} rows. Give one per row."
            )
    groups = segments_of(values, attribute.bands)
    count = len(groups.names)
    if not 1 <= count <= MOST_GROUPS:
        raise InputError(
            f"by has {count} different values, but an audit supports 1 to {MOST_GROUPS}. Put "
            "numbers into bands first, for example with bands=4 or pandas.cut."
        )
    return by if isinstance(by, str) else str(getattr(by, "name", None) or "group"), groups


def _place(groups: Segments, reference: Any) -> int:
    """Return the index of the reference group, which may be given as text."""
    if reference is None:
        return int(np.bincount(groups.of_row).argmax())
    for at, name in enumerate(groups.names):
        if name == reference or str(name) == str(reference):
            return at
    raise InputError(
        f"reference={reference!r} is not a group.{close_names(reference, groups.names)} Use one of "
        f"{', '.join(map(str, groups.names))}."
    )


def _reached(model: ExplainedModel, rows: FloatArray, target: Any) -> BoolArray:
    """Return which rows reach the target according to all models, bool (n_rows,)."""
    if not len(rows):
        return np.zeros(0, dtype=np.bool_)
    wanted, model = wanted_of(model, target), model.without_plausibility()
    if wanted is None:
        goal = ClassGoal(model.native.class_index(target))
        return model.oracle(goal.target).accepted(rows, goal, 0.0)
    goals = [value_goal(model, wanted, row) for row in rows]
    if model.also:
        each = zip(rows, goals, strict=True)
        return np.array([model.oracle(goal.target).accepts(row, goal) for row, goal in each])
    number = model.native.values(rows, goals[0].scale, goals[0].output)
    return np.array([g.low <= n <= g.high for g, n in zip(goals, number, strict=True)])


def _costs(answers: pd.DataFrame, mine: BoolArray, lead: float) -> Costs:
    if answers.empty:
        return Costs(np.zeros(0), np.zeros(0), np.zeros(0), 0)
    group = answers[mine]
    status = group["status"].to_numpy()
    upper = group["distance"].to_numpy(dtype=np.float64)
    lower = group["bound"].to_numpy(dtype=np.float64)
    # With another margin the proof covers only rows that have it.
    sure = group["margin"].to_numpy(dtype=np.float64) == lead
    lower = np.where((status == "optimal") & sure, upper, np.where(sure, lower, 0.0))
    without = (status == "infeasible") & sure
    has = np.isfinite(upper)
    bound = np.where(np.isfinite(lower), lower, 0.0)
    return Costs(bound[has], upper[has], bound[~has & ~without], int(without.sum()))


def _group(
    name: Any, mine: BoolArray, adverse: BoolArray, costs: Costs, sampling: Sampling
) -> AuditGroup:
    rows, bad = int(mine.sum()), int((mine & adverse).sum())
    return AuditGroup(
        name=name,
        rows=rows,
        adverse=bad,
        adverse_share=share(bad, 0, rows, sampling),
        without=share(costs.without, costs.open.size, bad, sampling) if bad else None,
        mean=average(costs, np.mean, sampling),
        median=average(costs, np.median, sampling),
        unproved=int((costs.lower < costs.upper).sum()) + costs.open.size,
    )


def _differences(
    names: Sequence[Any], costs: Sequence[Costs], first: int, sampling: Sampling
) -> list[AuditDifference]:
    differences = []
    for at, name in enumerate(names):
        if at == first or not (costs[at].rows and costs[first].rows):
            continue
        mean, mean_p = mean_difference(costs[at], costs[first], sampling)
        without, without_p = share_difference(costs[at], costs[first], sampling)
        differences.append(AuditDifference(name, names[first], mean, mean_p, without, without_p))
    return differences


def _ended(answers: pd.DataFrame, costs: Sequence[Costs], lead: float) -> tuple[Status, StopReason]:
    if all(each.proved for each in costs):
        return "optimal", "proved"
    settled = answers["status"].isin(["optimal", "infeasible"]) & (answers["margin"] == lead)
    reasons = [r for r in answers["stop_reason"][~settled] if r != "proved"]
    known = any(each.lower.size or each.without for each in costs)
    reason = str(reasons[0]) if reasons else "error"
    stop: StopReason = "time_limit" if reason == "deadline" else reason  # type: ignore[assignment]
    return ("feasible" if known else "unknown"), stop
