"""The functions and classes whose documentation users rely on."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import counterfolio
import encoders.testing

OURS = ("counterfolio", "encoders", "selector", "portfolio")
# Pages of docs/api, which list whole modules.
PAGES = ("backends", "diagrams", "integrations", "logs", "testing")


def public_names(docs: Path) -> dict[str, Any]:
    """Return each public class, function and method by its full name."""
    found: dict[str, Any] = {}
    for value in _exported(docs):
        if inspect.isclass(value):
            found.update(_of_class(value))
        elif inspect.isfunction(value):
            found[f"{value.__module__}.{value.__qualname__}"] = value
    return dict(sorted(found.items()))


def _exported(docs: Path) -> Iterator[Any]:
    """Yield what the packages export and what the pages of the API list."""
    for package in (counterfolio, encoders.testing):
        yield from (getattr(package, name) for name in package.__all__)
    for page in PAGES:
        for line in (docs / "api" / f"{page}.md").read_text().splitlines():
            if line.startswith("::: "):
                yield from _of_module(importlib.import_module(line.removeprefix("::: ")))


def _of_module(module: ModuleType) -> Iterator[Any]:
    """Yield what a module defines under a public name."""
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
            yield value
    for more in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
        yield from _of_module(importlib.import_module(more.name))


def _of_class(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield a class and the public methods that it has or inherits from ours."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] not in OURS or base.__name__.startswith("_"):
            continue
        yield f"{base.__module__}.{base.__qualname__}", base
        for name, value in vars(base).items():
            method = getattr(value, "fget", None) or getattr(value, "__func__", value)
            named = inspect.isfunction(method) and method.__name__ == name  # no default of a field
            if named and not name.startswith("_"):
                yield f"{base.__module__}.{base.__qualname__}.{name}", method
