"""Answers of a service, converted to the objects that an Explainer returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from encoders.query.goal import Score
from portfolio.model.frames import as_pandas
from portfolio.model.row import Row, as_array, row_with, series_of
from portfolio.questions.groups.audit import Audit, AuditDifference, AuditGroup
from portfolio.questions.groups.audit_statistics import Estimate
from portfolio.questions.groups.group import GroupAction, GroupMember, GroupRecourse
from portfolio.questions.groups.group_action import GroupStep
from portfolio.results.as_json import AsJson, as_plain
from portfolio.results.change import Change
from portfolio.results.result import Computed, Result, Rounded
from portfolio.results.timings import Timings

# feature -> (value before is a code, value after is a code)
Codes = Mapping[str, tuple[bool, bool]]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class ReceivedRow(Row):
    """A row that is known by the values of the user's columns only.

    Attributes
    ----------
    content : mapping or list, values by name or in order
    like : object, the query, which gives the type of the row
    """

    content: Any = None
    like: Any = None

    @staticmethod
    def of(values: Any, like: Any) -> "ReceivedRow":
        """Return the row with these values."""
        return ReceivedRow(np.empty(0), None, None, values, like)

    def given(self) -> Any:
        """Return the row in the type of the query."""
        like, kind = as_pandas(self.like)
        if isinstance(like, pd.DataFrame):
            changes = {}
            for at, name in enumerate(like.columns):
                value = self.content[str(name)]
                if as_plain(like.iloc[0, at]) != value:
                    changes[at] = np.nan if value is None else value
            return row_with(like if kind == "pandas" else self.like, changes, {})
        if not isinstance(self.content, Mapping):
            values = [np.nan if value is None else value for value in self.content]
            return (
                np.array(values, dtype=object) if any(map(_is_text, values)) else as_array(values)
            )
        series = series_of(dict(self.content))
        if isinstance(like, pd.Series):
            series.index, series.name = like.index, like.name
        return series

    def named(self) -> Any:
        """Return the values by name if the service named them, else the row in the query's type."""
        return dict(self.content) if isinstance(self.content, Mapping) else self.given()


@dataclass(frozen=True)
class Answer(AsJson):
    """An answer of a service to a question other than ``explain``.

    The members of ``content`` are available as attributes.

    Attributes
    ----------
    content : dict
        The answer as plain Python values, as ``to_dict()`` returns it in process.
    text : str
        The answer in sentences, as ``str`` returns it in process.
    document : dict
        The whole response of the service: answer, model, question, request id and limits.

    Examples
    --------
    >>> from portfolio.client.received import Answer
    >>> answer = Answer({"features": ["income"]}, "income is sufficient.", {})
    >>> print(answer, answer.features)
    income is sufficient. ['income']
    """

    content: dict[str, Any]
    text: str
    document: dict[str, Any] = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["content"][name]
        except KeyError:
            names = ", ".join(vars(self).get("content", ()))
            raise AttributeError(f"this answer has no {name!r}. Use one of {names}.") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain Python values, ready for JSON.

        Examples
        --------
        >>> from portfolio.client.received import Answer
        >>> Answer({"features": ["income"]}, "income is sufficient.", {}).to_dict()
        {'features': ['income']}
        """
        return self.content

    def __str__(self) -> str:
        return self.text


def result_of(document: Mapping[str, Any], x: Any, target: Any = None) -> Result:
    """Return the Result of :meth:`portfolio.api.explainer.Explainer.explain` in a response.

    The attempts of backends are not included, nor is anything that needs the model: region and
    record.
    """
    answer, beside = document["answer"], document["beside"]
    codes = beside.get("codes", {})
    reached, changed = answer["target"], _changes(answer["changes"], beside["onward"], codes)
    return Result(
        status=answer["status"],
        stop_reason=answer["stop_reason"],
        distance=_number(answer["distance"]),
        lower_bound=_number(answer["lower_bound"]),
        backend=answer["backend"],
        target=_reached(reached, target),
        verified=answer["verified"],
        timings=Timings(**answer["timings"]),
        trace=tuple((s, _number(upper), _number(lower)) for s, upper, lower in answer["trace"]),
        message=answer["message"],
        remaining=tuple(answer["remaining"]),
        changed=changed,
        certified_by=beside["certified_by"],
        decision=answer["decision"],
        margin=answer["margin"],
        first=answer["first"],
        second=answer["second"],
        row=_row(answer["counterfactual"], x),
        computed=Computed(
            answer["score"],
            answer["score_before"],
            beside["scored"],
            tuple(Change(*change) for change in beside["told"]) if "told" in beside else None,
            _rounded(answer["rounded"], beside["rounded_onward"], x, codes),
        ),
    )


def _changes(changes: list[dict[str, Any]], onward: list[bool], codes: Codes) -> tuple[Change, ...]:
    def coded(change: dict[str, Any]) -> tuple[bool, bool]:
        from_code, to_code = codes.get(change["feature"], (False, False))
        return from_code, to_code

    return tuple(
        Change(entry["feature"], entry["from"], entry["to"], entry["cost"], further, *coded(entry))
        for entry, further in zip(changes, onward, strict=True)
    )


def _row(values: Any, x: Any) -> ReceivedRow | None:
    return None if values is None else ReceivedRow.of(values, x)


def _rounded(
    rounded: dict[str, Any] | None, onward: list[bool], x: Any, codes: Codes
) -> Rounded | None:
    if rounded is None:
        return None
    changed = _changes(rounded["changes"], onward, codes)
    return Rounded(
        rounded["distance"],
        rounded["extra_cost"],
        changed,
        ReceivedRow.of(rounded["counterfactual"], x),
    )


def _reached(reached: Any, target: Any) -> Any:
    """Return the requested target if it has no JSON type and was reached, else the text of it."""
    if isinstance(target, tuple | list):
        target = Score(*target)
    return target if not isinstance(target, str) and str(target) == reached else reached


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: float | None) -> float:
    return inf if value is None else value


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
