"""Where a served model comes from: files, a TOML that names them, or an explainer at hand."""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from encoders.errors import InputError
from portfolio.explainer import Explainer
from portfolio.service.examples import plain_row, typical_row

NAME = "letters, digits, dots, dashes and underscores"


@dataclass(frozen=True, eq=False)
class Opened:
    """A model that was loaded and read.

    Attributes
    ----------
    explainer : of it
    example : a row to begin with, its columns by name
    """

    explainer: Explainer
    example: dict[str, Any]


class Source(Protocol):
    """A model that can be loaded."""

    @property
    def name(self) -> str:
        """As it is called in paths."""
        ...

    def state(self) -> Any:
        """What changes when the model has to be loaded anew."""
        ...

    def open(self) -> Opened:
        """Load it; raises :class:`InputError` where that can't be done."""
        ...


@dataclass(frozen=True)
class ModelFiles:
    """A model file and the table that it was trained on.

    Attributes
    ----------
    name : as it is called in paths
    model : .json, .ubj, .txt, .cbm, .skops, or with trust a pickle
    data : CSV or Parquet
    label : column of the data that the model predicts
    also : model files under which answers have to hold, too
    trust_pickle : load pickles, which can run any code
    toml : that says all this; None: options of the command line do
    features : JSON that overrides features
    contamination : share of training rows that count as outliers; answers are then inliers
    diagram : what picks backends; None for ours
    """

    name: str
    model: Path
    data: Path
    label: str | None = None
    also: tuple[Path, ...] = ()
    trust_pickle: bool = False
    toml: Path | None = None
    features: Path | None = None
    contamination: float | None = None
    diagram: Path | None = None

    def state(self) -> Any:
        """What changes when the model has to be loaded anew."""
        given = (self.model, self.data, *self.also, self.features, self.diagram)
        return (self, tuple(_stamp(path) for path in given if path is not None))

    def model_files(self) -> list[Path]:
        """Return the model files that are probed in a child before they are loaded."""
        from portfolio.model.files import to_probe

        return to_probe((self.model, *self.also), self.trust_pickle)

    def open(self) -> Opened:
        """Load and read it."""
        from portfolio.data.plain_tables import read_plain
        from portfolio.model.categories import typed_as_trained
        from portfolio.model.files import load_model
        from portfolio.model.plausibility import Plausibility

        table = read_plain(self.data, self.label)
        plausibility = None
        if self.contamination is not None:
            if table.y is None:
                raise InputError(f"{self.name}: contamination needs label, a column of the data.")
            plausibility = Plausibility.fit(table.X, table.y, self.contamination)
        remedy = "say --trust-pickle"
        if self.toml is not None:
            remedy = f"write trust_pickle = true in {self.toml.name}"
        model = load_model(self.model, self.trust_pickle, remedy)
        explainer = Explainer(
            model,
            typed_as_trained(model, table.X),
            self.features,
            plausibility=plausibility,
            diagram=self.diagram,
            also=[load_model(path, self.trust_pickle, remedy) for path in self.also],
            model_file=self.model,
        )
        return Opened(explainer, typical_row(explainer.features, table.X))


@dataclass(frozen=True)
class Unreadable:
    """A TOML that does not say which model it is about.

    Attributes
    ----------
    name : as it is called in paths
    path : of the TOML
    error : what is wrong with it
    """

    name: str
    path: Path
    error: InputError = field(compare=False)

    def state(self) -> Any:
        """What changes when it has to be read anew."""
        return (self, _stamp(self.path))

    def open(self) -> Opened:
        """Say what is wrong."""
        raise self.error


@dataclass(frozen=True)
class DemoModel:
    """The bundled demo.

    Attributes
    ----------
    name : as it is called in paths
    """

    name: str = "demo"

    def state(self) -> Any:
        """It never changes."""
        return self

    def open(self) -> Opened:
        """Train it."""
        from portfolio.data.demo import make_demo

        made = make_demo(1, 0)
        return Opened(Explainer(made.model, made.X), plain_row(made.rows.iloc[0]))


@dataclass(frozen=True, eq=False)
class AtHand:
    """An explainer of a program that serves it itself.

    Attributes
    ----------
    name : as it is called in paths
    explainer : to serve
    example : a row, empty for none
    """

    name: str
    explainer: Explainer
    example: dict[str, Any]

    def state(self) -> Any:
        """It never changes."""
        return self

    def open(self) -> Opened:
        """As it is."""
        return Opened(self.explainer, self.example)


def chosen(
    models: Path | None = None,
    model: Path | None = None,
    data: Path | None = None,
    label: str | None = None,
    name: str | None = None,
    trust_pickle: bool = False,
    demo: bool = False,
) -> Callable[[], Sequence[Source]]:
    """What gives the models, each time it is asked: a folder's, one, or the demo."""
    if (model is not None) + (models is not None) + demo != 1:
        raise InputError("give exactly one of --model, --models and --demo.")
    if model is None and (data or label or name or trust_pickle):
        raise InputError(
            "--data, --label, --name and --trust-pickle go with --model; a TOML of --models says "
            "data, label and trust_pickle itself."
        )
    if models is not None:
        return partial(read_folder, models)
    if model is None:
        return partial(list, [DemoModel()])
    if data is None:
        raise InputError("--model needs --data, the table that it was trained on.")
    given = check_model_name(name or model.stem)
    source = ModelFiles(given, model, data, label, trust_pickle=trust_pickle)
    return partial(list, [source])


def read_folder(folder: Path) -> list[Source]:
    """The models of a folder: one TOML each, whose name is the model's.

    One that can't be read is among them, and says so when it is opened.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}.")
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InputError(f"{folder} has no .toml file; a model needs one, see docs/service.md.")
    return [_source(path) for path in paths]


def _source(path: Path) -> Source:
    try:
        return read_toml(path)
    except InputError as error:
        return Unreadable(path.stem, path, error)


def read_toml(path: Path) -> ModelFiles:
    """What one TOML says of a model."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}.") from error
    except RecursionError as error:
        raise InputError(f"{path}: lists within lists, too deep to be a model's.") from error
    known = {own.name for own in fields(ModelFiles)} - {"name", "toml"}
    if strange := sorted(given.keys() - known):
        names = ", ".join(sorted(known))
        raise InputError(f"{path}: no setting {strange[0]!r}; known are {names}.")
    if lacking := [name for name in ("model", "data") if name not in given]:
        raise InputError(f"{path}: {lacking[0]} is missing.")
    _check(path, given, {"model", "data", "label", "features", "diagram"}, str, "text")
    _check(path, given, {"trust_pickle"}, bool, "true or false")
    _check(path, given, {"contamination"}, float, "a share such as 0.1")
    _check(path, given, {"also"}, list, "a list of files")
    for name in given.keys() & {"model", "data", "features", "diagram"}:
        given[name] = _beside(path, given[name])
    also = tuple(_beside(path, str(each)) for each in given.pop("also", ()))
    return ModelFiles(check_model_name(path.stem), also=also, toml=path, **given)


def check_model_name(name: str) -> str:
    """The name, if it can stand in a path."""
    if not name or not all(part.isalnum() or part in ".-_" for part in name) or name[0] == ".":
        raise InputError(f"a model's name is made of {NAME}, got {name!r}.")
    return name


def without_folders(sentence: str, source: Source) -> str:
    """A sentence for everybody: folders of this machine are nobody's business."""
    for given in vars(source).values():
        for path in given if isinstance(given, tuple) else [given]:
            if isinstance(path, Path):
                sentence = sentence.replace(str(path), path.name)
    return sentence


def _check(path: Path, given: dict[str, Any], names: Iterable[str], kind: type, word: str) -> None:
    for name in given.keys() & set(names):
        if not isinstance(given[name], kind):
            raise InputError(f"{path}: {name} must be {word}, got {given[name]!r}.")


def _beside(path: Path, name: str) -> Path:
    if "\0" in name:
        raise InputError(f"{path}: {name!r} is no name of a file.")
    return path.parent / name


def _stamp(path: Path) -> Any:
    try:
        told = path.stat()
    except OSError:
        return None
    return (told.st_mtime_ns, told.st_size, told.st_ino)
