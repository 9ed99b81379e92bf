"""Answers of a service, converted to the objects that an Explainer returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from encoders.query.goal import Score
from portfolio.as_json import AsJson, as_plain
from portfolio.change import Change
from portfolio.model.frames import as_pandas
from portfolio.model.replaced import as_array, row_with, series_of
from portfolio.model.row import Row
from portfolio.result import Result
from portfolio.solving.rounder import Rounded
from portfolio.timings import Timings

Codes = Mapping[
    str, tuple[bool, bool]
]  # feature -> (value before is a code, value after is a code)


@dataclass(frozen=True, eq=False)
class ReceivedRow(Row):
    """A row that is known by the values of the user's columns only.

    Attributes
    ----------
    told : mapping or list, values by name or in order
    like : object, the query, which gives the type of the row
    """

    told: Any = None
    like: Any = None

    @staticmethod
    def of(told: Any, like: Any) -> "ReceivedRow":
        """Return the row with these values."""
        return ReceivedRow(np.empty(0), None, None, told, like)

    def given(self) -> Any:
        """Return the row in the type of the query."""
        like, kind = as_pandas(self.like)
        if isinstance(like, pd.DataFrame):
            changes = {}
            for at, name in enumerate(like.columns):
                value = self.told[str(name)]
                if as_plain(like.iloc[0, at]) != value:
                    changes[at] = np.nan if value is None else value
            return row_with(like if kind == "pandas" else self.like, changes, {})
        if not isinstance(self.told, Mapping):
            held = [np.nan if value is None else value for value in self.told]
            return np.array(held, dtype=object) if any(map(_is_text, held)) else as_array(held)
        found = series_of(dict(self.told))
        if isinstance(like, pd.Series):
            found.index, found.name = like.index, like.name
        return found

    def named(self) -> Any:
        """Return the values by name if the service named them, else the row in the query's type."""
        return dict(self.told) if isinstance(self.told, Mapping) else self.given()


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
    >>> from portfolio.service.received import Answer
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
            known = ", ".join(vars(self).get("content", ()))
            raise AttributeError(f"this answer has no {name!r}. Use one of {known}.") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain Python values, ready for JSON."""
        return self.content

    def __str__(self) -> str:
        return self.text


def result_of(document: Mapping[str, Any], x: Any, target: Any = None) -> Result:
    """Return the Result of :meth:`portfolio.explainer.Explainer.explain` in a response.

    The attempts of backends are not included, nor is anything that needs the model: region and
    record.
    """
    told, beside = document["answer"], document["beside"]
    codes = beside.get("codes", {})
    reached, changed = told["target"], _changes(told["changes"], beside["onward"], codes)
    result = Result(
        status=told["status"],
        stop_reason=told["stop_reason"],
        distance=_number(told["distance"]),
        lower_bound=_number(told["lower_bound"]),
        backend=told["backend"],
        target=_reached(reached, target),
        verified=told["verified"],
        timings=Timings(**told["timings"]),
        trace=tuple((s, _number(upper), _number(lower)) for s, upper, lower in told["trace"]),
        message=told["message"],
        remaining=tuple(told["left"]),
        changed=changed,
        certified_by=beside["certified_by"],
        decision=told["decision"],
        margin=told["margin"],
        first=told["first"],
        second=told["second"],
        row=_row(told["counterfactual"], x),
    )
    known = {
        "score": told["score"],
        "score_before": told["score_before"],
        "scored": beside["scored"],
        "told": tuple(Change(*own) for own in beside["told"]) if "told" in beside else changed,
        "rounded": _rounded(told["rounded"], beside["rounded_onward"], x, codes),
    }
    result.__dict__.update(known)  # cached values do not need the model
    return result


def _changes(told: list[dict[str, Any]], onward: list[bool], codes: Codes) -> tuple[Change, ...]:
    def coded(own: dict[str, Any]) -> tuple[bool, bool]:
        from_code, to_code = codes.get(own["feature"], (False, False))
        return from_code, to_code

    return tuple(
        Change(own["feature"], own["from"], own["to"], own["cost"], further, *coded(own))
        for own, further in zip(told, onward, strict=True)
    )


def _row(told: Any, x: Any) -> ReceivedRow | None:
    return None if told is None else ReceivedRow.of(told, x)


def _rounded(
    told: dict[str, Any] | None, onward: list[bool], x: Any, codes: Codes
) -> Rounded | None:
    if told is None:
        return None
    changed = _changes(told["changes"], onward, codes)
    return Rounded(
        told["distance"], told["dearer"], changed, ReceivedRow.of(told["counterfactual"], x)
    )


def _reached(told: Any, asked: Any) -> Any:
    """Return the requested target if it has no JSON type and was reached, else the text of it."""
    if isinstance(asked, tuple | list):
        asked = Score(*asked)
    return asked if not isinstance(asked, str) and str(asked) == told else told


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _number(told: float | None) -> float:
    return inf if told is None else told
