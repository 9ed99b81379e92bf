"""Versions of the libraries that read and run models."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

LIBRARIES = (
    *("counterfolio", "scikit-learn", "xgboost", "lightgbm", "catboost", "treelite", "skops"),
    *("numpy", "pandas"),
)


@cache
def library_versions() -> Mapping[str, str]:
    """Return the versions of Python and of the installed libraries by name."""
    versions = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return MappingProxyType(versions)
