"""Parsers of the target and goal options."""

from typing import Any

from encoders.core.errors import InputError
from encoders.query.goal import Less, More, Probability, Score


def parse_target(text: str | None, classes: tuple[Any, ...]) -> Any:
    """Return the label with this text, or the text itself, which the explainer then rejects."""
    if text is None:
        return None
    return next((label for label in classes if str(label) == text), text)


def parse_goal(target: str | None, option: str, text: str | None, classes: tuple[Any, ...]) -> Any:
    """Return the label or the goal that the options describe."""
    label = parse_target(target, classes)
    if not option or text is None:
        return label
    if option == "--probability":
        if target is None:
            raise InputError(
                f"--probability {text} needs a class. Give --target, the class it applies to."
            )
        return Probability(label, *_limits(option, text))
    if target is not None:
        raise InputError(f"--target and {option} exclude each other. Give one of them.")
    if option == "--score":
        return Score(*_limits(option, text))
    kind = Less if option == "--less" else More
    number = _number(option, text.removesuffix("%"), "10 or 10%")
    return kind(percent=number) if text.endswith("%") else kind(by=number)


def _limits(option: str, text: str) -> tuple[float | None, float | None]:
    low, colon, high = text.partition(":")
    if not colon:
        raise InputError(f"{option} {text} cannot be read. Write low:high, low: or :high.")
    first, last = (
        _number(option, part, "low:high") if part.strip() else None for part in (low, high)
    )
    return first, last


def _number(option: str, text: str, shape: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{option} {text} cannot be read. Write {shape}, in numbers.") from error
