"""The HTML report of a record: one file, without scripts and without network access."""

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from encoders.core.as_html import escape, table_inside
from encoders.core.errors import InputError
from portfolio.proofs.columns import FURTHEST
from portfolio.results.change import Change, in_short

# Head and explanation of each status.
PROVED = {
    "optimal": ("Proved.", "No smaller allowed change is enough."),
    "infeasible": ("Proved.", "No allowed change would have been enough."),
    "feasible": ("Not proved.", "A smaller change may also be enough."),
    "unknown": (
        "Unknown.",
        "No such change was found within the time limit, and none is ruled out.",
    ),
}
PROOFS = ("optimal", "infeasible")
FIRST = ("Feature", "Actual value")  # first columns of tables
NUMBERED = re.compile(r"\d+\. ")


def report(record: Any) -> str:
    """Return the report as HTML; raise InputError if the record is invalid."""
    try:
        if (record["format"], record["version"]) != ("counterfolio-record", 5):
            raise InputError("the record is not of version 5. Create it again.")
        return _page(record)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the record is incomplete ({type(error).__name__}: {error}). Create it again."
        ) from error


def _page(record: Any) -> str:
    reasons = record["reasons"]
    outcome = _outcome(record)
    parts = [
        "<h1>A decision, and what would have changed it</h1>\n",
        _facts(record, outcome),
        _section("What would have been enough", _enough(record)),
        *([_section("Reasons", _reasons(reasons))] if reasons else []),
        _section("Allowed changes", _features(record)),
        _section("How this report was made", _origin(record)),
    ]
    style = files("portfolio.proofs").joinpath("report.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>A decision, and what would have changed it: {escape(_reached(record, outcome))}"
        "</title>\n"
        f"<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(parts)}</main>\n</body>\n</html>\n"
    )


def _outcome(record: Any) -> str:
    """Return the requested outcome in words."""
    target, now = record["question"]["target"], record["query_class"]
    if target is not None:
        return _words(target)
    return "another class" if now is None else f"any class other than {now}"


def _reached(record: Any, outcome: str) -> str:
    """Return the class that the answer reaches, or the requested outcome without an answer."""
    answer = record["answer"]
    if record["question"]["target"] is not None or answer is None:
        return outcome
    return _words(answer["class"])


def _words(label: Any) -> str:
    """Return a label as text, or the labels of several outputs."""
    if isinstance(label, dict):
        return ", ".join(f"{name}: {value}" for name, value in label.items())
    return str(label)


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


def _fact_list(facts: Mapping[str, str], kind: str) -> str:
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>\n"
        for name, value in facts.items()
    )
    return f'<dl class="{kind}">\n{items}</dl>\n'


def _facts(record: Any, outcome: str) -> str:
    """Return the prediction, the requested outcome and the date; a regressor has no decision."""
    now = record["query_class"]
    decided = {} if now is None else {"The model's decision": _words(now)}
    facts = _fact_list(
        {**decided, "Requested outcome": outcome, "Date": record["created"]}, "facts"
    )
    purpose = (
        "This report shows the smallest change with which the model would have reached the "
        "requested outcome, and whether that is proved."
    )
    return facts + _paragraph(purpose)


def _enough(record: Any) -> str:
    return _answered(record) + _status(record["status"])


def _status(status: str) -> str:
    head, meaning = PROVED[status]
    kind = "status" if status in PROOFS else "status open"
    return f'<p class="{kind}"><strong>{escape(head)}</strong> {escape(meaning)}</p>\n'


def _answered(record: Any) -> str:
    answer = record["answer"]
    if answer is None:
        return ""
    changes = _changes(record, answer)
    if not changes:
        return _paragraph("Nothing needs to change.")
    rows = [(each.feature, in_short(each.before), each.reached) for each in changes]
    together = "All of these changes together" if len(rows) > 1 else "This change alone"
    then = f"The model then predicts: {_words(answer['class'])}."
    several = isinstance(answer["class"], dict)
    if not several and answer["class"] not in record["model"]["classes"]:
        numbers = f"{in_short(answer['score'])} instead of {in_short(answer['score_before'])}"
        then = f"The model then reaches {answer['class']}: {numbers}."
    return _table(together, (*FIRST, "Would have been enough"), rows, "changes") + _paragraph(then)


def _changes(record: Any, answer: Any) -> list[Change]:
    """Return the differences between query and answer, computed from both rows."""
    changes = []
    for feature in record["features"]:
        before, after = (_value(feature, row) for row in (record["query"], answer["row"]))
        if before != after:
            was, becomes = _readable(feature, before), _readable(feature, after)
            onward = feature["name"] in answer["onward"]
            changes.append(Change(feature["name"], was, becomes, 0.0, onward))
    return changes


def _reasons(lines: Sequence[str]) -> str:
    """Return reasons as HTML: numbered lines as a list, others as paragraphs."""
    numbered = [NUMBERED.sub("", line, count=1) for line in lines if NUMBERED.match(line)]
    others = [line for line in lines if not NUMBERED.match(line)]
    return "".join(map(_paragraph, others)) + (_listed(numbered, "ol") if numbered else "")


def _features(record: Any) -> str:
    rows = []
    for feature in record["features"]:
        start = _value(feature, record["query"])
        named = _category(feature) and start is not None
        value = feature["labels"][int(start)] if named else in_short(start)
        rows.append((feature["name"], str(value), _allowed(feature, record, start)))
    rules = record["question"]["constraints"]
    table = _table(
        "The row as the model reads it, and the values that each feature could take",
        (*FIRST, "Allowed values"),
        rows,
    )
    return table + (_paragraph("Requested constraints:") + _listed(rules) if rules else "")


def _category(feature: Any) -> bool:
    return feature["kind"] == "categorical" and bool(feature["labels"])


def _value(feature: Any, row: Sequence[Any]) -> Any:
    """Return the feature's value in a row; for a one-hot group, the index of its category."""
    entries = [row[column] for column in feature["columns"]]
    return (
        entries.index(1) if len(entries) == len(feature["labels"]) and 1 in entries else entries[0]
    )


def _readable(feature: Any, value: Any) -> object:
    """Return a value for readers: the label of a category or of a binary value."""
    labels = feature["labels"]
    if not labels or value is None:
        return value
    places = range(len(labels)) if _category(feature) else feature["values"]
    return dict(zip(places, labels, strict=False)).get(value, value)


def _allowed(feature: Any, record: Any, start: Any) -> str:
    columns = [record["question"]["columns"][column] for column in feature["columns"]]
    column, labels = columns[0], feature["labels"]
    values = _within(column["values"], column["lower"], column["upper"])
    if _category(feature):
        places = values if column["values"] else list(range(len(labels)))
        if len(columns) == len(labels):
            places = [place for place, entry in enumerate(columns) if 1 in entry["values"]]
        allowed = [labels[int(at)] for at in places if at == int(at) and 0 <= at < len(labels)]
        stays = start is not None and allowed == [labels[int(start)]]
        return "stays as it is" if stays else ", ".join(allowed)
    if values:
        return "stays as it is" if values == [start] else ", ".join(map(in_short, values))
    lower, upper, step = (column[name] for name in ("lower", "upper", "step"))
    if lower == upper:
        return "stays as it is" if start == lower else in_short(lower)
    whole = "a whole number" if feature["kind"] == "ordinal" else ""
    steps = f"in steps of {in_short(step)}" if step and not (whole and step == 1) else ""
    return " ".join(filter(None, [whole, _between(lower, upper), steps])) or "any number"


def _within(values: Iterable[float], lower: float, upper: float) -> list[float]:
    """Return the values within the bounds, which the checker also admits."""
    return [value for value in values if lower <= value <= upper]


def _between(lower: float, upper: float) -> str:
    least = f"at least {in_short(lower)}" if lower > -FURTHEST else ""
    most = f"at most {in_short(upper)}" if upper < FURTHEST else ""
    return f"from {in_short(lower)} to {in_short(upper)}" if least and most else least or most


def _origin(record: Any) -> str:
    proof, model = record["proof"], record["model"]
    checked = (
        "The record contains a proof. Check it with counterfolio-check and the model file."
        if proof is not None
        else f"The record contains no proof: {record['why_no_proof']}."
    )
    facts = {
        "Model": f"{model['type']} ({model['library']})",
        "SHA-256 of the trees": model["trees"] or "not computed",
        "SHA-256 of the model file": model.get("file") or "unknown",
        "Status": record["status"],
        "Size of the change": _bound(record["distance"], "none"),
        "Proved lower bound": _bound(record["lower_bound"], "no change is enough"),
        "Found by": record["claimed_by"]["backend"],
        "Proof": checked,
        "Created with": f"counterfolio {record['counterfolio']}, on {record['created']}",
        **({"Remark": record["message"]} if record["message"] else {}),
    }
    return _fact_list(facts, "small")


def _bound(bound: float | None, otherwise: str) -> str:
    return otherwise if bound is None else repr(bound)
