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


TARGET = "--target"
Outputs = Mapping[Any, Sequence[Any]]  # labels of each output by its name, empty for numbers


def parse_outputs(
    texts: Sequence[str], option: str, more: str | None, outputs: Outputs
) -> dict[Any, Any]:
    """Return the targets of several outputs, each text written as ``name=label,name=label``.

    ``option`` is the name of a further option and ``more`` its text. Only limits of probabilities
    are supported.
    """
    if option not in ("", "--probability"):
        raise InputError(f"{option} does not support models of several outputs. Use --target.")
    targets = _by_output(TARGET, texts, outputs)
    limits = _by_output("--probability", () if more is None else (more,), outputs)
    for name in limits:
        if name not in targets or not outputs[name]:
            raise InputError(
                f"--probability {name}={limits[name]} needs a class. Give --target {name}=CLASS."
            )
    return {
        name: Probability(_label(text, outputs[name]), *_limits("--probability", limits[name]))
        if name in limits
        else _output_target(text, outputs[name])
        for name, text in targets.items()
    }


def _by_output(option: str, texts: Sequence[str], outputs: Outputs) -> dict[Any, str]:
    """Return the text for each output; InputError if a text names none or one of them twice."""
    named = {str(name): name for name in outputs}
    by_name: dict[Any, str] = {}
    for part in (part for text in texts for part in _parts(text, outputs)):
        name, equals, text = (each.strip() for each in part.partition("="))
        if name not in named or not equals:
            example = f"{next(iter(outputs))}=0.8:" if option != TARGET else _example(outputs)
            raise InputError(
                f"{option} {part} names none of the outputs {', '.join(named)}. Write {option} "
                f"{example}{_naming(outputs)}."
            )
        if named[name] in by_name:
            raise InputError(f"{option} names the output {name} twice. Name it once.")
        by_name[named[name]] = text
    if not by_name and option == TARGET:
        raise InputError(
            f"the model has the outputs {', '.join(named)}. Give --target a label or limits for "
            f"one or more of them, such as {_example(outputs)}{_naming(outputs)}."
        )
    return by_name


def _example(outputs: Outputs) -> str:
    first, labels = next(iter(outputs.items()))
    return f"{first}={labels[0] if labels else '10:20'}"


def _naming(outputs: Outputs) -> str:
    """Return how to name outputs that have their places as names, else ""."""
    places = list(outputs) == list(range(len(outputs)))
    return ", or name the outputs with --outputs NAME,NAME" if places else ""


def _parts(text: str, outputs: Outputs) -> list[str]:
    """Split a text at commas, unless it is one label that contains some."""
    name, _, label = text.partition("=")
    whole = any(
        str(each) == name.strip() and label.strip() in map(str, labels)
        for each, labels in outputs.items()
    )
    return [text] if whole else text.split(",")


def _output_target(text: str, labels: Sequence[Any]) -> Any:
    return _label(text, labels) if labels else Score(*_limits(TARGET, text))


def _label(text: str, labels: Sequence[Any]) -> Any:
    return parse_target(text, tuple(labels))


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
