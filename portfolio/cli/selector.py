"""The command line: ``counterfolio selector``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from encoders.core.errors import InputError
from portfolio.cli.options import TimeLimit
from portfolio.cli.output import Console, wide_console

app = typer.Typer(
    no_args_is_help=True, help="Train, evaluate and draw decision diagrams, which select backends."
)

Logs = Annotated[list[Path], typer.Argument(help="Log files and folders.")]
DiagramFile = Annotated[Path, typer.Argument(help="JSON file of the diagram.")]
Objective = Annotated[
    str, typer.Option(help="Objective: regret (in seconds) or accuracy (as in the paper).")
]
Skeleton = Annotated[
    str, typer.Option(help="Largest number of splits per layer: 1-2-2 or 1-2-2-2.")
]
Engine = Annotated[
    str, typer.Option(help="Learner: exact, or odtlearn (a tree, in a separate process).")
]
Thresholds = Annotated[
    int, typer.Option(min=1, help="Largest number of thresholds per descriptor.")
]
Local = Annotated[
    bool,
    typer.Option("--local", help="Also split on descriptors of the data set, as in the paper."),
]
Cores = Annotated[
    int, typer.Option(min=1, help="Cores per query: the largest number of backends that race.")
]
Backends = Annotated[str, typer.Option(help="Backends to select from: a,b. Default: all.")]
Switches = Annotated[
    int, typer.Option(min=0, help="Switch times to learn per backend, in addition to fixed ones.")
]
ContentionFile = Annotated[
    Path | None,
    typer.Option(
        help="Slowdown of races, as measured by bench --protocol contention. Default: the file in "
        "the folder of the logs."
    ),
]
OptionalDiagram = Annotated[
    Path | None,
    typer.Option("--diagram", help="JSON file. Default: the promoted or the shipped diagram."),
]


@app.command()
def train(
    logs: Annotated[list[Path] | None, typer.Argument(help="Log files and folders.")] = None,
    *,
    out: Annotated[Path, typer.Option(help="JSON file to write the diagram to.")],
    skeleton: Skeleton = "1-2-2",
    alpha: Annotated[
        str,
        typer.Option(
            help="Share of the single best backend's time that a split must save, or cv to choose "
            "it by cross-validation."
        ),
    ] = "cv",
    objective: Objective = "regret",
    engine: Engine = "exact",
    thresholds: Thresholds = 12,
    local: Local = False,
    cores: Cores = 2,
    switches: Switches = 0,
    backends: Backends = "",
    time_limit: TimeLimit = 600.0,
    from_service: Annotated[
        Path | None,
        typer.Option(help="Logs of counterfolio serve; only explored queries are used."),
    ] = None,
    contention: ContentionFile = None,
    promote: Annotated[
        bool, typer.Option("--promote", help="Make the diagram the default if it is better.")
    ] = False,
) -> None:
    """Learn a diagram from logs.

    With --promote it becomes the default of auto if it is better; otherwise the exit code is 3. The
    default is stored in $COUNTERFOLIO_CONFIG, else in $XDG_CONFIG_HOME/counterfolio, else in
    ~/.config/counterfolio.
    """
    from portfolio.cli.selector_report import (
        check_writable,
        promote_if_better,
        read_for_training,
        train_and_write,
    )
    from portfolio.cli.service_logs import explored
    from selector.learning.train import Recipe

    console = Console()
    recipe = Recipe(
        objective=_objective(objective),
        skeleton=skeleton,
        engine=_engine(engine),
        thresholds=thresholds,
        time_limit_s=time_limit,
        local=local,
        cores=cores,
        switches=switches,
    )
    check_writable(out)
    sources = [*(logs or ()), *([] if from_service is None else [explored(from_service)])]
    if not sources:
        raise InputError("no logs to learn from. Give log folders or --from-service.")
    data = read_for_training(sources, _several(backends), contention, cores, console)
    trained, recipe = train_and_write(data, recipe, _alpha(alpha), out, console)
    if promote and not promote_if_better(data, recipe, trained, console):
        raise typer.Exit(3)


@app.command()
def back(
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Undo all promotions: use the shipped diagram.")
    ] = False,
) -> None:
    """Undo the last promotion and restore the previous default diagram."""
    from selector.diagram_places import SHIPPED, go_back

    place, undone = go_back(shipped)
    kind = "shipped" if place == SHIPPED else "previous"
    message = f"Restored the {kind} diagram as the default: {place}. The undone one is {undone}."
    Console().print(message, highlight=False, soft_wrap=True, markup=False)


@app.command()
def evaluate(
    logs: Logs,
    diagram: Annotated[
        Path | None, typer.Option(help="JSON file of another diagram to evaluate.")
    ] = None,
    alpha: Annotated[str, typer.Option(help="As in train; cv chooses it in each fold.")] = "0.1",
    skeleton: Skeleton = "1-2-2",
    objective: Objective = "regret",
    thresholds: Thresholds = 6,
    local: Local = False,
    time_limit: TimeLimit = 600.0,
    cores: Cores = 2,
    switches: Switches = 0,
    backends: Backends = "",
    leave_out: Annotated[
        str,
        typer.Option(
            help="Hold-out schemes: data-set, question-type, norm, time; or several: a,b."
        ),
    ] = "data-set",
    contention: ContentionFile = None,
    field: Annotated[
        bool,
        typer.Option("--field", help="Also evaluate selectors from the literature; takes longer."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the table and the figure.")] = None,
) -> None:
    """Evaluate diagrams by cross-validation: train without one data set, test on it."""
    from portfolio.cli.evaluation_report import Judging, evaluate_and_print
    from portfolio.cli.selector_report import contention_for, read_examples
    from selector.learning.evaluate import check_left_out
    from selector.learning.train import Recipe

    recipe = Recipe(
        objective=_objective(objective),
        skeleton=skeleton,
        thresholds=thresholds,
        time_limit_s=time_limit,
        local=local,
        cores=cores,
        switches=switches,
    )
    protocols = check_left_out(part.strip() for part in leave_out.split(","))
    judging = Judging(recipe, _alpha(alpha), diagram, protocols, field)
    named = _several(backends)
    data, coverage = read_examples(logs, named, contention_for(logs, contention, cores))
    console = wide_console()
    console.print(str(coverage), highlight=False, soft_wrap=True)
    evaluate_and_print(data, judging, out, console)


@app.command()
def draw(
    diagram: DiagramFile,
    out: Annotated[Path, typer.Option(help="File to write: .svg, .dot or .txt.")],
    logs: Annotated[
        Path | None, typer.Option(help="Logs whose queries are counted at each node.")
    ] = None,
) -> None:
    """Draw a diagram as a picture, as a Graphviz file or as text."""
    from portfolio.cli.selector_report import draw_to_file

    Console().print(draw_to_file(diagram, out, logs), soft_wrap=True)


@app.command()
def show(diagram: OptionalDiagram = None) -> None:
    """Print a diagram and how it was made."""
    from portfolio.cli.selector_report import diagram_lines

    console = Console()
    for line in diagram_lines(diagram):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _objective(text: str) -> Literal["regret", "accuracy"]:
    if text == "regret":
        return "regret"
    if text == "accuracy":
        return "accuracy"
    raise InputError(f"--objective {text} is unknown. Use one of regret, accuracy.")


def _engine(text: str) -> str:
    if text not in ("exact", "odtlearn"):
        raise InputError(f"--engine {text} is unknown. Use one of exact, odtlearn.")
    return text


def _names(text: str) -> tuple[str, ...]:
    from encoders.backends.registry import find_backend

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return tuple(find_backend(name).name for name in names)


def _several(text: str) -> tuple[str, ...]:
    """Return the backends that a diagram chooses among; empty for all."""
    names = _names(text)
    if len({*names}) == 1:
        raise InputError(
            f"--backends {text} names one backend, and a diagram chooses among two or more. Name "
            "another one, or omit --backends."
        )
    return names


def _alpha(text: str) -> float | None:
    """Return alpha as a number; None for cross-validation."""
    if text == "cv":
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise InputError(f"--alpha {text} is invalid. Use a number from 0 to 1, or cv.") from error
    if not 0 <= value <= 1:
        raise InputError(f"--alpha {text} is invalid. Use a number from 0 to 1, or cv.")
    return value
