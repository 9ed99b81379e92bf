"""Which question ``counterfolio batch`` asks of every row, from options and JSON."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from encoders.errors import InputError
from encoders.text_files import distinct_members
from portfolio.cli import options

if TYPE_CHECKING:
    from portfolio.explainer import Explainer

EXPLAIN = "explain"
METHODS = {"robust": "explain_robust"}  # where a command is not named as its method


def question_of(
    explainer: "Explainer", question: options.QuestionOptions, command: str, settings: str, X: Any
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What asks a batch, and the arguments that make the question."""
    words = question.words(explainer) | {"constraints": question.constraints()}
    more = _object(settings)
    if command == EXPLAIN:
        if more:
            raise InputError("--settings is for other questions than explain, which has options.")
        return explainer.explain_batch, words
    from portfolio.questions.batch_job import settings_of

    name = METHODS.get(command, command.replace("-", "_"))
    known = settings_of(name)
    _refuse_others(command, question, known)
    if "against" in known:
        more = {"against": _against(more)}
    if given := sorted(more.keys() & words.keys()):
        raise InputError(f"--settings has {given[0]!r}, for which there are options.")
    if "y" in more:
        more["y"] = _row(X, more["y"])
    return _by_name(explainer, name), {key: words[key] for key in words.keys() & known} | more


def _by_name(explainer: "Explainer", name: str) -> Callable[..., Any]:
    def ask(X: Any, **arguments: Any) -> Any:
        return explainer.ask_batch(name, X, **arguments)

    return ask


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=distinct_members)
    except (RecursionError, ValueError) as error:
        raise InputError(f"--settings {text}: {error}.") from error
    if not isinstance(found, dict):
        raise InputError(f'--settings {text}: expected a JSON object, as in {{"smallest": true}}.')
    return found


def _refuse_others(command: str, question: options.QuestionOptions, known: frozenset[str]) -> None:
    """A question must not be asked without what the user said of it."""
    if question.log is not None:
        raise InputError(f"--log is for explain; {command} keeps its answers in --out.")
    limits = {"fix", "increase", "decrease", "ranges", "max_changes", "constraints_file"}
    for field in fields(question):
        needs = "constraints" if field.name in limits else field.name
        asks = {"norm", "scale", "margin", "strategy", "constraints"}
        if needs in asks - known and getattr(question, field.name) != field.default:
            raise InputError(f"{command} takes no --{field.name.replace('_', '-')}.")


def _row(X: Any, place: Any) -> Any:
    if not isinstance(place, int) or not 0 <= place < len(X):
        raise InputError(f"--settings: y is the place of a row, from 0 to {len(X) - 1}.")
    return X.iloc[place]


def _against(settings: dict[str, Any]) -> Any:
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    if settings.keys() == {"around"}:
        return Around(settings["around"])
    if "confidence" in settings and settings.keys() <= {"confidence", "certainty"}:
        return Retraining(**settings)
    raise InputError(
        'robust needs --settings \'{"confidence": 0.9}\' or \'{"around": {"income": 50}}\'.'
    )
