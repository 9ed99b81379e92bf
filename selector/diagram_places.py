"""Where diagrams are kept: those that are shipped, and the user's own default."""

import hashlib
import os
from pathlib import Path

from encoders.errors import InputError
from encoders.whole_files import replace_whole

SHIPPED = Path(__file__).parent / "diagrams" / "default.json"
PAPER = Path(__file__).parent / "diagrams" / "paper.json"
PROMOTED = "diagram.json"


def config_folder() -> Path | None:
    """The user's settings: ``$COUNTERFOLIO_CONFIG``, else ``$XDG_CONFIG_HOME/counterfolio``, else
    ``~/.config/counterfolio``; None for a user without a home. It need not exist."""
    if chosen := os.environ.get("COUNTERFOLIO_CONFIG"):
        return Path(chosen)
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if base.is_absolute():  # others are to be ignored, says the standard of these folders
        return base / "counterfolio"
    try:
        return Path.home() / ".config" / "counterfolio"
    except RuntimeError:
        return None


def default_place() -> Path:
    """The file that ``auto`` follows unless told otherwise: the one that was promoted, or else
    the one that is shipped. A folder that can't be looked into counts as empty."""
    folder = config_folder()
    if folder is not None and os.path.isfile(folder / PROMOTED):
        return folder / PROMOTED
    return SHIPPED


def promote(text: str) -> tuple[Path, Path]:
    """Make the text of a diagram the user's default, in one step for all who read it meanwhile.

    Parameters
    ----------
    text : JSON of a diagram, not looked at

    Returns
    -------
    the file it is in, and the one beside it that holds the default until now

    Raises
    ------
    InputError
        There is no folder for it, or it can't be written to; then nothing has changed.
    """
    folder = config_folder()
    if folder is None:
        raise InputError(
            "there is no home folder to keep a promoted diagram in: set COUNTERFOLIO_CONFIG to one."
        )
    try:
        before = default_place().read_bytes()
        kept = folder / f"diagram-{hashlib.sha256(before).hexdigest()[:12]}.json"
        folder.mkdir(parents=True, exist_ok=True)
        replace_whole(kept, lambda part: part.write_bytes(before))
        replace_whole(folder / PROMOTED, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"can't make the diagram the default in {folder}: {error.strerror}; set "
            "COUNTERFOLIO_CONFIG to a folder that can be written to, or give the diagram to "
            "Explainer(diagram=...) or --diagram."
        ) from error
    return folder / PROMOTED, kept
