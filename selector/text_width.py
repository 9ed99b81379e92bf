"""Upper bounds of text widths in drawings whose font is not known."""

# Width in ems that no character of the group exceeds in DejaVu Sans Bold. That font is wider than
# the sans-serif fonts that browsers prefer.
GROUPS = (
    (0.48, "ijlftI.,:;'|!()[]-/ "),
    (0.68, "crszvxykJ_*?`"),
    (0.72, "abdeghnopqu0123456789$"),
    (0.88, "ABCDEFGHKLNOPQRSTUVXYZ≤≥<>=+~#&^"),
)
WIDEST = 1.11
WIDTH = {character: width for width, group in GROUPS for character in group}


def text_width(text: str, size: float) -> float:
    """Return an upper bound of the width of a line, in the unit of ``size``, the font height."""
    return size * sum(WIDTH.get(character, WIDEST) for character in text)


def wrapped(text: str, size: float, room: float) -> tuple[str, ...]:
    """Break a text at spaces into lines of at most ``room``; a wider word gets its own line.

    The lines get about equal lengths, as long as that does not need more lines.
    """
    lines = _filled(text, size, room)
    narrower = max(text_width(line, size) for line in lines)
    while True:
        shorter = _filled(text, size, narrower - size / 4)
        if len(shorter) > len(lines) or shorter == lines:
            return tuple(lines)
        lines, narrower = shorter, max(text_width(line, size) for line in shorter)


def _filled(text: str, size: float, room: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
