"""Locations of diagrams: the shipped ones, and the default that the user promoted."""

import hashlib
import os
from pathlib import Path

from encoders.core.errors import InputError
from encoders.core.whole_files import replace_whole

FOLDER = Path(__file__).parent / "diagrams"
SHIPPED = FOLDER / "default.json"
PAPER = FOLDER / "paper.json"
PROMOTED = "diagram.json"
KEPT, UNDONE = "diagram-", "undone-"  # prefixes of files that hold earlier defaults


def config_folder() -> Path | None:
    """Return the folder of the user's settings, which need not exist.

    It is ``$COUNTERFOLIO_CONFIG``, else ``$XDG_CONFIG_HOME/counterfolio``, else
    ``~/.config/counterfolio``.

    Returns
    -------
    Path or None
        The folder, None if the user has no home folder.

    Examples
    --------
    >>> from selector.diagram_places import config_folder
    >>> config_folder().name
    'counterfolio'
    """
    if chosen := os.environ.get("COUNTERFOLIO_CONFIG"):
        return Path(chosen)
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if base.is_absolute():  # the XDG standard says to ignore relative paths
        return base / "counterfolio"
    try:
        return Path.home() / ".config" / "counterfolio"
    except RuntimeError:
        return None


def default_place() -> Path:
    """Return the file of the default diagram: the promoted one, or else the shipped one.

    A folder that cannot be read counts as empty.

    Returns
    -------
    Path
        JSON file of the diagram.

    Examples
    --------
    >>> from selector.diagram_places import default_place, promote
    >>> default_place().name  # the shipped diagram
    'default.json'
    >>> places = promote(explainer.diagram.to_json())
    >>> default_place().name
    'diagram.json'
    """
    folder = config_folder()
    if folder is not None and os.path.isfile(folder / PROMOTED):
        return folder / PROMOTED
    return SHIPPED


def digest_of(content: bytes) -> str:
    """Return the digest that identifies the file of a diagram.

    Parameters
    ----------
    content : bytes
        Content of the file.

    Returns
    -------
    str
        12 hexadecimal digits.

    Examples
    --------
    >>> from selector.diagram_places import digest_of
    >>> digest_of(explainer.diagram.to_json().encode()) == explainer.diagram.digest
    True
    """
    return hashlib.sha256(content).hexdigest()[:12]


def promote(text: str) -> tuple[Path, Path]:
    """Make a diagram the user's default.

    The file is replaced atomically, so other processes read either the old or the new diagram.

    Parameters
    ----------
    text : str
        JSON of the diagram, which is not checked.

    Returns
    -------
    default : Path
        File of the new default.
    previous : Path
        File beside it that holds the previous default.

    Raises
    ------
    InputError
        If the user does not have a home folder, or the folder is not writable. Nothing has changed
        then.

    Examples
    --------
    >>> from selector.diagram_places import promote
    >>> default, previous = promote(explainer.diagram.to_json())
    >>> default.name
    'diagram.json'
    """
    folder = config_folder()
    if folder is None:
        raise InputError(
            "the user does not have a home folder for the promoted diagram. "
            "Set COUNTERFOLIO_CONFIG to a folder."
        )
    try:
        before = default_place().read_bytes()
        kept = folder / f"{KEPT}{digest_of(before)}.json"
        folder.mkdir(parents=True, exist_ok=True)
        replace_whole(kept, lambda part: part.write_bytes(before))
        replace_whole(folder / PROMOTED, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"Cannot write the default diagram to {folder}: {error.strerror}. Set "
            "COUNTERFOLIO_CONFIG to a writable folder, or pass the diagram to "
            "Explainer(diagram=...) or --diagram."
        ) from error
    return folder / PROMOTED, kept


def go_back(shipped: bool = False) -> tuple[Path, Path]:
    """Undo the last promotion.

    The previous default becomes the default again, and its backup file is removed. Files are
    replaced atomically.

    Parameters
    ----------
    shipped : bool, default False
        Whether to go back to the shipped diagram and undo all promotions.

    Returns
    -------
    default : Path
        File of the default after the call.
    undone : Path
        File that holds the diagram that was the default before the call.

    Raises
    ------
    InputError
        If no diagram was promoted, or the folder is not writable. Nothing has changed then.

    Examples
    --------
    >>> from selector.diagram_places import go_back, promote
    >>> places = promote(explainer.diagram.to_json())
    >>> default, undone = go_back()
    >>> default.name  # the shipped diagram again
    'default.json'
    """
    place = default_place()
    if place == SHIPPED:
        raise InputError("No diagram was promoted, so there is nothing to undo; promote one first.")
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
            f"Cannot restore the previous diagram in {folder}: {error.strerror}. Make the folder "
            "writable, or set COUNTERFOLIO_CONFIG to another one."
        ) from error
    return default_place(), undone
