"""HTML for notebooks: escaped text, tables and folded sections in the colours of the page."""

import html
from collections.abc import Iterable, Sequence

from encoders.core.visible_text import visible

# Half-transparent grey lines are visible in light and dark themes.
CELL = "padding:.3em .8em .3em 0;text-align:left;vertical-align:top;border-bottom:1px solid #8888"
TABLE = "border-collapse:collapse;margin:.5em 0;background:none"


def escape(text: str) -> str:
    """Return a text escaped for HTML, with control characters as visible escapes."""
    return html.escape(visible(text))


def paragraph(text: str) -> str:
    """Return a text as an HTML paragraph."""
    return f'<p style="margin:.3em 0">{escape(text)}</p>'


def lines(text: str) -> str:
    """Return lines as HTML paragraphs; consecutive lines that begin with a dash become a list."""
    parts: list[str] = []
    for line in text.splitlines():
        if not line.startswith("- "):
            parts.append(paragraph(line))
            continue
        if not (parts and parts[-1].endswith("</ul>")):
            parts.append("<ul></ul>")
        parts[-1] = f"{parts[-1].removesuffix('</ul>')}<li>{escape(line[2:])}</li></ul>"
    return "".join(parts)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; the first cell of each row is its header."""
    inside = table_inside(columns, rows, f' style="{CELL}"', ' style="background:none"')
    return f'<table style="{TABLE}">{inside}</table>'


def table_inside(
    columns: Sequence[str], rows: Iterable[Sequence[str]], cell: str = "", line: str = ""
) -> str:
    """Return the head and the body of an HTML table."""
    head = "".join(f'<th scope="col"{cell}>{escape(each)}</th>' for each in columns)
    body = "".join(
        f'<tr{line}><th scope="row"{cell}>{escape(first)}</th>'
        + "".join(f"<td{cell}>{escape(each)}</td>" for each in others)
        + "</tr>\n"
        for first, *others in rows
    )
    return f"<thead><tr{line}>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"


def folded(title: str, content: str) -> str:
    """Return a section that opens when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
