"""How wide text may become in a drawing whose font is not known."""

# Widths in ems: no character of a group is wider in the bold weight of DejaVu Sans, which is wider
# than the sans-serif fonts that browsers take first.
GROUPS = (
    (0.48, "ijlftI.,:;'|!()[]-/ "),
    (0.68, "crszvxykJ_*?`"),
    (0.72, "abdeghnopqu0123456789$"),
    (0.88, "ABCDEFGHKLNOPQRSTUVXYZ≤≥<>=+~#&^"),
)
WIDEST = 1.11
WIDTH = {character: width for width, group in GROUPS for character in group}


def text_width(text: str, size: float) -> float:
    """At most how wide a line is, in the unit of ``size``, the height of the font."""
    return size * sum(WIDTH.get(character, WIDEST) for character in text)


def wrapped(text: str, size: float, room: float) -> tuple[str, ...]:
    """Lines as wide as there is room, broken at spaces; a word that is wider stands alone.

    Lines are made about equally long, without more of them.
    """
    lines = _filled(text, size, room)
    narrower = max(text_width(line, size) for line in lines)
    while True:
        found = _filled(text, size, narrower - size / 4)
        if len(found) > len(lines) or found == lines:
            return tuple(lines)
        lines, narrower = found, max(text_width(line, size) for line in found)


def _filled(text: str, size: float, room: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
