"""A record as a page that people read: one HTML file, without scripts and without network."""

from html import escape
from typing import Any

from encoders.errors import InputError
from portfolio.change import exactly, in_short

STYLE = """
body { font: 1.05rem/1.5 Georgia, serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: #111; background: #fff }
h1, h2 { line-height: 1.2 } h2 { margin-top: 2rem }
table { border-collapse: collapse; width: 100% } caption { text-align: left; font-style: italic }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
  border-bottom: 1px solid #767676 }
dt { font-weight: bold } dd { margin: 0 0 .6rem 0; overflow-wrap: anywhere }
@media print { body { margin: 0; max-width: none; font-size: 11pt } h2 { break-after: avoid }
  tr, dd { break-inside: avoid } }
"""
PROVED = {
    "optimal": "It is proved that no smaller change is enough.",
    "infeasible": "It is proved that no change that is allowed would have been enough.",
    "feasible": "A smaller change may be enough; it is not proved that none is.",
    "unknown": "No such change was found in the time that there was, and none is ruled out.",
}


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
        if (record["format"], record["version"]) != ("counterfolio-record", 1):
            raise InputError("this is no record of version 1.")
        return _page(record)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise InputError(f"this is no whole record: {type(error).__name__} {error}.") from error


def _page(record: Any) -> str:
    question = record["question"]
    wanted = "another class" if question["any_other"] else repr(question["target"])
    parts = [
        "<h1>A decision, and what would have changed it</h1>",
        _section("What was decided", _decided(record, wanted)),
        _section("What would have been enough", _enough(record)),
        *([_section("Principal reasons", _listed(record["reasons"]))] if record["reasons"] else []),
        _section("The row, and what was allowed", _features(record)),
        _section("How sure this is", _sure(record)),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Decision record: {escape(wanted)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(parts)}</main>\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def _listed(lines: list[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{escape(line)}</li>\n" for line in lines) + "</ul>\n"


def _decided(record: Any, wanted: str) -> str:
    model, created = record["model"], record["created"]
    said = (
        f"The model, {model['type']} of {model['library']}, decided this row as "
        f"{record['query_class']!r}. Asked on {created}: what is the smallest change with which it "
        f"decides for {wanted}?"
    )
    return f"<p>{escape(said)}</p>\n"


def _enough(record: Any) -> str:
    answer = record["answer"]
    proved = f"<p>{escape(PROVED[record['status']])}</p>\n"
    if answer is None:
        return proved
    if not answer["changes"]:
        return f"<p>{escape('Nothing needs to change.')}</p>\n"
    lines = [
        f"{change['feature']}: from {in_short(change['before'])} to {exactly(change['after'])}"
        for change in answer["changes"]
    ]
    together = "All of these together:" if len(lines) > 1 else "This alone:"
    after = f"<p>The model then decides as {escape(repr(answer['class']))}.</p>\n"
    return f"<p>{together}</p>\n{_listed(lines)}{after}{proved}"


def _features(record: Any) -> str:
    rows = []
    for feature in record["question"]["features"]:
        start, labels = feature["start"], feature["labels"]
        one_hot = feature["kind"] == "categorical" and labels
        own = labels[int(start)] if one_hot and start is not None else in_short(start)
        cells = (feature["name"], str(own), _allowed(feature))
        rows.append(
            f'<tr><th scope="row">{escape(cells[0])}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells[1:])
            + "</tr>\n"
        )
    rules = record["question"]["constraints"]
    told = f"<p>Rules that were asked for:</p>\n{_listed(rules)}" if rules else ""
    return (
        "<table>\n<caption>Values as the model reads them</caption>\n<thead><tr>"
        '<th scope="col">Feature</th><th scope="col">Value</th>'
        '<th scope="col">What it may become</th></tr></thead>\n<tbody>\n'
        f"{''.join(rows)}</tbody>\n</table>\n{told}"
    )


def _allowed(feature: Any) -> str:
    lower, upper, labels = feature["lower"], feature["upper"], feature["labels"]
    if lower is not None and lower == upper:
        return "stays as it is" if feature["start"] == lower else in_short(lower)
    values = feature["values"]
    if feature["kind"] == "categorical" and labels:
        places = range(len(labels)) if values is None else map(int, values)
        kept = [labels[at] for at in places if (lower or 0) <= at <= (upper or len(labels))]
        return "stays as it is" if kept == [labels[int(feature["start"])]] else ", ".join(kept)
    if values is not None:
        return ", ".join(map(in_short, values))
    ends = [
        "" if lower is None else f"at least {in_short(lower)}",
        "" if upper is None else f"at most {in_short(upper)}",
    ]
    step = f"in steps of {in_short(feature['step'])}" if feature["step"] else ""
    whole = "whole numbers" if feature["kind"] == "ordinal" else ""
    return ", ".join(filter(None, [whole, *ends, step])) or "any number"


def _sure(record: Any) -> str:
    proof, claimed = record["proof"], record["claimed_by"]
    checked = (
        "It carries a proof that anybody can check with the model's file: counterfolio-check."
        if proof is not None
        else f"It carries no proof for others: {record['why_no_proof']}."
    )
    told = {
        "Status": record["status"],
        "Distance": record["distance"] or "none",
        "Nothing is cheaper than": record["lower_bound"] or "there is none at all",
        "Claimed by": claimed["backend"],
        "Proof": checked,
        "SHA-256 of the model's trees": record["model"]["trees"] or "not taken",
        "Made by": f"counterfolio {record['counterfolio']}, {record['model']['library']}",
        "Made on": record["created"],
        **({"Remark": record["message"]} if record["message"] else {}),
    }
    items = (f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>\n" for k, v in told.items())
    return f"<dl>\n{''.join(items)}</dl>\n"
