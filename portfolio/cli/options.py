"""Options that several commands share, and parsers for their text."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from encoders.core.errors import InputError
from encoders.core.text_files import names_in

if TYPE_CHECKING:
    from encoders.query.constraints import Constraint, Range
    from portfolio.api.explainer import Explainer
    from portfolio.data.datasets import Dataset
    from portfolio.data.plain_tables import PlainTable
    from portfolio.engine.logbook import Logbook
    from portfolio.model.plausibility import Plausibility

LARGEST_SEED = 2**31 - 1
LABEL = "Column of --data that the model predicts; several are separated by commas."
OUTPUTS = "Names of the outputs of a model with several, in its order: fraud,churn."
TRAINABLE = ("forest", "hard-forest", "extra-trees", "xgboost")

Norm = Annotated[str, typer.Option(help="Norm of the distance: a number p from 0 to 100, or inf.")]
TieBreak = Annotated[bool, typer.Option("--tie-break", help="Break ties deterministically.")]
ProofMb = Annotated[
    float, typer.Option("--proof-mb", help="Largest size of a proof in megabytes, compressed.")
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit-s", "--time-limit", help="Time limit in seconds.")
]
TimeLimitPerRow = Annotated[
    float, typer.Option("--time-limit-s", "--time-limit", help="Time limit per row in seconds.")
]
Deadline = Annotated[float | None, typer.Option(help="Time limit for all rows in seconds.")]
ThreadsPerWorker = Annotated[int, typer.Option(min=1, help="Solver threads per worker.")]
WorkerCount = Annotated[
    int | None, typer.Option(min=1, help="Number of workers. Default: number of cores / --threads.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the results in OUT.")]
PortfolioNames = Annotated[
    str | None,
    typer.Option(
        "--portfolio",
        help="Backends for auto and race: paper, no-licence, or a list such as cp,milp/highs. "
        "Default: all.",
    ),
]
Executor = Annotated[str, typer.Option(help="Where to run: local or ray.")]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster address, or auto. Default: start a local cluster.")
]


def model_path(path: Path | None) -> Path | None:
    """Return a model file or folder, which may be given by its address in MLflow."""
    if path is None:
        return None
    from portfolio.model.mlflow_places import resolved

    return resolved(path)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its dataclass parameters as separate options.

    Dataclass fields are declared like Typer parameters. The wrapped command receives dataclasses.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    parameters = [
        option
        for name, parameter in signature.parameters.items()
        for option in (parameters_of(groups[name]) if name in groups else [parameter])
    ]

    @functools.wraps(command)
    def spread_out(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    spread_out.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
    spread_out.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
    return spread_out


def parameters_of(group: Any) -> Iterator[inspect.Parameter]:
    """Yield a parameter with annotation and default for each field of a dataclass."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])


@dataclass(frozen=True)
class MapOptions:
    """Folder and limits of the maps that a batch may use."""

    map_folder: Annotated[
        Path | None,
        typer.Option(help="Folder in which --strategy map stores its maps for later runs."),
    ] = None
    map_seconds: Annotated[
        float | None, typer.Option(help="Seconds for building maps. Default: 60.")
    ] = None
    map_mb: Annotated[
        float | None, typer.Option(help="Largest size of maps in megabytes. Default: 256.")
    ] = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Options that were set on the command line, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class GoalOptions:
    """Options of what to reach, and of the changes that are allowed."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Class to reach. Default: any class except the predicted one. With several "
            "outputs: name=class or name=low:high, repeated or separated by commas."
        ),
    ] = None
    probability: Annotated[
        str | None,
        typer.Option(help="Limits of the target's probability: 0.8:, low:high or :0.2."),
    ] = None
    score: Annotated[
        str | None,
        typer.Option(help="Limits of the raw score or of a regressor's prediction: low:high."),
    ] = None
    less: Annotated[
        str | None, typer.Option(help="Lower a regressor's prediction by this much: 10 or 10%.")
    ] = None
    more: Annotated[
        str | None, typer.Option(help="Raise a regressor's prediction by this much: 10 or 10%.")
    ] = None
    beat: Annotated[
        str | None,
        typer.Option(help='JSON of a row whose score the answer must exceed: {"age": 30}.'),
    ] = None
    features: Annotated[Path | None, typer.Option(help="JSON file that overrides features.")] = None
    fix: Annotated[str, typer.Option(help="Features that must not change: a,b.")] = ""
    increase: Annotated[str, typer.Option(help="Features that may only increase: a,b.")] = ""
    decrease: Annotated[str, typer.Option(help="Features that may only decrease: a,b.")] = ""
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="Limits of a feature: name=low:high.")
    ] = None
    max_changes: Annotated[int | None, typer.Option(help="Largest number of changed features.")] = (
        None
    )
    constraints_file: Annotated[
        Path | None,
        typer.Option(
            "--constraints", help="JSON file with a list of constraints, including relations."
        ),
    ] = None
    margin: Annotated[
        float | None,
        typer.Option(
            help="Required lead over every other class. Default: the class that predict returns."
        ),
    ] = None


@dataclass(frozen=True)
class QuestionOptions(GoalOptions):
    """Options of a query: goal, constraints, cost and strategy."""

    norm: Norm = "1"
    scale: Annotated[str, typer.Option(help="Scaling of costs: range, std, mad or none.")] = "range"
    strategy: Annotated[
        str | None,
        typer.Option(
            help="auto, race, plain-cp, a backend such as milp/highs:ocean, or backends to race: "
            "search,milp. For batches also map. Default: auto."
        ),
    ] = None
    diagram: Annotated[
        Path | None,
        typer.Option(help="Decision diagram for auto. Default: the promoted or the shipped one."),
    ] = None
    log: Annotated[
        Path | None, typer.Option(help="Folder for training logs, one record per solver attempt.")
    ] = None
    explore: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of queries to solve again with every backend, for --log."
        ),
    ] = 0.0
    explore_budget: Annotated[float, typer.Option(help="Total seconds that --explore may add.")] = (
        60.0
    )

    def words(self, explainer: "Explainer") -> dict[str, Any]:
        """Return the arguments of :meth:`Explainer.explain` except the constraints."""
        return {
            "target": self.goal(explainer.classes, explainer.outputs),
            "norm": self.norm,
            "scale": self.scale,
            "margin": self.margin,
            "strategy": self.chosen_strategy(),
        }

    def goal(self, classes: tuple[Any, ...], outputs: Mapping[Any, Sequence[Any]]) -> Any:
        """Return the label or the goal to reach; raise InputError if the text names none."""
        from portfolio.cli.targets import parse_goal, parse_outputs

        kinds = ("probability", "score", "less", "more", "beat")
        texts = {f"--{kind}": getattr(self, kind) for kind in kinds}
        present = [name for name, text in texts.items() if text is not None]
        if len(present) > 1:
            raise InputError(f"{present[0]} and {present[1]} exclude each other. Give one of them.")
        name = present[0] if present else ""
        targets = tuple(self.target or ())
        if outputs:
            return parse_outputs(targets, name, texts.get(name), outputs)
        if len(targets) > 1:
            raise InputError(
                f"--target is given {len(targets)} times, but the model has one output. Give it "
                "once."
            )
        return parse_goal(targets[0] if targets else None, name, texts.get(name, ""), classes)

    def chosen_strategy(self) -> str | tuple[str, ...]:
        """Return the name of the strategy, or the names of backends that race."""
        listed = names_in(self.strategy or "auto")
        return listed[0] if len(listed) == 1 else listed

    def constraints(self) -> "list[Constraint]":
        """Return the constraints; raise InputError if an option cannot be parsed."""
        from encoders.query.constraints import Decrease, Fixed, Increase, MaxChanges

        named = ((Fixed, self.fix), (Increase, self.increase), (Decrease, self.decrease))
        constraints: list[Constraint] = [
            kind(name) for kind, text in named for name in names_in(text)
        ]
        constraints += [_range(part) for text in self.ranges or () for part in names_in(text)]
        if self.max_changes is not None:
            constraints.append(MaxChanges(self.max_changes))
        if self.constraints_file is not None:
            from portfolio.cli.constraints_file import read_constraints

            constraints += read_constraints(self.constraints_file)
        return constraints

    def logged(self, data: "Dataset | PlainTable") -> dict[str, Any]:
        """Return the arguments of ``explain`` for logging and exploration."""
        from portfolio.batch.exploration import Exploration

        explore = Exploration(self.explore, self.explore_budget)
        return {"log": self.book(data), "explore": explore}

    def book(self, data: "Dataset | PlainTable") -> "Logbook | None":
        """Return the logbook of --log, or None without one."""
        from portfolio.engine.logbook import Logbook

        return None if self.log is None else Logbook(self.log, data.name)


@dataclass(frozen=True)
class ModelOptions:
    """Options that name a data set and a model to load or to train."""

    dataset: Annotated[
        Path | None, typer.Option(help="CSV whose header lines are names, types and actionability.")
    ] = None
    data: Annotated[
        Path | None, typer.Option(help="CSV or Parquet table on which the model was trained.")
    ] = None
    label: Annotated[str | None, typer.Option(help=LABEL)] = None
    outputs: Annotated[str | None, typer.Option(help=OUTPUTS)] = None
    train: Annotated[
        str | None,
        typer.Option(
            help="Model to train on the data set: forest, hard-forest, extra-trees or xgboost."
        ),
    ] = None
    trees: Annotated[int, typer.Option(min=1, help="Number of trees to train.")] = 100
    depth: Annotated[
        int, typer.Option(min=0, help="Largest depth of trained trees; 0 for no limit.")
    ] = 5
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Random seed of training and solving.")
    ] = 0
    model: Annotated[
        Path | None,
        typer.Option(
            callback=model_path,
            help="Model file: .json, .ubj, .txt, .cbm, .skops or a pickle; or the folder of a "
            "saved explainer, which needs no --data.",
        ),
    ] = None
    also: Annotated[
        list[Path] | None,
        typer.Option(help="Further model that answers must satisfy as well; may be repeated."),
    ] = None
    plausible: Annotated[
        bool,
        typer.Option(
            "--plausible", help="Require answers to be inliers of their class's isolation forest."
        ),
    ] = False
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load pickles, which can run arbitrary code.")
    ] = False

    def check(self) -> None:
        """Raise :class:`InputError` unless exactly one model and one data set are named."""
        one_of("--train", self.train, "--model", self.model)
        if self.train is not None and self.train not in TRAINABLE:
            raise InputError(f"--train {self.train} is unknown. Use one of {', '.join(TRAINABLE)}.")
        if not self.is_saved:
            one_of("--dataset", self.dataset, "--data", self.data)
        elif self.also or self.outputs or self.plausible or self.dataset:
            raise InputError(
                "--also, --outputs, --plausible and --dataset do not apply to a saved explainer. "
                "Omit them, and give rows as --data or --query."
            )
        if self.label is not None and self.data is None:
            raise InputError("--label needs --data. Omit it: a --dataset names its own label.")
        if self.outputs is not None and self.model is None:
            raise InputError(
                "--outputs needs --model. Omit it: --train makes models of one output."
            )

    @property
    def is_saved(self) -> bool:
        """True if the model is the folder of a saved explainer."""
        return self.model is not None and self.model.is_dir()

    def table(self) -> "Dataset | PlainTable":
        """Return the table on which the model is or was trained; of a saved explainer, its rows."""
        from portfolio.data.datasets import read_dataset
        from portfolio.data.plain_tables import PlainTable, read_plain

        if self.data is not None:
            return read_plain(self.data, self.label)
        if self.is_saved:
            from portfolio.model.saved import saved_rows

            assert self.model is not None
            return PlainTable(self.model.name, saved_rows(self.model), None)
        assert self.dataset is not None
        return read_dataset(self.dataset)

    def explainer(self, data: "Dataset | PlainTable", question: QuestionOptions) -> "Explainer":
        """Return an explainer of the model with the features and the diagram of the query."""
        from portfolio.api.explainer import Explainer
        from portfolio.data.plain_tables import PlainTable
        from portfolio.model.categories import typed_as_trained
        from portfolio.model.files import load_model

        if self.is_saved:
            return self._saved(question)
        model = self._load_or_train(data)
        also = [load_model(path, self.trust_pickle) for path in self.also or ()]
        features: Any = question.features
        if not isinstance(data, PlainTable):
            features = data.space if features is None else data.overridden(features)
        return Explainer(
            model,
            typed_as_trained(model, data.X),
            features=features,
            plausibility=self._forests(data) if self.plausible else None,
            diagram=question.diagram,
            also=also,
            model_file=self.model,
            outputs=None if self.outputs is None else names_in(self.outputs),
        )

    def _saved(self, question: QuestionOptions) -> "Explainer":
        from portfolio.api.explainer import Explainer

        assert self.model is not None
        if question.features is not None:
            raise InputError(
                "--features does not apply to a saved explainer, which has its features. Omit it, "
                "or save the explainer again."
            )
        explainer = Explainer.load(self.model)
        return explainer if question.diagram is None else explainer.following(question.diagram)

    def _forests(self, data: "Dataset | PlainTable") -> "Plausibility":
        from portfolio.model.plausibility import Plausibility

        if data.y is None:
            raise InputError(
                "--plausible needs class labels, one isolation forest per class. Give one column "
                "as --label."
            )
        return Plausibility.fit(data.X, data.y, seed=self.seed)

    def _load_or_train(self, data: "Dataset | PlainTable") -> Any:
        from portfolio.data.trained_models import train
        from portfolio.model.files import load_model

        if self.model is not None:
            return load_model(self.model, self.trust_pickle)
        return train(data, self.train, self.trees, self.depth, self.seed)  # type: ignore[arg-type]


def one_of(first: str, a: object, second: str, b: object) -> None:
    """Raise :class:`InputError` unless exactly one of two options is given."""
    if (a is None) == (b is None):
        raise InputError(f"exactly one of {first} and {second} is required. Give one of them.")


def pick(frame: Any, row: int | None, path: Path | None) -> Any:
    """Return the row at a position of a data set, as a frame of one row."""
    if row is None or not 0 <= row < len(frame):
        raise InputError(f"{path} has no row {row}. Give a row from 0 to {len(frame) - 1}.")
    return frame.iloc[[row]]


def _range(text: str) -> "Range":
    from encoders.query.constraints import Range

    name, _, limits = text.partition("=")
    low, colon, high = limits.partition(":")
    try:
        if not colon:
            raise ValueError
        return Range(name.strip(), float(low or "-inf"), float(high or "inf"))
    except ValueError as error:
        raise InputError(f"--range {text} cannot be read. Write name=low:high.") from error
