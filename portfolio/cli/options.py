"""Options that several commands share, and what their text means."""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from encoders.errors import InputError

if TYPE_CHECKING:
    from encoders.query.constraints import Constraint, Range
    from portfolio.data.datasets import Dataset
    from portfolio.data.plain_tables import PlainTable
    from portfolio.explainer import Explainer
    from portfolio.logbook import Logbook
    from portfolio.model.plausibility import Plausibility

LARGEST_SEED = 2**31 - 1
TRAINABLE = ("forest", "hard-forest", "xgboost")

Norm = Annotated[str, typer.Option(help="Any p from 0 to 100, or inf.")]
TieBreak = Annotated[
    bool, typer.Option("--tie-break", help="Of answers that cost the same give the first.")
]
ProofMb = Annotated[
    float, typer.Option("--proof-mb", help="Megabytes that a record's proof may take, compressed.")
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit-s", "--time-limit", help="Seconds for the answer.")
]
TimeLimitPerRow = Annotated[
    float, typer.Option("--time-limit-s", "--time-limit", help="Seconds per row.")
]
Executor = Annotated[str, typer.Option(help="local or ray.")]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster, auto for the one at hand; default its own.")
]


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses are given field by field, as options.

    Fields are declared as Typer's parameters are. The command itself gets the dataclasses.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    parameters = [
        own
        for name, parameter in signature.parameters.items()
        for own in (_parameters(groups[name]) if name in groups else [parameter])
    ]

    @functools.wraps(command)
    def spread_out(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    spread_out.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
    spread_out.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
    return spread_out


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])


@dataclass(frozen=True)
class MapOptions:
    """Where maps of a batch are kept, and what they may take."""

    map_folder: Annotated[
        Path | None, typer.Option(help="Where --strategy map keeps its maps for the next time.")
    ] = None
    map_seconds: Annotated[
        float | None, typer.Option(help="What making maps may take; default 60.")
    ] = None
    map_mb: Annotated[
        float | None, typer.Option(help="Megabytes that maps may take; default 256.")
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that the user gave."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class QuestionOptions:
    """What is asked of a row, and of whom."""

    target: Annotated[
        str | None, typer.Option(help="Class to reach; default any other than the current.")
    ] = None
    probability: Annotated[
        str | None,
        typer.Option(help="Limits of the target's probability: 0.8: or low:high or :0.2."),
    ] = None
    score: Annotated[
        str | None,
        typer.Option(help="Limits of the raw score, or of a regressor's prediction: low:high."),
    ] = None
    less: Annotated[
        str | None, typer.Option(help="A regressor's prediction falls by this: 10 or 10%.")
    ] = None
    more: Annotated[
        str | None, typer.Option(help="A regressor's prediction rises by this: 10 or 10%.")
    ] = None
    norm: Norm = "1"
    scale: Annotated[str, typer.Option(help="range, std, mad or none.")] = "range"
    features: Annotated[Path | None, typer.Option(help="JSON that overrides features.")] = None
    fix: Annotated[str, typer.Option(help="Features that must stay: a,b.")] = ""
    increase: Annotated[str, typer.Option(help="Features that may only grow: a,b.")] = ""
    decrease: Annotated[str, typer.Option(help="Features that may only shrink: a,b.")] = ""
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="Limits of a feature: name=low:high.")
    ] = None
    max_changes: Annotated[int | None, typer.Option(help="At most so many features change.")] = None
    constraints_file: Annotated[
        Path | None,
        typer.Option("--constraints", help="JSON list of constraints, relations among them."),
    ] = None
    margin: Annotated[
        float | None,
        typer.Option(help="Lead over every other class; default what predict decides."),
    ] = None
    strategy: Annotated[
        str | None,
        typer.Option(
            help="auto, race, a backend as in milp/highs:ocean, plain-cp, or names that race: "
            "search,milp; of a batch also map; default auto."
        ),
    ] = None
    backend: Annotated[str | None, typer.Option(help="Another name of --strategy.")] = None
    diagram: Annotated[
        Path | None, typer.Option(help="Decision diagram for auto; default ours.")
    ] = None
    log: Annotated[Path | None, typer.Option(help="Folder for a record of each attempt.")] = None
    explore: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of queries to solve with every backend, for --log to compare."
        ),
    ] = 0.0
    explore_budget: Annotated[
        float, typer.Option(help="Seconds that --explore may add in all.")
    ] = 60.0

    def words(self, explainer: "Explainer") -> dict[str, Any]:
        """Arguments of :meth:`Explainer.explain`, apart from the constraints."""
        return {
            "target": self.goal(explainer.classes),
            "norm": self.norm,
            "scale": self.scale,
            "margin": self.margin,
            "strategy": self.chosen_strategy(),
        }

    def goal(self, classes: tuple[Any, ...]) -> Any:
        """The label or the goal to reach; InputError where the text is none."""
        from portfolio.cli.targets import parse_goal

        kinds = ("probability", "score", "less", "more")
        given = {f"--{kind}": getattr(self, kind) for kind in kinds}
        told = [name for name, text in given.items() if text is not None]
        if len(told) > 1:
            raise InputError(f"give {told[0]} or {told[1]}, not both.")
        return parse_goal(
            self.target, told[0] if told else "", given[told[0]] if told else "", classes
        )

    def chosen_strategy(self) -> str | tuple[str, ...]:
        """The name of the strategy, or those that race."""
        if None not in (self.strategy, self.backend):
            raise InputError("give --strategy or --backend, not both: they mean the same.")
        found = names(self.strategy or self.backend or "auto")
        return found[0] if len(found) == 1 else found

    def constraints(self) -> "list[Constraint]":
        """The constraints; InputError where their text is none."""
        from encoders.query.constraints import Decrease, Fixed, Increase, MaxChanges

        named = ((Fixed, self.fix), (Increase, self.increase), (Decrease, self.decrease))
        found: list[Constraint] = [kind(name) for kind, text in named for name in names(text)]
        found += [_range(part) for text in self.ranges or () for part in names(text)]
        if self.max_changes is not None:
            found.append(MaxChanges(self.max_changes))
        if self.constraints_file is not None:
            from portfolio.cli.constraints_file import read_constraints

            found += read_constraints(self.constraints_file)
        return found

    def logged(self, data: "Dataset | PlainTable") -> dict[str, Any]:
        """Return the arguments of ``explain`` that name the log and what is explored."""
        from portfolio.exploration import Exploration

        explore = Exploration(self.explore, self.explore_budget)
        return {"log": self.book(data), "explore": explore}

    def book(self, data: "Dataset | PlainTable") -> "Logbook | None":
        """Where records go."""
        from portfolio.logbook import Logbook

        return None if self.log is None else Logbook(self.log, data.name)


@dataclass(frozen=True)
class ModelOptions:
    """A data set, and a model of it that is loaded or trained."""

    dataset: Annotated[
        Path | None, typer.Option(help="CSV with header lines names / types / actionability.")
    ] = None
    data: Annotated[
        Path | None, typer.Option(help="Any CSV or Parquet table that the model was trained on.")
    ] = None
    label: Annotated[str | None, typer.Option(help="Column of --data that the model predicts.")] = (
        None
    )
    train: Annotated[
        str | None, typer.Option(help="Train forest, hard-forest or xgboost on the data set.")
    ] = None
    trees: Annotated[int, typer.Option(min=1, help="Trees to train.")] = 100
    depth: Annotated[int, typer.Option(min=0, help="Largest depth to train, 0 for no limit.")] = 5
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of training and solving.")
    ] = 0
    model: Annotated[
        Path | None, typer.Option(help="Model file: .json, .ubj, .txt, .cbm, .skops, or a pickle.")
    ] = None
    also: Annotated[
        list[Path] | None,
        typer.Option(help="Model file under which answers have to hold, too; may be repeated."),
    ] = None
    plausible: Annotated[
        bool,
        typer.Option(
            "--plausible", help="Answers must be inliers of an isolation forest of their class."
        ),
    ] = False
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load pickles, which can run any code.")
    ] = False

    def check(self) -> None:
        """Raise :class:`InputError` unless there is one way to a model, and one to its data."""
        one_of("--train", self.train, "--model", self.model)
        if self.train is not None and self.train not in TRAINABLE:
            raise InputError(f"--train {self.train}: known are {', '.join(TRAINABLE)}.")
        one_of("--dataset", self.dataset, "--data", self.data)
        if self.label is not None and self.data is None:
            raise InputError("--label is for --data; a --dataset names its own label.")

    def table(self) -> "Dataset | PlainTable":
        """What the model is, or was, trained on."""
        from portfolio.data.datasets import read_dataset
        from portfolio.data.plain_tables import read_plain

        if self.data is not None:
            return read_plain(self.data, self.label)
        assert self.dataset is not None
        return read_dataset(self.dataset)

    def explainer(self, data: "Dataset | PlainTable", question: QuestionOptions) -> "Explainer":
        """Explains the model, with the features and the diagram of the question."""
        from portfolio.data.plain_tables import PlainTable
        from portfolio.explainer import Explainer
        from portfolio.model.categories import typed_as_trained
        from portfolio.model.files import load_model

        model = self._load_or_train(data)
        also = [load_model(path, self.trust_pickle) for path in self.also or ()]
        stated: Any = question.features
        if not isinstance(data, PlainTable):
            stated = data.space if stated is None else data.overridden(stated)
        return Explainer(
            model,
            typed_as_trained(model, data.X),
            features=stated,
            plausibility=self._forests(data) if self.plausible else None,
            diagram=question.diagram,
            also=also,
            model_file=self.model,
        )

    def _forests(self, data: "Dataset | PlainTable") -> "Plausibility":
        from portfolio.model.plausibility import Plausibility

        if data.y is None:
            raise InputError("--plausible needs --label: each class has a forest of its own.")
        return Plausibility.fit(data.X, data.y, seed=self.seed)

    def _load_or_train(self, data: "Dataset | PlainTable") -> Any:
        from portfolio.data.trained_models import train
        from portfolio.model.files import load_model

        if self.model is not None:
            return load_model(self.model, self.trust_pickle)
        return train(data, self.train, self.trees, self.depth, self.seed)  # type: ignore[arg-type]


def names(text: str) -> tuple[str, ...]:
    """Split a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def one_of(first: str, a: object, second: str, b: object) -> None:
    """Raise :class:`InputError` unless exactly one of two options is given."""
    if (a is None) == (b is None):
        raise InputError(f"give exactly one of {first} and {second}.")


def pick(frame: Any, row: int | None, path: Path | None) -> Any:
    """A row of a data set by its place, as a frame."""
    if row is None or not 0 <= row < len(frame):
        raise InputError(f"{path} has the rows 0 to {len(frame) - 1}; there is no row {row}.")
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
        raise InputError(f"--range {text}: expected name=low:high.") from error
