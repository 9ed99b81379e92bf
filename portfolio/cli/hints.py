"""A hint for users who have not fixed any feature."""

from collections.abc import Sequence

from encoders.query.features import FeatureSpace
from portfolio.result import Result

MOST_NAMED = 5  # features in a hint


def nothing_fixed(result: Result, constraints: Sequence[object], space: FeatureSpace) -> str:
    """Return a hint on how to fix features, or "" if features are limited or none changes."""
    limited = constraints or any(feature.action != "free" for feature in space.features)
    names = [change.feature for change in result.changed]
    if limited or not names:
        return ""
    some_names = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    first = names[0]
    return (
        f"Hint: no feature is fixed, and the answer changes {some_names}. Fix features that people "
        f"cannot change: --fix '{first}', or --features with "
        f'{{"{first}": {{"action": "fixed"}}}} for every query.'
    )
