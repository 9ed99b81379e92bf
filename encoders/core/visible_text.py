"""Untrusted text made safe to print: no control characters, no change of writing direction."""

import re

# Control characters except tab and newline, marks and overrides of the writing direction, line and
# paragraph separators, and lone surrogates, which cannot be encoded.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return a text with its control characters as escapes, such as ``\x1b``."""
    return text if text.isprintable() else _HIDDEN.sub(_escaped, text)


def _escaped(match: "re.Match[str]") -> str:
    return ascii(match[0])[1:-1]
