"""The served models, replaced together when their files change."""

import io
import json
import logging
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from encoders.backends.registry import all_backends
from encoders.core.errors import CounterfolioError, InputError
from encoders.query.features import Feature
from portfolio.api.explainer import Explainer
from portfolio.api.variants import asker_of
from portfolio.engine.question import RACE
from portfolio.model.fingerprint import fingerprint
from portfolio.model.probe import probing
from portfolio.results.codec import encode
from portfolio.service.decisions import has_probabilities
from portfolio.service.examples import another_row
from portfolio.service.shown_rows import ShownRows
from portfolio.service.sources import ModelFiles, Source, without_folders
from portfolio.service.worker_process import ModelWork
from portfolio.workers.solver_workers import Workers
from selector.diagram import Diagram, diagram_of
from selector.diagram_places import default_place

log = logging.getLogger("counterfolio.service")


@dataclass(frozen=True, eq=False)
class Model:
    """A served model."""

    name: str  # name in paths
    explainer: Explainer  # for the model
    content: bytes  # the pickled :class:`ModelWork`, for workers
    example: dict[str, Any]  # example row by column name
    state: Any  # state of the model's files when it was loaded
    shown: ShownRows | None = None  # training rows, or None without actual ones
    key: str = field(init=False)  # identifier of the model in workers

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", fingerprint(self.content))

    @property
    def digest(self) -> str:
        """Digest of everything that the model's predictions depend on."""
        return self.explainer.digest

    @cached_property
    def diagram_digest(self) -> str:
        """Digest of the decision diagram that selects backends."""
        return self.explainer.diagram.digest

    @cached_property
    def another(self) -> dict[str, Any] | None:
        """Row with another prediction than the example, by column name; None if none was found."""
        return another_row(self.explainer, self.example)

    def short(self) -> dict[str, Any]:
        """Return name and digests, which identify the model."""
        return {"name": self.name, "digest": self.digest, "diagram": self.diagram_digest}

    @cached_property
    def named(self) -> str:
        """Name and digests as JSON, which every answer contains."""
        return json.dumps(self.short())

    def following(self, default: Diagram) -> "Model":
        """Return the model with the default diagram, unless it has a custom diagram."""
        explainer = self.explainer
        if not explainer.follows_default or explainer.diagram == default:
            return self
        explainer = explainer.following(None)
        return replace(self, explainer=explainer, content=_packed(explainer))

    @cached_property
    def _has_probabilities(self) -> bool:
        model = asker_of(self.explainer).model
        each = [output.model for output in model.outputs.values()] or [model]
        return all(map(has_probabilities, each))

    def described(self) -> dict[str, Any]:
        """Return what a client needs to send requests: classes, columns, features, example."""
        space, shown = self.explainer.features, self.shown
        spread = {} if shown is None else shown.distributions
        description: dict[str, Any] = encode(
            self.short()
            | {
                "classes": list(self.explainer.classes),
                "outputs": {str(name): labels for name, labels in self.explainer.outputs.items()},
                "columns": list(space.columns),
                "features": [
                    _described(feature, space.columns) | {"distribution": spread.get(feature.name)}
                    for feature in space.features
                ],
                "strategies": ["auto", RACE, *(backend.name for backend in all_backends())],
                "probabilities": self._has_probabilities,
                "plausible": asker_of(self.explainer).model.plausible,
                "boundary": shown is not None and shown.has_boundary,
                "example": self.example,
            }
        )
        return description


class _Packer(pickle.Pickler):
    """Pickler that refuses what only this program defines, as workers run another one."""

    def reducer_override(self, obj: Any) -> Any:
        """See :class:`pickle.Pickler`."""
        if isinstance(obj, type | FunctionType) and obj.__module__ == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} is defined in a script or a notebook")
        return NotImplemented


def _packed(explainer: Explainer) -> bytes:
    content = io.BytesIO()
    _Packer(content).dump(ModelWork(explainer))
    return content.getvalue()


def _described(feature: Feature, columns: Sequence[str]) -> dict[str, Any]:
    return {
        "name": feature.name,
        "kind": feature.kind,
        "columns": [columns[at] for at in feature.columns],
        "lower": feature.lower,
        "upper": feature.upper,
        "values": list(feature.values),
        "labels": list(feature.labels),
        "action": feature.action,
        "missing": feature.missing,
        "missing_codes": list(feature.codes),
        "truth": feature.truth,
        "step": feature.step or None,
        "unit": feature.unit or None,
    }


@dataclass(frozen=True, eq=False)
class Failure:
    """A model that cannot be loaded."""

    name: str  # name in paths
    error: Exception  # the reason
    detail: str  # the reason in one sentence, without folders of the server
    state: Any  # state of the files; the model is loaded again when it changes

    def summary(self) -> dict[str, Any]:
        """Return name and reason as plain values."""
        return {"name": self.name, "detail": self.detail}


@dataclass(frozen=True, eq=False)
class _Held:
    """Models and failures at one moment, replaced as a whole.

    Attributes
    ----------
    models : dict, models by name; the previous version if the new files cannot be loaded
    failures : dict, failures by name
    """

    models: dict[str, Model] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)


class Catalogue:
    """The models by name, and those that failed to load.

    Thread safe: a model in use stays valid when another version is loaded.
    """

    def __init__(
        self, sources: Callable[[], Sequence[Source]], solvers: Workers | None = None
    ) -> None:
        self._sources, self._solvers = sources, solvers
        self._lock = threading.Lock()
        self._held = self._loaded(_Held())
        if not self._held.models:
            raise next(iter(self._held.failures.values())).error
        self._complain({})
        self._refused = ""
        self._default = _Default()
        self._follow()

    @property
    def models(self) -> dict[str, Model]:
        """Current models by name."""
        return self._held.models

    @property
    def failures(self) -> dict[str, Failure]:
        """Models that cannot be loaded from their current files, by name."""
        return self._held.failures

    def refresh(self) -> bool:
        """Load changed models and replace all together; return True if a model changed.

        A model that fails to load keeps its previous version. Models without a custom diagram
        follow a new default diagram.
        """
        with self._lock:
            reloaded = self._reload()
            return self._follow() or reloaded

    def _follow(self) -> bool:
        default = self._default.diagram()
        if default is None:
            return False
        models = {name: model.following(default) for name, model in self.models.items()}
        others = [name for name, model in models.items() if model is not self.models[name]]
        if others:
            self._held = replace(self._held, models=models)
            log.info("models use the new default diagram %s: %s", default.digest, ", ".join(others))
        return bool(others)

    def _reload(self) -> bool:
        before, failures = self.models, self.failures
        try:
            loaded = self._loaded(self._held)
        except CounterfolioError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                log.error("reloading the models failed: %s", error)
            return False
        self._refused = ""
        same = list(before.items()) == list(loaded.models.items())
        self._held = replace(loaded, models=before) if same else loaded
        self._complain(failures)
        if not same:
            log.info("models reloaded: %s", ", ".join(self.models))
        return not same

    def _complain(self, before: Mapping[str, Failure]) -> None:
        """Log new failures to load models."""
        for name, failure in self.failures.items():
            if failure is not before.get(name):
                bug = None if isinstance(failure.error, CounterfolioError) else failure.error
                log.error("loading failed: %s", failure.error, exc_info=bug)

    def _loaded(self, old: _Held) -> _Held:
        loaded, sources = _Held(), self._sources()
        states = [source.state() for source in sources]
        _probe_changed(sources, states, old)
        for source, state in zip(sources, states, strict=True):
            name = source.name
            if name in loaded.models or name in loaded.failures:
                raise InputError(f"two models have the name {name!r}. Rename one.")
            previous, failed = old.models.get(name), old.failures.get(name)
            entry: Model | Failure | None = failed
            if failed is None or failed.state != state:
                entry = (
                    previous
                    if previous and previous.state == state
                    else _load(source, state, self._solvers)
                )
            if isinstance(entry, Failure):
                loaded.failures[name], entry = entry, previous
            if entry is not None:
                loaded.models[name] = entry
        return loaded


class _Default:
    """The default diagram, read again when its file changes."""

    def __init__(self) -> None:
        self._content = b""
        self._diagram: Diagram | None = None

    def diagram(self) -> Diagram | None:
        """Return the default diagram; the previous one if the file cannot be read."""
        try:
            content = default_place().read_bytes()
            if content != self._content:
                self._content = content
                self._diagram = diagram_of(None)
        except (OSError, InputError) as error:
            log.error("reading the default diagram failed: %s", error)
        return self._diagram


def _probe_changed(sources: Sequence[Source], states: Sequence[Any], old: _Held) -> None:
    """Probe all changed model files in one child process, which takes seconds to start."""
    files: list[Path] = []
    for source, state in zip(sources, states, strict=True):
        entries = (old.models.get(source.name), old.failures.get(source.name))
        if isinstance(source, ModelFiles) and all(
            entry is None or entry.state != state for entry in entries
        ):
            files += source.model_files()
    if len(files) > 1:
        with probing(files):
            pass


def _load(source: Source, state: Any, solvers: Workers | None) -> Model | Failure:
    try:
        return _opened(source, state, solvers)
    except CounterfolioError as error:
        return Failure(source.name, error, without_folders(str(error), source), state)
    except Exception as error:  # a bug in a reader; other models are served nevertheless
        words = f"model {source.name!r}: internal error. See the server log."
        return Failure(source.name, error, words, state)


def _opened(source: Source, state: Any, solvers: Workers | None) -> Model:
    began = time.perf_counter()
    try:
        opened = source.open()
    except InputError as error:
        raise InputError(f"model {source.name!r}: {error}") from error
    explainer = opened.explainer if solvers is None else opened.explainer.run_by(solvers)
    log.info("model %r loaded in %.1f seconds", source.name, time.perf_counter() - began)
    try:
        content = _packed(explainer)
    except Exception as error:
        raise InputError(
            f"model {source.name!r} cannot be sent to workers ({error}). Define its functions and "
            "classes in a module that can be imported."
        ) from error
    shown = None if opened.rows is None else ShownRows(explainer, opened.rows)
    return Model(source.name, explainer, content, opened.example, state, shown)
