"""The models that are served, replaced all at once when their files change."""

import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from encoders.backends.registry import all_backends
from encoders.errors import CounterfolioError, InputError
from encoders.query.features import Feature
from portfolio.as_json import as_plain
from portfolio.explainer import Explainer
from portfolio.fingerprint import fingerprint
from portfolio.question import RACE
from portfolio.service.sources import Source
from selector.diagram import Diagram, diagram_of
from selector.diagram_places import default_place

log = logging.getLogger("counterfolio.service")


@dataclass(frozen=True, eq=False)
class Model:
    """One model that is served.

    Attributes
    ----------
    name : in paths
    explainer : of it
    content : the same, pickled, for workers
    example : a row to begin with
    state : of its files when it was loaded
    key : by which workers know it
    """

    name: str
    explainer: Explainer
    content: bytes
    example: dict[str, Any]
    state: Any
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", fingerprint(self.content))

    @property
    def digest(self) -> str:
        """Of all that the model's decisions depend on."""
        return self.explainer.digest

    @cached_property
    def diagram_digest(self) -> str:
        """Of what picks backends."""
        return self.explainer.diagram.digest

    def short(self) -> dict[str, Any]:
        """Which one it is."""
        return {"name": self.name, "digest": self.digest, "diagram": self.diagram_digest}

    def following(self, default: Diagram) -> "Model":
        """The same model by the default diagram, unless it has a diagram of its own.

        Parameters
        ----------
        default : the default diagram of this moment
        """
        explainer = self.explainer
        if not explainer.follows_default or explainer.diagram == default:
            return self
        explainer = explainer.following(None)
        return Model(self.name, explainer, pickle.dumps(explainer), self.example, self.state)

    def described(self) -> dict[str, Any]:
        """What a caller has to know to ask."""
        space = self.explainer.features
        told: dict[str, Any] = as_plain(
            self.short()
            | {
                "classes": list(self.explainer.classes),
                "columns": list(space.columns),
                "features": [_described(feature, space.columns) for feature in space.features],
                "strategies": ["auto", RACE, *(backend.name for backend in all_backends())],
                "example": self.example,
            }
        )
        return told


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
        "truth": feature.truth,
        "step": feature.step or None,
    }


class Catalogue:
    """Models by name.

    Thread safe: who took a model keeps it, whatever is loaded meanwhile.

    Parameters
    ----------
    sources : gives the models that there are to be, each time it is asked

    Raises
    ------
    CounterfolioError
        A model can't be loaded.
    """

    def __init__(self, sources: Callable[[], Sequence[Source]]) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._models = self._loaded({})
        self._refused: Any = None
        self._default = _Default()
        self._follow()

    @property
    def models(self) -> dict[str, Model]:
        """All of this moment."""
        return self._models

    def refresh(self) -> bool:
        """Load what has changed, and replace all at once; what can't be loaded changes nothing.

        Models without a diagram of their own follow another default as soon as there is one.

        Returns
        -------
        Whether there are other models now.
        """
        with self._lock:
            reloaded = self._reload()
            return self._follow() or reloaded

    def _follow(self) -> bool:
        default = self._default.diagram()
        if default is None:
            return False
        models = {name: model.following(default) for name, model in self._models.items()}
        others = [name for name, model in models.items() if model is not self._models[name]]
        if others:
            self._models = models
            log.info("models follow the diagram %s: %s", default.digest, ", ".join(others))
        return bool(others)

    def _reload(self) -> bool:
        try:
            states = [source.state() for source in self._sources()]
            if states == [m.state for m in self._models.values()] or states == self._refused:
                return False
            self._models = self._loaded(self._models)
        except CounterfolioError as error:
            self._refused = _states(self._sources)
            log.error("models were not reloaded: %s", error)
            return False
        self._refused = None
        log.info("models were reloaded: %s", ", ".join(self._models))
        return True

    def _loaded(self, old: dict[str, Model]) -> dict[str, Model]:
        found: dict[str, Model] = {}
        for source in self._sources():
            if source.name in found:
                raise InputError(f"two models are called {source.name!r}.")
            known, state = old.get(source.name), source.state()
            found[source.name] = known if known and known.state == state else _load(source, state)
        return found


class _Default:
    """The diagram that is the default, read again when its file has changed."""

    def __init__(self) -> None:
        self._content = b""
        self._diagram: Diagram | None = None

    def diagram(self) -> Diagram | None:
        """That of this moment; of one that can't be read what was the default before."""
        try:
            content = default_place().read_bytes()
            if content != self._content:
                self._content = content
                self._diagram = diagram_of(None)
        except (OSError, InputError) as error:
            log.error("the default diagram can't be followed: %s", error)
        return self._diagram


def _states(sources: Callable[[], Sequence[Source]]) -> Any:
    try:
        return [source.state() for source in sources()]
    except CounterfolioError:
        return None


def _load(source: Source, state: Any) -> Model:
    try:
        opened = source.open()
    except InputError as error:
        raise InputError(f"model {source.name!r}: {error}") from error
    try:
        content = pickle.dumps(opened.explainer)
    except Exception as error:
        raise InputError(
            f"model {source.name!r} can't be sent to workers ({error}); use functions and classes "
            "of a module that can be imported."
        ) from error
    return Model(source.name, opened.explainer, content, opened.example, state)
