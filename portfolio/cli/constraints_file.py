"""Constraints of a JSON file, written as :mod:`portfolio.written` says."""

import json
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from portfolio import written


def read_constraints(path: Path) -> list[Any]:
    """The constraints of a file.

    Parameters
    ----------
    path : of a JSON file that holds a list

    Raises
    ------
    InputError
        It can't be read, or holds something else.
    """
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"--constraints {path}: {error}.") from error
    return written.read_constraints(given, f"--constraints {path}")
