"""Check that the imported packages belong to counterfolio.

``encoders``, ``selector`` and ``portfolio`` are common names. A ``portfolio.py`` beside a user's
script hides the package, and another distribution can overwrite or delete it.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

PARTS = ("encoders", "selector", "portfolio")
REPAIR = "pip install --force-reinstall --no-deps counterfolio"


def check_parts() -> None:
    """Raise ImportError if a package is hidden, missing or replaced, before its code runs."""
    for name in PARTS:
        problem = _problem(name)
        if problem:
            raise ImportError(problem, name=name)


def _problem(name: str) -> str:
    """Return what is wrong with a package and the remedy; "" if nothing is."""
    ours = Path(__file__).resolve().parents[1] / name / "__init__.py"
    place = _place(name)
    if place is not None and place.resolve() not in (ours, ours.parent):
        return (
            f"{place} hides the package {name!r} of counterfolio. Rename that file or folder, or "
            "start Python where it is not on the path."
        )
    if place is None or not ours.is_file():
        return (
            f"the package {name!r} of counterfolio is missing in {ours.parents[1]}. Another "
            f"distribution of that name was probably uninstalled. Repair it with: {REPAIR}"
        )
    if "counterfolio" not in ours.read_text(encoding="utf-8", errors="replace"):
        return (
            f"{ours} does not belong to counterfolio: another distribution with a package {name!r} "
            "has overwritten it. Install counterfolio in a separate environment, or uninstall the "
            f"other distribution and repair counterfolio with: {REPAIR}"
        )
    return ""


def _place(name: str) -> Path | None:
    """Return the file or folder from which Python imports a package, without importing it."""
    module = sys.modules.get(name)
    if module is not None:
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        return Path(file) if file else None
    spec = find_spec(name)
    if spec is None:
        return None
    file = spec.origin or next(iter(spec.submodule_search_locations or []), "")
    return Path(file) if file else None
