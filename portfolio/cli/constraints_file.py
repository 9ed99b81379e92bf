"""Constraints in a JSON file of the command line."""

import json
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from encoders.core.text_files import distinct_members, read_text
from encoders.query.codec import decode_constraints


def read_constraints(path: Path) -> list[Any]:
    """Return the constraints in a file; raise InputError if it cannot be read."""
    text = read_text(path, "the file of --constraints")
    try:
        content = json.loads(text, object_pairs_hook=distinct_members)
    except (RecursionError, ValueError) as error:
        raise InputError(
            f"--constraints {path} is not valid JSON: {error}. Fix the file."
        ) from error
    return decode_constraints(content, f"--constraints {path}")
