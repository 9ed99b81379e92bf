"""Command ``counterfolio backends``: the table of solvers."""

import importlib
import importlib.util
from importlib.metadata import version
from typing import TYPE_CHECKING

from rich.table import Table

from portfolio.cli.output import wide_console

if TYPE_CHECKING:
    from encoders.backends.interface import Backend


def backends() -> None:
    """List the solvers, whether they are installed, and their capabilities."""
    wide_console().print(backend_table())


def backend_table() -> Table:
    """Return a table with one line per registered backend; import only those with a licence."""
    from encoders.backends.registry import all_backends

    table = Table(
        "name", "paradigm", "engines", "available", "licence", "formulations", "capabilities"
    )
    for backend in all_backends():
        table.add_row(
            backend.name,
            backend.paradigm,
            _engines(backend),
            "yes" if backend.available else f"no: pip install {backend.distribution}",
            backend.licence,
            ", ".join(backend.formulations),
            _words(backend),
        )
    return table


def _engines(backend: "Backend") -> str:
    if not backend.available:
        return backend.distribution
    lines = [f"{backend.distribution} {version(backend.distribution)}"]
    if backend.licence_probes:
        lines += [_licensed(*probe) for probe in backend.licence_probes]
    elif len(backend.engines) > 1:
        lines.append(", ".join(backend.engines))
    return "\n".join(lines)


def _licensed(engine: str, module: str) -> str:
    """Return what the licence of an engine allows, or how to install its package."""
    try:
        licence: str = importlib.import_module(module).licence()
    except ImportError as error:
        return f"{engine} not installed: pip install {error.name}"
    return f"{engine}: {licence}"


def _words(backend: "Backend") -> str:
    """Return the capabilities of a backend, the exceptions by engine, and how it is run."""
    from encoders.backends.interface import AGGREGATES

    capability = backend.capability
    words = ["/".join(name for name in AGGREGATES if name in capability.aggregates) + " costs"]
    others = sorted(capability.features - set(AGGREGATES.values()), key=str)
    for feature in others:
        without = [name for name, lacks in backend.lacks if feature in lacks]
        words.append(f"{feature} (not {', '.join(without)})" if without else str(feature))
    if capability.isolated:
        words.append("worker process")
    if capability.epsilon:
        words.append(f"stops at a gap of {capability.epsilon:g}")
    return ", ".join(words)
