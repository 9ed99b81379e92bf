"""Order of features that a user may begin."""

from collections.abc import Sequence

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace
from encoders.query.names import feature_name


def feature_order(
    first: Sequence[str] | None, space: FeatureSpace, then: Sequence[str] = ()
) -> list[int]:
    """Return the indices of all features, those that the user names before others."""
    if isinstance(first, str) or not isinstance(first, Sequence | None):
        raise InputError(f"order must be a list of feature names, got {first!r}.")
    known = [feature.name for feature in space.features]
    named = [feature_name(name) for name in first or ()]
    for name in named:
        if name not in known:
            raise InputError(
                f"order contains {name!r}, which is not a feature.{close_names(name, known)} Use "
                f"names of {', '.join(known)}."
            )
        if named.count(name) > 1:
            raise InputError(f"order contains {name!r} more than once. Name each feature once.")
    return [known.index(name) for name in dict.fromkeys([*named, *then, *known])]
