"""Saved explainers: a folder of model files, features and training rows, without pickles."""

import errno
import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from os.path import isfile  # False for names that are too long
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np
import pandas as pd

from encoders.core.errors import CounterfolioError, InputError
from encoders.query.features import Feature, FeatureSpace
from encoders.readers.reader import format_of, format_to_write
from encoders.readers.refusals import first_line
from portfolio.model.checked_files import add_record, record_of
from portfolio.model.explained_model import ExplainedModel, read
from portfolio.model.file_digest import digest_of
from portfolio.model.files import load_model, to_probe
from portfolio.model.fingerprint import fingerprint
from portfolio.model.library_versions import library_versions
from portfolio.model.open_file import PICKLE, open_model, strange_type
from portfolio.model.plausibility import Plausibility
from portfolio.model.probe import probing
from portfolio.model.readings import read_alone
from portfolio.model.sample import Sample, read_sample, without_rows, write_sample
from portfolio.model.step_kinds import Said
from portfolio.model.training_frame import places_of

Loaded = TypeVar("Loaded")
FORMAT = 2  # of the folder
CONTENTS = "explainer.json"
ROWS = "rows.arrow"
LATER = {"unit"}  # members of features that folders of earlier versions lack
SHORT = 40  # characters of a folder's name in that of its unfinished copy, which is longer
LABELS = str, int, float, bool  # types of labels and names that JSON keeps


@dataclass(frozen=True, eq=False)
class Arguments:
    """Arguments of an explainer that its parsed model does not contain.

    Attributes
    ----------
    model : the user's own model.
    sample : training rows in the user's own form, with at least one row for each category.
    voting : voting rule of a forest, or None.
    plausibility : isolation forests, or None.
    steps : properties of unknown steps.
    also : further models.
    outputs : names of the outputs, or None.
    model_file : file that the model was loaded from, or None.
    """

    model: Any
    sample: Any
    voting: str | None = None
    plausibility: Plausibility | None = None
    steps: Mapping[str, Said] = field(default_factory=dict)
    also: Sequence[Any] = ()
    outputs: Sequence[Any] | None = None
    model_file: Path | None = None


@dataclass(frozen=True, eq=False)
class Contents:
    """Content of a saved explainer: arguments, features, and the decision diagram."""

    arguments: Arguments
    space: FeatureSpace
    diagram: str | None  # JSON of the diagram; None for the default one
    digest: str = ""  # of the explainer that was saved
    versions: Mapping[str, str] = field(default_factory=dict)  # of libraries at that time

    def check_digest(self, digest: str) -> None:
        """Raise InputError if the loaded explainer has another digest than the saved one.

        Other versions of counterfolio may compute other digests.
        """
        if digest == self.digest:
            return
        now = library_versions()
        if self.versions["counterfolio"] != now["counterfolio"]:
            return
        changed = [
            f"{name} {then} at that time and {now.get(name, 'missing')} now"
            for name, then in self.versions.items()
            if now.get(name) != then
        ]
        why = f" ({', '.join(changed)})" if changed else ""
        raise InputError(
            f"the loaded explainer differs from the saved one{why}. Install the versions of its "
            "libraries, or save it again."
        )


def folder_path(folder: str | Path) -> Path:
    """Return the path of a folder; InputError if it is none."""
    if not isinstance(folder, str | Path) or "\0" in str(folder):
        raise InputError(f"folder must be a path, got {folder!r}.")
    return Path(folder)


def is_saved(path: Path) -> bool:
    """Return whether a path is the folder of a saved explainer."""
    return isfile(path / CONTENTS)


def models_of(folder: Path) -> list[Path]:
    """Return the model files of a saved explainer."""
    return sorted(path for path in folder.iterdir() if path.name not in (CONTENTS, ROWS))


def saved_rows(folder: Path) -> pd.DataFrame:
    """Return the rows of a saved explainer as a frame of pandas, without opening its models."""
    return _guarded(folder, lambda plain: _frame(folder, plain))


def _frame(folder: Path, plain: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows with the columns of the explainer, which libraries may have renamed."""
    sample, columns = _sample(folder, plain), list(plain["columns"])
    names = columns if sample.kind == "array" else list(sample.frame.columns)
    places = places_of(columns, names, ROWS)
    return sample.frame.iloc[:, places].set_axis(columns, axis=1)


def save(folder: Path, model: ExplainedModel, contents: Contents, rows: bool) -> None:
    """Write an explainer to a new folder, and check that the folder contains the same one."""
    with _unwritten(folder) as partial:
        _write(partial, model, contents, rows)
        if _reread(load(partial, trust=True)).identity != model.identity:
            raise InputError(
                "the explainer cannot be saved, because it would read the saved rows differently "
                f"from the training data{'' if rows else '. Save it with rows=True'}."
            )
        for path in models_of(partial):  # which this process has opened without harm
            if (record := record_of(path)) is not None:
                add_record(record)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)


def _reread(contents: Contents) -> ExplainedModel:
    arguments = contents.arguments
    rest = (
        arguments.voting,
        arguments.plausibility,
        arguments.steps,
        arguments.also,
        arguments.outputs,
    )
    return read(arguments.model, arguments.sample, contents.space, *rest)


@contextmanager
def _unwritten(folder: Path) -> Iterator[Path]:
    """Yield a new folder beside another; remove it if it is not renamed."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} exists and is not an empty folder. Choose another folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name[:SHORT]}-", dir=folder.parent))
        try:
            partial.chmod(0o755)
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise InputError(_unusable("write", folder, error)) from error


def _unusable(verb: str, folder: Path, error: OSError) -> str:
    """Return the message of an error of the operating system about a folder."""
    if error.errno == errno.ENAMETOOLONG:
        shown = str(folder)[:80]
        return f"cannot {verb} {shown}...: the name is too long. Use a shorter name."
    return f"cannot {verb} {folder}: {error.strerror or error}. Use a path in a writable folder."


def _write(folder: Path, model: ExplainedModel, contents: Contents, rows: bool) -> None:
    arguments = contents.arguments
    plain: dict[str, Any] = {
        "format": FORMAT,
        "versions": dict(library_versions()),
        "digest": model.identity,
        "model": _write_model(arguments.model, folder, "model", arguments.model_file),
        "also": [
            _write_model(each, folder, f"also-{at}") for at, each in enumerate(arguments.also)
        ],
        "plausibility": _write_forests(arguments.plausibility, folder),
        "voting": arguments.voting,
        "steps": dict(arguments.steps),
        "outputs": None
        if arguments.outputs is None
        else [_label(name) for name in arguments.outputs],
        "diagram": None if contents.diagram is None else json.loads(contents.diagram),
        "columns": list(contents.space.columns),
        "features": [_feature(each) for each in contents.space.features],
    }
    sample = Sample.of(arguments.sample)
    if sample is not None:
        sample = sample if rows else without_rows(sample, contents.space, model.native.table)
        plain["frame"] = write_sample(sample, folder / ROWS)
        plain["rows_sha256"] = digest_of(folder / ROWS)
    plain["sha256"] = _digest(plain)
    text = json.dumps(plain, allow_nan=False, indent=1)
    (folder / CONTENTS).write_text(text, encoding="utf-8")


def _digest(plain: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all members but the digest itself, in hex."""
    members = {name: value for name, value in plain.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(members, sort_keys=True).encode()).hexdigest()


def _write_model(
    model: Any, folder: Path, name: str, original: Path | None = None
) -> dict[str, str]:
    """Write a model to a file, in the format of its library if that loses nothing."""
    if original is not None and original.suffix.lower() not in PICKLE and original.is_file():
        path = folder / f"{name}{original.suffix.lower()}"
        shutil.copyfile(original, path)
        if _is_same(path, model):
            return {"file": path.name, "sha256": digest_of(path)}
        path.unlink()
    form = format_to_write(model)
    if form is not None:
        path = folder / f"{name}{form.endings[0]}"
        form.save(model, path)
        if _is_same(path, model):
            return {"file": path.name, "sha256": digest_of(path)}
        path.unlink()
    path = folder / f"{name}.skops"
    _dump(model, path)
    return {"file": path.name, "sha256": digest_of(path)}


def _is_same(path: Path, model: Any) -> bool:
    """Return whether a file has the decisions, classes and columns of a model."""
    try:
        return _decisions(open_model(path)) == _decisions(model)
    except CounterfolioError:
        return False


def _decisions(model: Any) -> tuple[str, Any]:
    reading = read_alone(model)
    native = reading.native
    return fingerprint(reading.ensemble, reading.ensemble.link, native.classes), native.columns


def _dump(model: Any, path: Path) -> None:
    import skops.io

    try:
        skops.io.dump(model, path)
        strange = strange_type(path)
        reason = f"it contains {strange}, which is not of a known library" if strange else ""
    except Exception as error:  # skops and the objects of models raise many types of errors
        reason = first_line(error)
    if reason:
        raise InputError(
            f"a model of type {type(model).__name__} cannot be saved without a pickle ({reason}). "
            "Keep its own file and the training table, and create the explainer from them."
        )


def _write_forests(plausibility: Plausibility | None, folder: Path) -> Any:
    """Write isolation forests; the result has one file, or pairs of labels and files, or None."""
    if plausibility is None:
        return None
    if not isinstance(plausibility.forests, Mapping):
        return _write_model(plausibility.forests, folder, "plausible")
    return [
        [_label(label), _write_model(forest, folder, f"plausible-{at}")]
        for at, (label, forest) in enumerate(plausibility.forests.items())
    ]


def _label(label: Any) -> Any:
    """Return a label for JSON; InputError if JSON cannot hold it."""
    plain = label.item() if isinstance(label, np.generic) else label
    if type(plain) not in LABELS or (isinstance(plain, float) and not math.isfinite(plain)):
        raise InputError(f"the label {label!r} is neither text nor a number. Rename it to save it.")
    return plain


def _feature(feature: Feature) -> dict[str, Any]:
    """Return a feature for JSON, which has no infinite and missing numbers, as text."""
    return {name: _plain(value) for name, value in asdict(feature).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def load(
    folder: Path, trust: bool = False, meanwhile: Callable[[], None] = lambda: None
) -> Contents:
    """Return the contents of a saved explainer; InputError if they are damaged.

    A child process opens the model files first unless they are trusted. Imports and the function
    ``meanwhile`` run at the same time.
    """
    return _guarded(folder, lambda plain: _contents(folder, plain, trust, meanwhile))


def _guarded(folder: Path, use: Callable[[Any], Loaded]) -> Loaded:
    """Return what a function makes of ``explainer.json``; InputError if it fails."""
    path = folder / CONTENTS
    if not isfile(path):
        raise InputError(
            f"{folder} is not a saved explainer: it has no {CONTENTS}. Write one with "
            "Explainer.save."
        )
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != FORMAT:
            raise InputError(
                f"{folder} was saved in format {plain['format']!r}, but this version reads format "
                f"{FORMAT}. Save the explainer again with this version."
            )
        if _digest(plain) != plain["sha256"]:
            raise ValueError(f"{CONTENTS} has changed since it was saved")
        return use(plain)
    except CounterfolioError:
        raise
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}."
    except KeyError as error:
        reason = f"is damaged ({path.name} has no member {error}). Save it again."
    except Exception as error:  # parsers of strangers' files raise many types of errors
        reason = f"is damaged ({first_line(error)}). Save it again."
    raise InputError(f"the saved explainer {folder} {reason}")


def _contents(
    folder: Path, plain: Mapping[str, Any], trust: bool, meanwhile: Callable[[], None]
) -> Contents:
    files = {entry["file"]: _model_file(folder, entry) for entry in _entries(plain)}
    with probing([] if trust else to_probe(files.values(), trust_pickle=False)):
        sample = _sample(folder, plain).native() if "frame" in plain else None
        space = _space(plain)
        _import_libraries(files.values())
        meanwhile()

    def opened(entry: Mapping[str, str]) -> Any:
        file = files[entry["file"]]
        return open_model(file) if trust else load_model(file)

    forests = plain["plausibility"]
    if isinstance(forests, list):
        forests = {label: opened(entry) for label, entry in forests}
    elif forests is not None:
        forests = opened(forests)
    arguments = Arguments(
        opened(plain["model"]),
        sample,
        plain["voting"],
        None if forests is None else Plausibility(forests),
        plain["steps"],
        [opened(entry) for entry in plain["also"]],
        plain["outputs"],
        files[plain["model"]["file"]],
    )
    diagram = plain["diagram"]
    text = None if diagram is None else json.dumps(diagram)
    return Contents(arguments, space, text, plain["digest"], plain["versions"])


def _entries(plain: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """Return the names and digests of all model files."""
    forests = plain["plausibility"]
    if isinstance(forests, list):
        forests = [entry for _, entry in forests]
    elif forests is not None:
        forests = [forests]
    return [plain["model"], *plain["also"], *(forests or [])]


def _model_file(folder: Path, entry: Mapping[str, str]) -> Path:
    file = _checked(folder, entry["file"], entry["sha256"])
    if file.suffix.lower() in PICKLE:
        raise ValueError(f"{file.name} is a pickle")
    return file


def _import_libraries(files: Iterable[Path]) -> None:
    """Import the libraries that read some model files."""
    for file in files:
        form = format_of(file)
        with suppress(Exception):  # loading the file raises it again
            import_module("skops.io" if form is None else form.library)


def _space(plain: Mapping[str, Any]) -> FeatureSpace:
    features = tuple(_feature_of(each) for each in plain["features"])
    space = FeatureSpace(features, tuple(plain["columns"]))
    described = sorted(at for feature in features for at in feature.columns)
    if described != list(range(len(space.columns))):
        raise ValueError("no feature describes some column, or two do")
    return space


def _sample(folder: Path, plain: Mapping[str, Any]) -> Sample:
    if "frame" not in plain:
        raise InputError(f"{folder} was saved without rows. Give rows as --data or --query.")
    return read_sample(_checked(folder, ROWS, plain["rows_sha256"]), plain["frame"])


def _checked(folder: Path, name: str, sha256: str) -> Path:
    """Return a file of the folder; ValueError if it has changed or is elsewhere."""
    if Path(name).name != name:
        raise ValueError(f"{name!r} is not in the folder")
    if not (folder / name).is_file():
        raise ValueError(f"{name} is missing")
    if digest_of(folder / name) != sha256:
        raise ValueError(f"{name} has changed since it was saved")
    return folder / name


def _feature_of(plain: Mapping[str, Any]) -> Feature:
    names = {each.name: each.type for each in fields(Feature)}
    present = names.keys() - (LATER - plain.keys())
    return Feature(**{name: _of_type(names[name], plain[name]) for name in present})


def _of_type(kind: Any, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_of_type(get_args(kind)[0], item) for item in value)
    return float(value) if kind is float else value
