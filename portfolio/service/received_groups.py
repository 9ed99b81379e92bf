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


def group_of(
    answer: Mapping[str, Any], rows: Rows, ids: Sequence[Any], target: Any
) -> GroupRecourse:
    """Return the GroupRecourse of a response; see Explainer.explain_group."""
    actions = [
        GroupAction(
            tuple(GroupStep(**step) for step in member["steps"]),
            tuple(ids[at] for at in member["rows"]),
            member["mean_cost"],
        )
        for member in answer["actions"]
    ]
    members = [
        GroupMember(
            ids[member["id"]], member["state"], member["action"], _number(member["distance"])
        )
        for member in answer["members"]
    ]
    after = pd.DataFrame(list(rows))
    if len(after):
        after = after.drop(columns="id").set_axis([ids[row["id"]] for row in rows], axis=0)
    plain = {name: answer[name] for name in answer if name not in ("rows", "actions", "members")}
    return GroupRecourse(
        **plain
        | {"target": target, "budget": _number(answer["budget"])}
        | {"actions": tuple(actions), "members": tuple(members), "counterfactuals": after}
    )


def audit_of(answer: Mapping[str, Any], rows: Rows, ids: Sequence[Any], target: Any) -> Audit:
    """Return the Audit of a response; see Explainer.audit."""
    groups = tuple(AuditGroup(**_with_estimates(member)) for member in answer["groups"])
    differences = tuple(
        AuditDifference(**_with_estimates(member)) for member in answer["differences"]
    )
    answers = pd.DataFrame(list(rows))
    if len(answers):
        names = {str(group.name): group.name for group in groups}
        answers["id"] = [ids[at] for at in answers["id"]]
        answers["group"] = [names[name] for name in answers["group"]]
    converted = {"groups": groups, "differences": differences, "answers": answers, "target": target}
    return Audit(**{**answer, **converted})


def _with_estimates(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _estimate(value) if isinstance(value, Mapping) else value
        for name, value in members.items()
    }


def _estimate(members: Mapping[str, Any]) -> Estimate:
    """Return an estimate; null stands for an infinite end, or for no interval if both are null."""
    low = -inf if members["low"] is None else members["low"]
    lower, upper = members["ci_low"], members["ci_high"]
    if lower is not None or upper is not None:
        lower, upper = (-inf if lower is None else lower), _number(upper)
    return Estimate(low, _number(members["high"]), lower, upper)


def _number(value: float | None) -> float:
    return inf if value is None else value
