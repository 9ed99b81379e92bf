"""The user's cache folder."""

import os
from pathlib import Path

from encoders.core import system


def cache_folder(name: str = "") -> Path | None:
    """Return a cache folder, or one in it, that only this user can write to; None without one.

    ``COUNTERFOLIO_CACHE`` names the folder; an empty value disables the cache.
    """
    setting, base = os.environ.get("COUNTERFOLIO_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    if setting == "":
        return None
    try:
        home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
        folder = Path(setting) if setting else home / "counterfolio" / "models"
        for each in dict.fromkeys((folder, folder / name)):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not system.is_private(each):
                return None
        return folder / name
    except (OSError, RuntimeError):  # no home folder, or not writable
        return None
