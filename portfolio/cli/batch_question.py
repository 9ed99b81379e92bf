"""The question method and its arguments for ``counterfolio batch``, from options and JSON."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from encoders.core.errors import InputError
from encoders.core.text_files import distinct_members
from portfolio.cli import options

if TYPE_CHECKING:
    from portfolio.api.explainer import Explainer

EXPLAIN = "explain"


def question_of(
    explainer: "Explainer", question: options.QuestionOptions, command: str, settings: str, X: Any
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function that answers a batch and the arguments of the question."""
    words = question.words(explainer) | {"constraints": question.constraints()}
    more = _object(settings)
    if command == EXPLAIN:
        if more:
            raise InputError("--settings does not apply to explain. Use its options instead.")
        return explainer.explain_batch, words
    from portfolio.batch.questions import settings_of
    from portfolio.cli.questions import question_name

    name = question_name(command)
    supported = settings_of(name)
    _refuse_others(command, question, supported)
    if "against" in supported:
        more = {"against": _against(more)}
    if shared := sorted(more.keys() & words.keys()):
        raise InputError(f"--settings contains {shared[0]!r}. Use the option of that name instead.")
    if "y" in more:
        more["y"] = _row(X, more["y"])
    return _by_name(explainer, name), {key: words[key] for key in words.keys() & supported} | more


def _by_name(explainer: "Explainer", name: str) -> Callable[..., Any]:
    def ask(X: Any, **arguments: Any) -> Any:
        return explainer.ask_batch(name, X, **arguments)

    return ask


def _object(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=distinct_members)
    except (RecursionError, ValueError) as error:
        raise InputError(
            f'--settings {text} is not valid JSON: {error}. Write an object: {{"smallest": true}}.'
        ) from error
    if not isinstance(content, dict):
        raise InputError(
            f'--settings {text} is not a JSON object. Write it like {{"smallest": true}}.'
        )
    return content


def _refuse_others(
    command: str, question: options.QuestionOptions, supported: frozenset[str]
) -> None:
    """Raise InputError if the user set an option that the question does not take."""
    if question.log is not None:
        raise InputError(f"{command} does not support --log. Omit it: answers are stored in --out.")
    limits = {"fix", "increase", "decrease", "ranges", "max_changes", "constraints_file"}
    for field in fields(question):
        needs = "constraints" if field.name in limits else field.name
        optional = {"norm", "scale", "margin", "strategy", "constraints"}
        if needs in optional - supported and getattr(question, field.name) != field.default:
            raise InputError(
                f"{command} does not support --{field.name.replace('_', '-')}. Omit it."
            )


def _row(X: Any, place: Any) -> Any:
    if not isinstance(place, int) or not 0 <= place < len(X):
        raise InputError(
            f"--settings: y={place!r} is not a row number. Give a number from 0 to {len(X) - 1}."
        )
    return X.iloc[place]


def _against(settings: dict[str, Any]) -> Any:
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    if settings.keys() == {"around"}:
        return Around(settings["around"])
    if "confidence" in settings and settings.keys() <= {"confidence", "certainty"}:
        return Retraining(**settings)
    raise InputError(
        f"--settings {json.dumps(settings)} does not apply to robust. "
        'Write \'{"confidence": 0.9}\' or \'{"around": {"income": 50}}\'.'
    )
