"""Part of counterfolio: what users call. Import it as ``counterfolio``, whose names these are.

``__init__.pyi`` lists the public names with their modules, for type checkers and for this module,
which imports each at its first use: importing all of them takes a while.
"""

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _modules() -> dict[str, str]:
    """Return the module of each public name."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_modules())
    if name not in _modules():
        raise AttributeError(f"module 'portfolio' has no attribute {name!r}")
    value = getattr(importlib.import_module(_modules()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})
