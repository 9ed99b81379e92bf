"""What notebooks show: text that nobody can break out of, in the ink that is around it."""

import html
from collections.abc import Iterable, Sequence

from encoders.visible_text import visible

# Lines of a half ink are seen in light and dark.
CELL = "padding:.3em .8em .3em 0;text-align:left;vertical-align:top;border-bottom:1px solid #8888"
TABLE = "border-collapse:collapse;margin:.5em 0;background:none"


def escape(text: str) -> str:
    """Return a text as HTML shows it, with control characters as escapes."""
    return html.escape(visible(text))


def paragraph(text: str) -> str:
    """Text as a paragraph."""
    return f'<p style="margin:.3em 0">{escape(text)}</p>'


def lines(text: str) -> str:
    """Paragraphs, and the lines that begin with a dash as a list."""
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
    """A table; the first cell of a row is its header."""
    inside = table_inside(columns, rows, f' style="{CELL}"', ' style="background:none"')
    return f'<table style="{TABLE}">{inside}</table>'


def table_inside(
    columns: Sequence[str], rows: Iterable[Sequence[str]], cell: str = "", line: str = ""
) -> str:
    """The head and the body of a table."""
    head = "".join(f'<th scope="col"{cell}>{escape(each)}</th>' for each in columns)
    body = "".join(
        f'<tr{line}><th scope="row"{cell}>{escape(first)}</th>'
        + "".join(f"<td{cell}>{escape(each)}</td>" for each in others)
        + "</tr>\n"
        for first, *others in rows
    )
    return f"<thead><tr{line}>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"


def folded(title: str, content: str) -> str:
    """What is shown when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
