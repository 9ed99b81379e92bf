"""Where diagrams are kept: those that are shipped, and the user's own default."""

import hashlib
import os
from pathlib import Path

from encoders.errors import InputError
from encoders.whole_files import replace_whole

SHIPPED = Path(__file__).parent / "diagrams" / "default.json"
PAPER = Path(__file__).parent / "diagrams" / "paper.json"
PROMOTED = "diagram.json"
KEPT, UNDONE = "diagram-", "undone-"  # what files begin with that hold a default of before


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


def digest_of(content: bytes) -> str:
    """By which the file of a diagram is told from others.

    Parameters
    ----------
    content : of the file
    """
    return hashlib.sha256(content).hexdigest()[:12]


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
        kept = folder / f"{KEPT}{digest_of(before)}.json"
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


def go_back(shipped: bool = False) -> tuple[Path, Path]:
    """Undo the last promotion, in one step for all who read the default meanwhile.

    The diagram that was the default before is it again, and its file is no longer kept beside.

    Parameters
    ----------
    shipped : undo all promotions

    Returns
    -------
    the file of the default, and the one that holds what was the default until now

    Raises
    ------
    InputError
        None was promoted, or the folder can't be written to; then nothing has changed.
    """
    place = default_place()
    if place == SHIPPED:
        raise InputError("no diagram was promoted: the default is the one that is shipped.")
    folder = place.parent
    try:
        content = place.read_bytes()
        undone = folder / f"{UNDONE}{digest_of(content)}.json"
        replace_whole(undone, lambda part: part.write_bytes(content))
        kept = sorted(folder.glob(f"{KEPT}*.json"), key=lambda path: path.stat().st_mtime_ns)
        before = None if shipped or not kept else kept[-1]
        if before is None or before.read_bytes() == SHIPPED.read_bytes():
            place.unlink()
        else:
            os.replace(before, place)
    except OSError as error:
        raise InputError(
            f"can't go back to another diagram in {folder}: {error.strerror}."
        ) from error
    return default_place(), undone
