"""Answers of a service, converted to the objects that an Explainer returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from encoders.query.goal import Score
from portfolio.questions.groups.audit import Audit
from portfolio.questions.groups.group import GroupRecourse
from portfolio.results.change import Change
from portfolio.results.codec import AsJson
from portfolio.results.result import Computed, Result

# feature -> (value before is a code, value after is a code)
Codes = Mapping[str, tuple[bool, bool]]
Rows = Sequence[Mapping[str, Any]]


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
    beside, result = document["beside"], Result.from_dict(document["answer"])
    codes, rounded = beside.get("codes", {}), result.rounded
    if rounded is not None:
        changed = _changes(rounded.changed, beside["rounded_onward"], codes)
        rounded = replace(rounded, changed=changed, row=_like(rounded.row, x))
    wording = tuple(Change(*change) for change in beside["told"]) if "told" in beside else None
    return replace(
        result,
        target=_reached(result.target, target),
        changed=_changes(result.changed, beside["onward"], codes),
        certified_by=beside["certified_by"],
        row=_like(result.row, x),
        computed=Computed(result.score, result.score_before, beside["scored"], wording, rounded),
    )


def _changes(changes: Sequence[Change], onward: list[bool], codes: Codes) -> tuple[Change, ...]:
    return tuple(
        Change(c.feature, c.before, c.after, c.cost, further, *codes.get(c.feature, (False, False)))
        for c, further in zip(changes, onward, strict=True)
    )


def _like(row: Any, x: Any) -> Any:
    """Return a received row in the type of the query."""
    return None if row is None else replace(row, like=x)


def _reached(reached: Any, target: Any) -> Any:
    """Return the requested target if it has no JSON type and was reached, else the text of it."""
    if isinstance(target, tuple | list):
        target = Score(*target)
    return target if not isinstance(target, str) and str(target) == reached else reached


def group_of(
    answer: Mapping[str, Any], rows: Rows, ids: Sequence[Any], target: Any
) -> GroupRecourse:
    """Return the GroupRecourse of a response; see Explainer.explain_group."""
    group = GroupRecourse.from_dict(answer)
    after = pd.DataFrame(list(rows))
    if len(after):
        after = after.drop(columns="id").set_axis([ids[row["id"]] for row in rows], axis=0)
    actions = (replace(each, rows=tuple(ids[at] for at in each.rows)) for each in group.actions)
    members = (replace(each, id=ids[each.id]) for each in group.members)
    return replace(
        group,
        target=target,
        actions=tuple(actions),
        members=tuple(members),
        counterfactuals=after,
    )


def audit_of(answer: Mapping[str, Any], rows: Rows, ids: Sequence[Any], target: Any) -> Audit:
    """Return the Audit of a response; see Explainer.audit."""
    audit, answers = Audit.from_dict(answer), pd.DataFrame(list(rows))
    if len(answers):
        names = {str(group.name): group.name for group in audit.groups}
        answers["id"] = [ids[at] for at in answers["id"]]
        answers["group"] = [names[name] for name in answers["group"]]
    return replace(audit, answers=answers, target=target)
