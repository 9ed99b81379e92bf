"""Commands that ask one question about one row, derived from the records of questions.

Each record of :mod:`portfolio.questions.records` about a row is a command. Its fields are options;
:data:`SPELLINGS` has those that are spelled differently on the command line.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from encoders.core.errors import InputError
from encoders.core.text_files import names_in
from portfolio.cli import options
from portfolio.cli.one_row import Asked, RowOptions, without_log
from portfolio.cli.output import EXIT_CODES
from portfolio.questions.records import QUESTIONS, QuestionType, Text, texts_of

RENAMED = {"explain_robust": "robust"}
WITHIN = ("verify",)  # questions that are options of another command
# Fields that the shared options set.
SHARED = frozenset(
    ("target", "constraints", "margin", "strategy", "weights", "time_limit_s", "threads", "seed")
)
EXITS = "Exit codes as for explain."
WHY_NOT_CODES = {"minimal": 0, "feasible": 1, "conflict": 3, "unknown": 5}
REGION, RADIUS = "region", "radius"
# Options of a query that questions without costs take.
GOAL = ("target", "probability", "score")
LIMITS = ("fix", "increase", "decrease", "ranges", "max_changes", "constraints_file")
PLOT = Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf.")]
RADIUS_OPTION = Annotated[
    float | None, typer.Option(help="Verify this radius instead of minimising.")
]


@dataclass(frozen=True)
class Spelling:
    """Options that stand for one field of a question.

    Attributes
    ----------
    parameters : annotation and default of each option, by name.
    read : function from the values of the options and the query to that of the field.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    read: Callable[[dict[str, Any], Asked], Any]


def _numbers(values: dict[str, Any], query: Asked) -> list[float] | None:
    text = values["levels"]
    try:
        return [float(part) for part in names_in(text)] or None
    except ValueError as error:
        raise InputError(
            f"--levels {text} cannot be read. Write numbers such as 0.6,0.7,0.8."
        ) from error


def _other_row(values: dict[str, Any], query: Asked) -> Any:
    return options.pick(query.data.X, values["other"], query.place)


def _variation(values: dict[str, Any], query: Asked) -> Any:
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    confidence, around = values["confidence"], values["around"]
    options.one_of("--confidence", confidence, "--around", around or None)
    if confidence is not None:
        return Retraining(confidence, values["certainty"])
    radii = {}
    for part in names_in(around):
        name, _, radius = part.partition("=")
        try:
            radii[name.strip()] = float(radius)
        except ValueError as error:
            raise InputError(f"--around {part} cannot be read. Write name=radius.") from error
    return Around(radii)


def _option(kind: Any, *names: str, **settings: Any) -> Any:
    return Annotated[kind, typer.Option(*names, **settings)]


SPELLINGS: Mapping[str, Spelling] = {
    "k": Spelling(
        {"k": (_option(int, "--count", help="Number of answers, or the largest number."), MISSING)},
        lambda values, query: values["k"],
    ),
    "levels": Spelling(
        {
            "levels": (
                _option(
                    str,
                    help="Numbers of changes, or lower limits of the probability: 0.6,0.7,0.8.",
                ),
                "",
            )
        },
        _numbers,
    ),
    "order": Spelling(
        {"order": (_option(str, help="Features that come first: a,b."), "")},
        lambda values, query: names_in(values["order"]) or None,
    ),
    "y": Spelling(
        {
            "other": (
                _option(int, help="Row with a different prediction, counted from 0."),
                inspect.Parameter.empty,
            )
        },
        _other_row,
    ),
    "bounds": Spelling(
        {
            "unbounded": (
                _option(bool, "--unbounded", help="Also search beyond the features' bounds."),
                False,
            )
        },
        lambda values, query: None if values["unbounded"] else "features",
    ),
    "against": Spelling(
        {
            "confidence": (
                _option(
                    float | None, help="Probability that a retrained forest predicts the same: 0.9."
                ),
                None,
            ),
            "certainty": (
                _option(
                    float | None,
                    help="Probability that the share of votes is not overestimated. Needs "
                    "--confidence.",
                ),
                None,
            ),
            "around": (
                _option(
                    str,
                    help="Largest deviation from the answer per feature: income=50,age=1.",
                ),
                "",
            ),
        },
        _variation,
    ),
    "norm": Spelling({"norm": (options.Norm, MISSING)}, lambda values, query: values["norm"]),
    "scale": Spelling(
        {"scale": (_option(str, help="Scaling of costs: range, std, mad or none."), MISSING)},
        lambda values, query: values["scale"],
    ),
}


def question_commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """Yield the name and the function of each command that asks about one row."""
    for record in QUESTIONS.values():
        if not record.table and record.name not in (*WITHIN, REGION):
            yield command_name(record.name), _command(record)
    yield REGION, region


def command_name(question: str) -> str:
    """Return the name of the command of a question."""
    return RENAMED.get(question, question).replace("_", "-")


def question_name(command: str) -> str:
    """Return the name of the question of a command."""
    names = {command_name(name): name for name in QUESTIONS}
    return names.get(command, command.replace("-", "_"))


def _command(record: type[QuestionType]) -> Callable[..., None]:
    """Return the command of a question; its options are those of the record's fields."""
    about, spelled = _shared(record), _spelled(record)
    more = {RADIUS: (RADIUS_OPTION, None)} if record.name == "robustness" else {}
    groups = {"model": options.ModelOptions, "one": RowOptions}
    parameters = [_parameter(name, kind, inspect.Parameter.empty) for name, kind in groups.items()]
    shared = {each.name: each for each in options.parameters_of(options.QuestionOptions)}
    if record.name == "reasons":  # explains the prediction instead of another class
        words = "Class to explain. Default: the predicted class."
        shared["target"] = _parameter("target", _option(list[str] | None, help=words), None)
    parameters += [shared[name] for name in about]
    for spelling in spelled.values():
        parameters += [_parameter(name, *rest) for name, rest in spelling.parameters.items()]
    parameters += [_parameter(name, *rest) for name, rest in more.items()]
    parameters.append(_parameter("plot", PLOT, None))

    def command(**values: Any) -> None:
        _run(record, {name: values.pop(name) for name in about}, spelled, values)

    command.__name__ = record.name
    summary = (record.__doc__ or "").partition("\n")[0].replace("``", "")
    command.__doc__ = f"{summary}\n\n{_exits(record.name)}"
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return options.spread(command)


def _exits(name: str) -> str:
    if name == "robustness":
        return f"{EXITS} With --radius: 0 robust, 1 not robust, 5 unknown."
    if name == "why_not":
        return (
            "Exit code: 0 if all is proved, 1 if a counterfactual exists, 3 if not all is proved, "
            "5 unknown."
        )
    return EXITS


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def _shared(record: type[QuestionType]) -> tuple[str, ...]:
    """Return the names of the options of a query that a question takes."""
    names = {each.name for each in fields(record)}
    if "margin" in names:
        return tuple(each.name for each in fields(options.QuestionOptions))
    goal = GOAL if "target" in names else ()
    return (*goal, "features", *(LIMITS if "constraints" in names else ()))


def _spelled(record: type[QuestionType]) -> dict[str, Spelling]:
    """Return the options of the fields that no shared options set."""
    excluded = SHARED | set(_shared(record))
    types, texts = get_type_hints(record), texts_of(record)
    spelled = {}
    for field in fields(record):
        if field.name in excluded:
            continue
        if field.name in SPELLINGS:
            spelling = SPELLINGS[field.name]
            parameters = {
                name: (kind, _default(field) if default is MISSING else default)
                for name, (kind, default) in spelling.parameters.items()
            }
            spelled[field.name] = Spelling(parameters, spelling.read)
        else:
            option = _plain_option(field.name, types[field.name], texts[field.name])
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            spelled[field.name] = Spelling({field.name: (option, default)}, partial(_same, field))
    return spelled


def _same(field: "Field[Any]", values: dict[str, Any], query: Asked) -> Any:
    return values[field.name]


def _default(field: "Field[Any]") -> Any:
    return str(field.default) if field.name == "norm" else field.default


def _plain_option(name: str, kind: Any, text: Text) -> Any:
    """Return the option of a field with a plain type, named like the field."""
    words = text.words.replace("``", "")
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:  # the question itself refuses other texts
        return _option(str, help=f"{words} One of {', '.join(map(str, choices))}.")
    names = (f"--{name.replace('_', '-')}",) if kind is bool else ()
    return _option(kind, *names, help=words)


def _run(
    record: type[QuestionType],
    about: dict[str, Any],
    spelled: dict[str, Spelling],
    values: dict[str, Any],
) -> None:
    """Ask the question of a command, and print the answer."""
    model, one, names = values["model"], values["one"], {each.name for each in fields(record)}
    shared = options.QuestionOptions(**about)
    constraints = without_log(shared).constraints()
    query = one.read_query(model, shared)
    words = shared.words(query.explainer) | {"constraints": constraints} | one.limits(model.seed)
    settings = {name: value for name, value in words.items() if name in names}
    settings |= {name: spelling.read(values, query) for name, spelling in spelled.items()}
    if values.get(RADIUS) is not None:
        record, settings = QUESTIONS["verify"], settings | {RADIUS: values[RADIUS]}
    answer = query.explainer.ask(query.row, record(**settings))
    if values["plot"] is not None:
        _draw(answer, values["plot"])
    query.print(answer, one.as_json, _exit_code(answer))


def _exit_code(answer: Any) -> int:
    if getattr(answer, RADIUS, None) is not None:  # a check of a radius
        return {True: 0, False: 1, None: EXIT_CODES["unknown"]}[answer.robust]
    codes = WHY_NOT_CODES if hasattr(answer, "conflict") else EXIT_CODES
    return codes[answer.status]


def _draw(answer: Any, path: Path) -> None:
    if not hasattr(answer, "plot"):
        raise InputError("--plot is not supported by this command. Omit it.")
    try:
        answer.plot().savefig(path)
    except ValueError as error:
        raise InputError(f"--plot {path}: {error}.") from error


@options.spread
def region(
    model: options.ModelOptions,
    question: options.QuestionOptions,
    one: RowOptions,
    itself: Annotated[
        bool, typer.Option("--itself", help="Enclose the row itself instead of its counterfactual.")
    ] = False,
    order: Annotated[str, typer.Option(help="Features to widen first: a,b.")] = "",
) -> None:
    """Find a box around a counterfactual in which the prediction stays the same.

    Exit codes as for explain.
    """
    constraints = without_log(question).constraints()
    query = one.read_query(model, question)
    words = question.words(query.explainer)
    first, limits = names_in(order) or None, one.limits(model.seed)
    if itself:
        box = query.explainer.region(query.row, words["target"], order=first, **limits)
    else:
        result = query.explainer.explain(query.row, constraints=constraints, **words, **limits)
        if result.row is None:
            query.print(result, one.as_json)
        box = result.region(first, **limits)
    query.print(box, one.as_json)
