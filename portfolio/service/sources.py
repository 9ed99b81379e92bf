"""Sources of served models: model files, TOML files that name them, or an explainer."""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from encoders.core.close_names import close_names
from encoders.core.errors import CounterfolioError, InputError
from encoders.core.text_files import names_in
from portfolio.api.explainer import Explainer
from portfolio.model.mlflow_places import SCHEMES, resolved
from portfolio.model.saved import CONTENTS, is_saved, models_of, saved_rows
from portfolio.service.examples import plain_row, typical_row

if TYPE_CHECKING:
    import pandas as pd

NAME = "letters, digits, dots, dashes and underscores"


@dataclass(frozen=True, eq=False)
class Opened:
    """A loaded model."""

    explainer: Explainer  # for the model
    example: dict[str, Any]  # example row by column name
    rows: "pd.DataFrame | None" = None  # training rows, or None without actual ones


class Source(Protocol):
    """A model that can be loaded."""

    @property
    def name(self) -> str:
        """Name of the model in paths."""
        ...

    def state(self) -> Any:
        """Return a value that changes when the model must be loaded again."""
        ...

    def open(self) -> Opened:
        """Load the model; raise :class:`InputError` if that fails."""
        ...


@dataclass(frozen=True)
class ModelFiles:
    """A model file and the table that it was trained on, or a saved explainer.

    Attributes
    ----------
    name : str, name in paths.
    model : Path, model file (.json, .ubj, .txt, .cbm, .skops, or a trusted pickle), or the folder
        of a saved explainer.
    data : Path or None, CSV or Parquet file with the training table; None for a saved explainer.
    label : str or None, target column of the table; several are separated by commas.
    also : tuple of Path, further model files that must agree with the answers.
    trust_pickle : bool, allow pickles, which can run any code.
    toml : Path or None, TOML file with these settings; None for command-line options.
    features : Path or None, JSON file that overrides feature types.
    contamination : float or None, share of training rows that are outliers; answers are inliers.
    diagram : Path or None, decision diagram that selects backends; None for the default.
    outputs : tuple of str or None, names of the outputs of a model with several.
    """

    name: str
    model: Path
    data: Path | None
    label: str | None = None
    also: tuple[Path, ...] = ()
    trust_pickle: bool = False
    toml: Path | None = None
    features: Path | None = None
    contamination: float | None = None
    diagram: Path | None = None
    outputs: tuple[str, ...] | None = None

    def state(self) -> Any:
        """Return a value that changes when the model must be loaded again."""
        contents = self.model / CONTENTS  # names all other files of a saved explainer
        paths = (self.model, contents, self.data, *self.also, self.features, self.diagram)
        return (self, tuple(_stamp(path) for path in paths if path is not None))

    def model_files(self) -> list[Path]:
        """Return the model files that are probed in a child before they are loaded."""
        from portfolio.model.files import to_probe

        parts = models_of(self.model) if is_saved(self.model) else [self.model]
        return to_probe((*parts, *self.also), self.trust_pickle)

    def open(self) -> Opened:
        """Load the model and its training table; raise InputError if that fails."""
        if is_saved(self.model):
            return self._open_saved()
        if self.data is None:
            where = "the setting 'data'" if self.toml else "--data"
            raise InputError(f"{self.name}: {where} is missing. Give the training table.")
        from portfolio.data.plain_tables import read_plain
        from portfolio.model.categories import typed_as_trained
        from portfolio.model.files import load_model
        from portfolio.model.plausibility import Plausibility

        table = read_plain(self.data, self.label)
        plausibility = None
        if self.contamination is not None:
            if table.y is None:
                raise InputError(
                    f"{self.name}: contamination needs one label. Set label to one column of "
                    "the data."
                )
            plausibility = Plausibility.fit(table.X, table.y, self.contamination)
        remedy = "add --trust-pickle"
        if self.toml is not None:
            remedy = f"set trust_pickle = true in {self.toml.name}"
        model = load_model(self.model, self.trust_pickle, remedy)
        rows = typed_as_trained(model, table.X)
        explainer = Explainer(
            model,
            rows,
            self.features,
            plausibility=plausibility,
            diagram=self.diagram,
            also=[load_model(path, self.trust_pickle, remedy) for path in self.also],
            model_file=self.model,
            outputs=self.outputs,
        )
        return Opened(explainer, typical_row(explainer.features, table.X), rows)

    def _open_saved(self) -> Opened:
        beside = ("data", "label", "also", "features", "contamination", "outputs")
        if wrong := next((name for name in beside if getattr(self, name)), None):
            raise InputError(
                f"{self.name}: {wrong} does not apply to a saved explainer, which contains all "
                "settings except the diagram. Omit it."
            )
        explainer = Explainer.load(self.model)
        if self.diagram is not None:
            explainer = explainer.following(self.diagram)
        return Opened(explainer, typical_row(explainer.features, saved_rows(self.model)))


@dataclass(frozen=True)
class Unreadable:
    """An invalid TOML file of a model."""

    name: str  # name in paths
    path: Path  # the TOML file
    error: CounterfolioError = field(compare=False)  # the reason

    def state(self) -> Any:
        """Return a value that changes when the file must be read again."""
        return (self, _stamp(self.path))

    def open(self) -> Opened:
        """Raise the error of the file."""
        raise self.error


@dataclass(frozen=True)
class DemoModel:
    """The bundled demo model."""

    name: str = "demo"  # name in paths

    def state(self) -> Any:
        """Return a constant: the model never changes."""
        return self

    def open(self) -> Opened:
        """Train the demo model."""
        from portfolio.data.demo import make_demo

        demo = make_demo(1, 0)
        return Opened(Explainer(demo.model, demo.X), plain_row(demo.rows.iloc[0]), demo.X)


@dataclass(frozen=True, eq=False)
class AtHand:
    """An explainer that a program serves itself."""

    name: str  # name in paths
    explainer: Explainer  # to be served
    example: dict[str, Any]  # example row by column name, empty for none
    rows: "pd.DataFrame | None" = None  # training rows, or None

    def state(self) -> Any:
        """Return a constant: the model never changes."""
        return self

    def open(self) -> Opened:
        """Return the explainer."""
        return Opened(self.explainer, self.example, self.rows)


def chosen(
    models: Path | None = None,
    model: Path | None = None,
    data: Path | None = None,
    label: str | None = None,
    name: str | None = None,
    trust_pickle: bool = False,
    demo: bool = False,
    outputs: str | None = None,
) -> Callable[[], Sequence[Source]]:
    """Return a function that lists the sources: those of a folder, one model, or the demo."""
    if (model is not None) + (models is not None) + demo != 1:
        raise InputError("one of --model, --models and --demo is required. Give exactly one.")
    if model is None and (data or label or outputs or name or trust_pickle):
        raise InputError(
            "--data, --label, --outputs, --name and --trust-pickle need --model. With --models, "
            "set data, label, outputs and trust_pickle in the TOML file of each model."
        )
    if models is not None:
        return partial(read_folder, models)
    if model is None:
        return partial(list, [DemoModel()])
    if not model.exists():
        raise InputError(f"the model {model} does not exist. Check the path.")
    if data is None and not is_saved(model):
        raise InputError("--model needs --data. Give the training table.")
    model_name = check_model_name(name or model.stem)
    listed = None if outputs is None else names_in(outputs)
    source = ModelFiles(model_name, model, data, label, trust_pickle=trust_pickle, outputs=listed)
    return partial(list, [source])


def read_folder(folder: Path) -> list[Source]:
    """Return the sources of a folder: one TOML file per model, named like the model.

    An invalid file becomes an :class:`Unreadable`, which raises its error when it is opened.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give the folder with the .toml files.")
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InputError(
            f"{folder} has no .toml file. Add one per model, "
            "as docs/how-to/operate-a-service.md shows."
        )
    return [_source(path) for path in paths]


def _source(path: Path) -> Source:
    try:
        return read_toml(path)
    except CounterfolioError as error:
        return Unreadable(path.stem, path, error)


def read_toml(path: Path) -> ModelFiles:
    """Return the source that a TOML file describes; raise InputError if it is invalid."""
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}.") from error
    except RecursionError as error:
        raise InputError(f"{path}: lists are nested too deeply. Write plain settings.") from error
    allowed = {setting.name for setting in fields(ModelFiles)} - {"name", "toml"}
    if strange := sorted(settings.keys() - allowed):
        close, names = close_names(strange[0], allowed), ", ".join(sorted(allowed))
        raise InputError(f"{path}: unknown setting {strange[0]!r}.{close} Use one of {names}.")
    if "model" not in settings:
        raise InputError(f"{path}: the setting 'model' is missing. Add it.")
    _check(path, settings, {"model", "data", "label", "features", "diagram"}, str, "text")
    _check(path, settings, {"trust_pickle"}, bool, "true or false")
    _check(path, settings, {"contamination"}, float, "a share such as 0.1")
    _check(path, settings, {"also"}, list, "a list of files")
    for name in settings.keys() & {"model", "data", "features", "diagram"}:
        settings[name] = _beside(path, settings[name])
    also = tuple(_beside(path, str(each)) for each in settings.pop("also", ()))
    outputs = _outputs(path, settings.pop("outputs", None))
    settings.setdefault("data", None)
    return ModelFiles(
        check_model_name(path.stem), also=also, toml=path, outputs=outputs, **settings
    )


def _outputs(path: Path, names: Any) -> tuple[str, ...] | None:
    """Return the names of the outputs that a TOML file sets; InputError unless they are texts."""
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f'{path}: outputs must be a list of names such as ["fraud", "churn"], got {names!r}.'
        )
    return tuple(names)


def check_model_name(name: str) -> str:
    """Return the name; raise InputError if it cannot be part of a path."""
    if not name or not all(part.isalnum() or part in ".-_" for part in name) or name[0] == ".":
        raise InputError(f"a model name must consist of {NAME}, got {name!r}.")
    return name


def without_folders(sentence: str, source: Source) -> str:
    """Return a sentence without the folders of the server, which clients must not see."""
    for value in vars(source).values():
        for path in value if isinstance(value, tuple) else [value]:
            if isinstance(path, Path):
                sentence = sentence.replace(str(path), path.name)
    return sentence


def _check(
    path: Path, settings: dict[str, Any], names: Iterable[str], kind: type, word: str
) -> None:
    for name in settings.keys() & set(names):
        if not isinstance(settings[name], kind):
            raise InputError(f"{path}: {name} must be {word}, got {settings[name]!r}.")


def _beside(path: Path, name: str) -> Path:
    if "\0" in name:
        raise InputError(f"{path}: {name!r} is not a file name. Remove the null character.")
    return _downloaded(name) if name.startswith(SCHEMES) else path.parent / name


@cache
def _downloaded(address: str) -> Path:
    """Return the copy of a model of MLflow; the folder of TOML files is read every two seconds."""
    return resolved(address)


def _stamp(path: Path) -> Any:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)
