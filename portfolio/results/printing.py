"""Numbers and lines of printed answers."""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from textwrap import wrap

WIDTH = 80  # columns of a terminal
DIGITS = 4  # significant digits of a printed number
MOST_DIGITS = 17  # digits that distinguish any two float64
INDENT = "  "  # of a line that continues the one above
LARGEST_WHOLE = 1e15  # numbers from here on are printed with an exponent
DECIMAL = Context(prec=400)


def short(number: float, digits: int = DIGITS) -> str:
    """Return a number rounded to the nearest one with four significant digits."""
    return _rounded(number, digits, ROUND_HALF_EVEN)


def at_least(number: float, digits: int = DIGITS) -> str:
    """Return a number rounded down, so that a printed lower bound is still proved."""
    return _rounded(number, digits, ROUND_FLOOR)


def at_most(number: float, digits: int = DIGITS) -> str:
    """Return a number rounded up, so that a printed upper bound is still proved."""
    return _rounded(number, digits, ROUND_CEILING)


def distinct(first: float, second: float) -> tuple[str, str]:
    """Return two numbers to the nearest, with as many digits as distinguish them."""
    digits = DIGITS
    while first != second and short(first, digits) == short(second, digits):
        digits += 1
        if digits == MOST_DIGITS:
            break
    return short(first, digits), short(second, digits)


def bounds(lower: float, upper: float) -> tuple[str, str]:
    """Return a lower bound rounded down and the number above it to the nearest.

    They have as many digits as distinguish them, so that a gap is visible.
    """
    digits = DIGITS
    while lower < upper and at_least(lower, digits) == short(upper, digits):
        digits += 1
        if digits == MOST_DIGITS:
            break
    return at_least(lower, digits), short(upper, digits)


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, such as "1 change" or "2 changes"."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def wrapped(lines: Iterable[str]) -> str:
    """Join lines, each broken at 80 columns; continued lines are indented."""
    every = "\n".join(lines).splitlines()
    return "\n".join("\n".join(_broken(line)) for line in every)


def unwrapped(text: str) -> str:
    """Return a text with continued lines joined again."""
    return text.replace(f"\n{INDENT}", " ")


def _broken(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    return wrap(
        line,
        WIDTH,
        subsequent_indent=INDENT,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _rounded(number: float, digits: int, rounding: str) -> str:
    if not math.isfinite(number) or number == 0:
        return f"{number:g}"
    exact = Decimal(repr(float(number)))
    last = exact.adjusted() + 1 - digits
    if abs(exact) < LARGEST_WHOLE:
        last = min(last, 0)  # digits before the point are all printed
    rounded = exact.quantize(Decimal(1).scaleb(last), rounding, context=DECIMAL)
    return repr(float(rounded)).removesuffix(".0")
