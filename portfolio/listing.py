"""What solvers there are, as a table."""

import importlib.util
from importlib.metadata import version

from rich.table import Table

from encoders.backend import BACKENDS, Backend, Capability


def backend_table() -> Table:
    """One line per registered backend; starts none but Gurobi, to see what its licence allows."""
    table = Table(
        "name", "paradigm", "engines", "available", "licence", "formulations", "capabilities"
    )
    for backend in BACKENDS:
        table.add_row(
            backend.name,
            backend.paradigm,
            _engines(backend),
            "yes" if backend.available else f"no: pip install {backend.distribution}",
            backend.capability.licence,
            ", ".join(backend.formulations),
            _words(backend.capability),
        )
    return table


def _engines(backend: Backend) -> str:
    if not backend.available:
        return backend.distribution
    lines = [f"{backend.distribution} {version(backend.distribution)}"]
    if "gurobi" in backend.engines:
        lines.append(_gurobi())
    elif len(backend.engines) > 1:
        lines.append(", ".join(backend.engines))
    return "\n".join(lines)


def _gurobi() -> str:
    if importlib.util.find_spec("gurobipy") is None:
        return "gurobi not installed: pip install gurobipy"
    from encoders.gurobi import licence

    return f"gurobipy {version('gurobipy')}, {licence()}"


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
