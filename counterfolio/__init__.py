"""Counterfactual explanations of tree ensembles, with proofs that no smaller change exists.

>>> from counterfolio import Explainer
>>> explainer = Explainer(model, X_train)               # doctest: +SKIP
>>> print(explainer.explain(X_train.iloc[0]))           # doctest: +SKIP

Users import from this package. The code is in ``encoders``, ``selector`` and ``portfolio``.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portfolio import (
        Allowed,
        AllowedPairs,
        AllowMissing,
        Answer,
        Around,
        AsyncClient,
        AtLeast,
        AtMost,
        Attempt,
        Audit,
        AuditDifference,
        AuditGroup,
        BatchError,
        Becomes,
        Change,
        Changes,
        Client,
        Contrast,
        CounterfolioError,
        Decrease,
        Diagram,
        Diverse,
        Estimate,
        Explainer,
        Exploration,
        Falls,
        Feature,
        FeatureSpace,
        Fixed,
        Forbidden,
        Front,
        FrontPoint,
        GroupAction,
        GroupMember,
        GroupRecourse,
        GroupStep,
        HardVotingClassifier,
        Implies,
        Increase,
        InputError,
        JointCost,
        Less,
        Linear,
        LocalExecutor,
        Logbook,
        LogWarning,
        MaxChanges,
        Member,
        ModelChangedError,
        More,
        Necessary,
        OnlineCosts,
        Plausibility,
        Precedence,
        Probability,
        Range,
        RayExecutor,
        ReasonCode,
        ReasonCodes,
        Reasons,
        Region,
        Relaxation,
        Result,
        Retraining,
        Rises,
        Robust,
        Robustness,
        Score,
        ServiceError,
        Session,
        Several,
        Span,
        Stays,
        Timings,
        Together,
        UnavailableBackendError,
        UnsupportedModelError,
        WhyNot,
        Within,
        Workers,
        plot_batch,
    )

__all__ = [
    "AllowMissing",
    "Allowed",
    "AllowedPairs",
    "Answer",
    "Around",
    "AsyncClient",
    "AtLeast",
    "AtMost",
    "Attempt",
    "Audit",
    "AuditDifference",
    "AuditGroup",
    "BatchError",
    "Becomes",
    "Change",
    "Changes",
    "Client",
    "Contrast",
    "CounterfolioError",
    "Decrease",
    "Diagram",
    "Diverse",
    "Estimate",
    "Explainer",
    "Exploration",
    "Falls",
    "Feature",
    "FeatureSpace",
    "Fixed",
    "Forbidden",
    "Front",
    "FrontPoint",
    "GroupAction",
    "GroupMember",
    "GroupRecourse",
    "GroupStep",
    "HardVotingClassifier",
    "Implies",
    "Increase",
    "InputError",
    "JointCost",
    "Less",
    "Linear",
    "LocalExecutor",
    "LogWarning",
    "Logbook",
    "MaxChanges",
    "Member",
    "ModelChangedError",
    "More",
    "Necessary",
    "OnlineCosts",
    "Plausibility",
    "Precedence",
    "Probability",
    "Range",
    "RayExecutor",
    "ReasonCode",
    "ReasonCodes",
    "Reasons",
    "Region",
    "Relaxation",
    "Result",
    "Retraining",
    "Rises",
    "Robust",
    "Robustness",
    "Score",
    "ServiceError",
    "Session",
    "Several",
    "Span",
    "Stays",
    "Timings",
    "Together",
    "UnavailableBackendError",
    "UnsupportedModelError",
    "WhyNot",
    "Within",
    "Workers",
    "plot_batch",
]


@cache
def _part() -> Any:
    """Return the package with the public names, after checking that it is the right one."""
    from counterfolio.parts import check_parts

    check_parts()
    import portfolio

    return portfolio


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_part(), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("counterfolio")
    raise AttributeError(f"module 'counterfolio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
