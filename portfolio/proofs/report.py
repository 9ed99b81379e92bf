"""A record as a page that people read: one HTML file, without scripts and without network."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import inf
from typing import Any

from encoders.as_html import table_inside
from encoders.errors import InputError
from portfolio.change import Change, in_short
from portfolio.proofs.report_style import STYLE

# How sure it is, and what that means.
PROVED = {
    "optimal": ("Proved.", "No smaller change that is allowed is enough."),
    "infeasible": ("Proved.", "No change that is allowed would have been enough."),
    "feasible": ("Not proved.", "A smaller change may be enough, too."),
    "unknown": (
        "Not known.",
        "No such change was found in the time that there was, and none is ruled out.",
    ),
}
PROOFS = ("optimal", "infeasible")
FIRST = ("Feature", "Was")  # of the columns of tables
NUMBERED = re.compile(r"\d+\. ")


def report(record: Any) -> str:
    """The page.

    Parameters
    ----------
    record : as read from JSON

    Raises
    ------
    InputError
        It is no record of a version that is known.
    """
    try:
        if (record["format"], record["version"]) != ("counterfolio-record", 3):
            raise InputError("this is no record of version 3.")
        return _page(record)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(f"this is no whole record: {type(error).__name__} {error}.") from error


def _page(record: Any) -> str:
    question, reasons = record["question"], record["reasons"]
    wanted = "another class" if question["target"] is None else str(question["target"])
    parts = [
        "<h1>A decision, and what would have changed it</h1>\n",
        _facts(record, wanted),
        _section("What would have been enough", _enough(record)),
        *([_section("Reasons", _reasons(reasons))] if reasons else []),
        _section("What was allowed", _features(record)),
        _section("How this was made", _made(record)),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>A decision, and what would have changed it: {escape(wanted)}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(parts)}</main>\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n"


def _listed(lines: Sequence[str], kind: str = "ul") -> str:
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<{kind}>\n{items}</{kind}>\n"


def _table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "values"
) -> str:
    inside = table_inside(columns, rows)
    return f'<table class="{kind}">\n<caption>{escape(caption)}</caption>\n{inside}</table>\n'


def _told(facts: Mapping[str, str], kind: str) -> str:
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>\n"
        for name, value in facts.items()
    )
    return f'<dl class="{kind}">\n{items}</dl>\n'


def _facts(record: Any, wanted: str) -> str:
    """What was decided and asked: none of it is about a class where a number is predicted."""
    now = record["query_class"]
    decided = {} if now is None else {"The model's decision": str(now)}
    facts = _told({**decided, "Asked for": wanted, "Made on": record["created"]}, "facts")
    told = (
        "This page tells the smallest change with which the model would have given what was asked "
        "for, and how sure that is."
    )
    return facts + _paragraph(told)


def _enough(record: Any) -> str:
    return _answered(record["answer"], record["model"]["classes"]) + _status(record["status"])


def _status(status: str) -> str:
    head, meaning = PROVED[status]
    kind = "status" if status in PROOFS else "status open"
    return f'<p class="{kind}"><strong>{escape(head)}</strong> {escape(meaning)}</p>\n'


def _answered(answer: Any, classes: Sequence[Any]) -> str:
    if answer is None:
        return ""
    if not answer["changes"]:
        return _paragraph("Nothing needs to change.")
    changes = [Change(**change) for change in answer["changes"]]
    rows = [(each.feature, in_short(each.before), each.reached) for each in changes]
    together = "All of these together" if len(rows) > 1 else "This alone"
    then = f"The model then decides: {answer['class']}."
    if answer["class"] not in classes:
        numbers = f"{in_short(answer['score'])} instead of {in_short(answer['score_before'])}"
        then = f"The model then gives {answer['class']}: {numbers}."
    return _table(together, (*FIRST, "Would have been enough"), rows, "changes") + _paragraph(then)


def _reasons(lines: Sequence[str]) -> str:
    """Numbered lines as a list, others as they are."""
    numbered = [NUMBERED.sub("", line, count=1) for line in lines if NUMBERED.match(line)]
    others = [line for line in lines if not NUMBERED.match(line)]
    return "".join(map(_paragraph, others)) + (_listed(numbered, "ol") if numbered else "")


def _features(record: Any) -> str:
    rows = []
    for feature in record["question"]["features"]:
        start, labels = _start(feature, record["query"]), feature["labels"]
        category = feature["kind"] == "categorical" and labels and start is not None
        told = labels[int(start)] if category else in_short(start)
        rows.append((feature["name"], str(told), _allowed(feature, start)))
    rules = record["question"]["constraints"]
    table = _table(
        "The row as the model reads it, and what was allowed to change",
        (*FIRST, "What it might become"),
        rows,
    )
    return table + (_paragraph("Rules that were asked for:") + _listed(rules) if rules else "")


def _start(feature: Any, row: Sequence[Any]) -> Any:
    """The feature's value in a row; of a one-hot group the place of its category."""
    own = [row[column] for column in feature["columns"]]
    return own.index(1) if len(own) == len(feature["labels"]) and 1 in own else own[0]


def _allowed(feature: Any, start: Any) -> str:
    lower, upper, labels = feature["lower"], feature["upper"], feature["labels"]
    if lower is not None and lower == upper:
        return "stays as it is" if start == lower else in_short(lower)
    values = feature["values"]
    if feature["kind"] == "categorical" and labels:
        places = range(len(labels)) if values is None else _within(values, 0, len(labels) - 1)
        kept = [labels[int(at)] for at in _within(places, lower, upper) if at == int(at)]
        return "stays as it is" if kept == [labels[int(start)]] else ", ".join(kept)
    if values is not None:
        return ", ".join(map(in_short, _within(values, lower, upper)))
    whole = "a whole number" if feature["kind"] == "ordinal" else ""
    any_step = feature["step"] is None or (whole and feature["step"] == 1)
    step = "" if any_step else f"in steps of {in_short(feature['step'])}"
    return " ".join(filter(None, [whole, _between(lower, upper), step])) or "any number"


def _within(values: Iterable[float], lower: float | None, upper: float | None) -> list[float]:
    """Those that the checker takes for admissible, too."""
    least, most = -inf if lower is None else lower, inf if upper is None else upper
    return [value for value in values if least <= value <= most]


def _between(lower: float | None, upper: float | None) -> str:
    if lower is None:
        return "" if upper is None else f"at most {in_short(upper)}"
    least = in_short(lower)
    return f"at least {least}" if upper is None else f"from {least} to {in_short(upper)}"


def _made(record: Any) -> str:
    proof, model = record["proof"], record["model"]
    checked = (
        "It carries a proof that anybody can check with the model's file: counterfolio-check."
        if proof is not None
        else f"It carries no proof for others: {record['why_no_proof']}."
    )
    told = {
        "Model": f"{model['type']} of {model['library']}",
        "SHA-256 of its trees": model["trees"] or "not taken",
        "Status": record["status"],
        "Size of the change": _bound(record["distance"], "none"),
        "Nothing is smaller than": _bound(record["lower_bound"], "there is none at all"),
        "Found by": record["claimed_by"]["backend"],
        "Proof": checked,
        "Made by": f"counterfolio {record['counterfolio']}, on {record['created']}",
        **({"Remark": record["message"]} if record["message"] else {}),
    }
    return _told(told, "small")


def _bound(told: float | None, otherwise: str) -> str:
    return otherwise if told is None else repr(told)
