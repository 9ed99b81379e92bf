"""Counterfactual explanations of tree ensembles, with proofs that no smaller change exists.

>>> from counterfolio import Explainer
>>> explainer = Explainer(model, X_train)               # doctest: +SKIP
>>> print(explainer.explain(X_train.iloc[0]))           # doctest: +SKIP

Users import from this package. The code is in ``encoders``, ``selector`` and ``portfolio``.
"""

from functools import cache
from typing import Any


@cache
def _part() -> Any:
    """Return the package with the public names, after checking that it is the right one."""
    from counterfolio.parts import check_parts

    check_parts()
    import portfolio

    return portfolio


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _part().__all__
    if name == "__version__":
        from importlib.metadata import version

        return version("counterfolio")
    if name.startswith("__") or name not in _part().__all__:
        raise AttributeError(f"module 'counterfolio' has no attribute {name!r}")
    return getattr(_part(), name)


def __dir__() -> list[str]:
    return list(_part().__all__)
