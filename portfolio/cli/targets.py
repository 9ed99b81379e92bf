"""Parsers of the target and goal options."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from encoders.core.errors import InputError
from encoders.core.text_files import distinct_members
from encoders.query.goal import Beat, Less, More, Probability, Score


def parse_target(text: str | None, classes: tuple[Any, ...]) -> Any:
    """Return the label with this text, or the text itself, which the explainer then rejects."""
    if text is None:
        return None
    return next((label for label in classes if str(label) == text), text)


def parse_outputs(
    option: str, text: str | None, outputs: Mapping[Any, Sequence[Any]]
) -> dict[Any, Any]:
    """Return the targets of several outputs, written as ``name=label,name=label``."""
    if option:
        raise InputError(f"{option} does not support models of several outputs. Use --target.")
    targets = {}
    for part in (text or "").split(","):
        name, equals, label = part.partition("=")
        output = next((each for each in outputs if str(each) == name.strip()), None)
        if output is None or not equals:
            first = next(iter(outputs))
            example = f"{first}={outputs[first][0] if outputs[first] else '10:20'}"
            raise InputError(
                f"the model has the outputs {', '.join(map(repr, outputs))}. Give --target a label "
                f"or limits for one or more of them, such as {example}."
            )
        if outputs[output]:
            targets[output] = parse_target(label.strip(), tuple(outputs[output]))
        else:
            targets[output] = Score(*_limits("--target", label))
    return targets


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
    if option == "--beat":
        return Beat(_row(option, text))
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


def _row(option: str, text: str) -> Any:
    try:
        row = json.loads(text, object_pairs_hook=distinct_members)
    except (RecursionError, ValueError) as error:
        raise InputError(
            f'{option} {text} is not valid JSON: {error}. Write a row: {{"age": 30}}.'
        ) from error
    if not isinstance(row, dict | list):
        raise InputError(f'{option} {text} is not a row. Write it like {{"age": 30}}.')
    return row


def _number(option: str, text: str, shape: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{option} {text} cannot be read. Write {shape}, in numbers.") from error
