"""The command line: ``counterfolio selector``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from encoders.errors import InputError
from portfolio.cli.options import TimeLimit
from portfolio.cli.output import Console, wide_console

app = typer.Typer(no_args_is_help=True, help="Learn, judge and draw what picks backends.")

Logs = Annotated[list[Path], typer.Argument(help="Folders and files of logs.")]
DiagramFile = Annotated[Path, typer.Argument(help="Diagram, a JSON file.")]
Objective = Annotated[str, typer.Option(help="regret (seconds) or accuracy (as in the paper).")]
Skeleton = Annotated[str, typer.Option(help="Most splits per layer: 1-2-2, or 1-2-2-2.")]
Engine = Annotated[str, typer.Option(help="exact, or odtlearn (a tree, in a process of its own).")]
Thresholds = Annotated[int, typer.Option(min=1, help="Most thresholds per descriptor.")]
Local = Annotated[
    bool, typer.Option("--local", help="Split also on what describes the data set, not the task.")
]
Cores = Annotated[int, typer.Option(min=1, help="That a query has: as many backends may race.")]
Backends = Annotated[str, typer.Option(help="Those to choose among, with commas; default all.")]
Switches = Annotated[
    int, typer.Option(min=0, help="Times of each backend to try when another follows or joins it.")
]
ContentionFile = Annotated[
    Path | None,
    typer.Option(help="What races cost, by bench --protocol contention. Default: beside the logs."),
]
OptionalDiagram = Annotated[
    Path | None, typer.Option("--diagram", help="Default: the one promoted, or shipped.")
]


@app.command()
def train(
    logs: Annotated[list[Path] | None, typer.Argument(help="Folders and files of logs.")] = None,
    *,
    out: Annotated[Path, typer.Option(help="JSON file for the diagram.")],
    skeleton: Skeleton = "1-2-2",
    alpha: Annotated[
        str, typer.Option(help="Share of the single best's time a split must save, or cv.")
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
        Path | None, typer.Option(help="Logs of counterfolio serve, of which what was explored.")
    ] = None,
    contention: ContentionFile = None,
    promote: Annotated[
        bool, typer.Option("--promote", help="Make it your default, if it is better.")
    ] = False,
) -> None:
    """Learn a diagram from logs.

    With --promote it becomes what auto follows, if it is better (exit code 3 if not): in
    $COUNTERFOLIO_CONFIG, else $XDG_CONFIG_HOME/counterfolio, else ~/.config/counterfolio.
    """
    from portfolio.cli.selector_report import (
        check_writable,
        contention_for,
        promoted,
        read_examples,
        trained,
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
        raise InputError("there is nothing to learn from: give folders of logs, or --from-service.")
    data, coverage = read_examples(
        sources, _names(backends), contention_for(sources, contention, cores)
    )
    console.print(str(coverage), highlight=False, soft_wrap=True)
    made, recipe = trained(data, recipe, _alpha(alpha), out, console)
    if promote and not promoted(data, recipe, made, console):
        raise typer.Exit(3)


@app.command()
def back(
    shipped: Annotated[
        bool, typer.Option("--shipped", help="To the one that is shipped, past all promotions.")
    ] = False,
) -> None:
    """Undo the last promotion: what was the default before is it again."""
    from selector.diagram_places import SHIPPED, go_back

    place, undone = go_back(shipped)
    kind = "shipped one" if place == SHIPPED else "one before"
    told = f"The default is the {kind} again, {place}; what it was until now is {undone}."
    Console().print(told, highlight=False, soft_wrap=True, markup=False)


@app.command()
def evaluate(
    logs: Logs,
    diagram: OptionalDiagram = None,
    alpha: Annotated[str, typer.Option(help="As in train; cv is chosen in each fold.")] = "0.1",
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
        typer.Option(help="What judges: data-set, question-type, norm, time; several with commas."),
    ] = "data-set",
    contention: ContentionFile = None,
    field: Annotated[
        bool, typer.Option("--field", help="Also selectors as others build them; takes longer.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for tables and a figure.")] = None,
) -> None:
    """Leave one data set out after the other: what a diagram learned from the others costs."""
    from portfolio.cli.evaluation_report import Judging, evaluated
    from portfolio.cli.selector_report import contention_for, read_examples
    from selector.learning.folds import check_left_out
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
    data, coverage = read_examples(logs, _names(backends), contention_for(logs, contention, cores))
    console = wide_console()
    console.print(str(coverage), highlight=False, soft_wrap=True)
    evaluated(data, judging, out, console)


@app.command()
def draw(
    diagram: DiagramFile,
    out: Annotated[Path, typer.Option(help="File: .svg, .dot or .txt.")],
    logs: Annotated[Path | None, typer.Option(help="Logs whose flow is written beside.")] = None,
) -> None:
    """Draw a diagram as a picture, for Graphviz, or as text."""
    from portfolio.cli.selector_report import drawn

    Console().print(drawn(diagram, out, logs), soft_wrap=True)


@app.command()
def show(diagram: OptionalDiagram = None) -> None:
    """Print a diagram and how it was made."""
    from portfolio.cli.selector_report import shown

    console = Console()
    for line in shown(diagram):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _objective(text: str) -> Literal["regret", "accuracy"]:
    if text == "regret":
        return "regret"
    if text == "accuracy":
        return "accuracy"
    raise InputError(f"--objective {text}: known are regret and accuracy.")


def _engine(text: str) -> str:
    if text not in ("exact", "odtlearn"):
        raise InputError(f"--engine {text}: known are exact and odtlearn.")
    return text


def _names(text: str) -> tuple[str, ...]:
    from encoders.backends.registry import find_backend

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return tuple(find_backend(name).name for name in names)


def _alpha(text: str) -> float | None:
    """None for cross-validation."""
    if text == "cv":
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise InputError(f"--alpha {text}: expected a number from 0 to 1, or cv.") from error
    if not 0 <= value <= 1:
        raise InputError(f"--alpha {text}: expected a number from 0 to 1, or cv.")
    return value
