"""What solvers there are, as a table."""

from importlib.metadata import version

from rich.table import Table

from encoders.backend import BACKENDS, Backend, Capability


def backend_table() -> Table:
    """One line per registered backend; imports no solver."""
    table = Table(
        "name", "paradigm", "engine", "available", "licence", "formulations", "capabilities"
    )
    for backend in BACKENDS:
        table.add_row(
            backend.name,
            backend.paradigm,
            _engine(backend),
            "yes" if backend.available else f"no: pip install {backend.distribution}",
            backend.capability.licence,
            ", ".join(backend.formulations),
            _words(backend.capability),
        )
    return table


def _engine(backend: Backend) -> str:
    if not backend.available:
        return backend.distribution
    return f"{backend.distribution} {version(backend.distribution)}"


def _words(capability: Capability) -> str:
    able = {
        "anytime answers": capability.anytime_upper,
        "anytime bounds": capability.anytime_lower,
        "warm start": capability.warm_start,
        "interrupt": capability.interrupt,
        "worker process": capability.isolated,
    }
    words = [f"{'/'.join(sorted(capability.aggregates))} costs", *(k for k, v in able.items() if v)]
    if capability.epsilon:
        words.append(f"stops at a gap of {capability.epsilon:g}")
    return ", ".join(words)
