"""Groups and audits of a service, converted to the objects that an Explainer returns."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import pandas as pd

from portfolio.questions.groups.audit import Audit, AuditDifference, AuditGroup
from portfolio.questions.groups.audit_statistics import Estimate
from portfolio.questions.groups.group import GroupAction, GroupMember, GroupRecourse
from portfolio.questions.groups.group_action import GroupStep

Rows = Sequence[Mapping[str, Any]]


def group_of(told: Mapping[str, Any], rows: Rows, ids: Sequence[Any], target: Any) -> GroupRecourse:
    """Return the GroupRecourse of a response; see Explainer.explain_group."""
    actions = [
        GroupAction(
            tuple(GroupStep(**step) for step in own["steps"]),
            tuple(ids[at] for at in own["rows"]),
            own["mean_cost"],
        )
        for own in told["actions"]
    ]
    members = [
        GroupMember(ids[own["id"]], own["state"], own["action"], _number(own["distance"]))
        for own in told["members"]
    ]
    after = pd.DataFrame(list(rows))
    if len(after):
        after = after.drop(columns="id").set_axis([ids[row["id"]] for row in rows], axis=0)
    plain = {name: told[name] for name in told if name not in ("rows", "actions", "members")}
    return GroupRecourse(
        **plain
        | {"target": target, "budget": _number(told["budget"])}
        | {"actions": tuple(actions), "members": tuple(members), "counterfactuals": after}
    )


def audit_of(told: Mapping[str, Any], rows: Rows, ids: Sequence[Any], target: Any) -> Audit:
    """Return the Audit of a response; see Explainer.audit."""
    groups = tuple(AuditGroup(**_with_estimates(own)) for own in told["groups"])
    differences = tuple(AuditDifference(**_with_estimates(own)) for own in told["differences"])
    answers = pd.DataFrame(list(rows))
    if len(answers):
        names = {str(group.name): group.name for group in groups}
        answers["id"] = [ids[at] for at in answers["id"]]
        answers["group"] = [names[name] for name in answers["group"]]
    own = {"groups": groups, "differences": differences, "answers": answers, "target": target}
    return Audit(**{**told, **own})


def _with_estimates(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _estimate(value) if isinstance(value, Mapping) else value
        for name, value in told.items()
    }


def _estimate(told: Mapping[str, Any]) -> Estimate:
    """Return an estimate; null stands for an infinite end, or for no interval if both are null."""
    low = -inf if told["low"] is None else told["low"]
    left, right = told["ci_low"], told["ci_high"]
    if left is not None or right is not None:
        left, right = (-inf if left is None else left), _number(right)
    return Estimate(low, _number(told["high"]), left, right)


def _number(told: float | None) -> float:
    return inf if told is None else told
