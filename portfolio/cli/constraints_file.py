"""Constraints of a JSON file, written as :mod:`portfolio.written` says."""

import json
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.text_files import distinct_members, read_text
from portfolio import written


def read_constraints(path: Path) -> list[Any]:
    """The constraints of a file."""
    text = read_text(path, "the file of --constraints")
    try:
        given = json.loads(text, object_pairs_hook=distinct_members)
    except (RecursionError, ValueError) as error:
        raise InputError(f"--constraints {path} is not valid JSON: {error}.") from error
    return written.read_constraints(given, f"--constraints {path}")
