"""Whether the packages that we are made of are ours.

``encoders``, ``selector`` and ``portfolio`` are names that others take, too: a ``portfolio.py``
beside a user's script hides ours, and another distribution can overwrite or delete it.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

PARTS = ("encoders", "selector", "portfolio")
REPAIR = "pip install --force-reinstall --no-deps counterfolio"


def check_parts() -> None:
    """Make sure of it, before anything of theirs is run."""
    for name in PARTS:
        complaint = _complaint(name)
        if complaint:
            raise ImportError(complaint, name=name)


def _complaint(name: str) -> str:
    ours = Path(__file__).resolve().parents[1] / name / "__init__.py"
    found = _place(name)
    if found is not None and found.resolve() not in (ours, ours.parent):
        return (
            f"{found} hides the package {name!r} that counterfolio is made of; rename that file "
            "or folder, or start Python where it is not on the path."
        )
    if found is None or not ours.is_file():
        return (
            f"the package {name!r} that counterfolio is made of is gone from {ours.parents[1]}; "
            f"another distribution of that name was probably uninstalled. Repair it with: {REPAIR}"
        )
    if "counterfolio" not in ours.read_text(encoding="utf-8", errors="replace"):
        return (
            f"{ours} is not counterfolio's: another distribution that brings a package {name!r} "
            "was installed over it. Give counterfolio an environment of its own, or uninstall "
            f"the other one and repair ours with: {REPAIR}"
        )
    return ""


def _place(name: str) -> Path | None:
    """Where Python takes the package from; nothing is imported."""
    module = sys.modules.get(name)
    if module is not None:
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        return Path(file) if file else None
    spec = find_spec(name)
    if spec is None:
        return None
    file = spec.origin or next(iter(spec.submodule_search_locations or []), "")
    return Path(file) if file else None
