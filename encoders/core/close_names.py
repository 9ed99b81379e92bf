"""Suggestions of known names that are close to a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches


def close_names(name: object, known: Iterable[object]) -> str:
    """Return ' Did you mean "x"?' for the closest known name, or '' if none is close."""
    by_lower_case = {str(each).lower(): str(each) for each in known}
    matches = get_close_matches(str(name).lower(), by_lower_case, n=1)
    return f' Did you mean "{by_lower_case[matches[0]]}"?' if matches else ""
