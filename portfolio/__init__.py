"""Part of counterfolio: what users call. Import it as ``counterfolio``, whose names these are."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from encoders.backends.attempt import Attempt
    from encoders.core.errors import (
        CounterfolioError,
        InputError,
        ModelChangedError,
        UnavailableBackendError,
        UnsupportedModelError,
    )
    from encoders.query.conditions import Becomes, Changes, Falls, Rises, Stays, Within
    from encoders.query.constraints import (
        Allowed,
        AllowMissing,
        Decrease,
        Fixed,
        Increase,
        MaxChanges,
        Range,
    )
    from encoders.query.features import Feature, FeatureSpace
    from encoders.query.goal import AtLeast, AtMost, Less, More, Probability, Score
    from encoders.query.relations import (
        AllowedPairs,
        Forbidden,
        Implies,
        JointCost,
        Linear,
        Precedence,
        Together,
    )
    from encoders.trees.voting import HardVotingClassifier
    from portfolio.api.explainer import Explainer
    from portfolio.api.session import Session
    from portfolio.batch.exploration import Exploration
    from portfolio.batch.run import BatchError
    from portfolio.client.client import AsyncClient, Client, ServiceError
    from portfolio.client.received import Answer
    from portfolio.engine.logbook import Logbook, LogWarning
    from portfolio.model.plausibility import Plausibility
    from portfolio.questions.groups.audit import Audit, AuditDifference, AuditGroup
    from portfolio.questions.groups.audit_statistics import Estimate
    from portfolio.questions.groups.group import GroupAction, GroupMember, GroupRecourse
    from portfolio.questions.groups.group_action import GroupStep
    from portfolio.questions.reasons.contrast import Contrast
    from portfolio.questions.reasons.necessary import Necessary
    from portfolio.questions.reasons.reason_codes import ReasonCode, ReasonCodes
    from portfolio.questions.reasons.reasons import Reasons
    from portfolio.questions.region.region import Region
    from portfolio.questions.region.span import Span
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining
    from portfolio.questions.robust.robust import Robust
    from portfolio.questions.robust.robustness import Robustness
    from portfolio.questions.several.diverse import Diverse
    from portfolio.questions.several.front import Front, FrontPoint
    from portfolio.questions.several.several import Several
    from portfolio.questions.why_not.loosening import Relaxation
    from portfolio.questions.why_not.members import Member
    from portfolio.questions.why_not.why_not import WhyNot
    from portfolio.results.change import Change
    from portfolio.results.plots.batch import plot_batch
    from portfolio.results.result import Result
    from portfolio.results.timings import Timings
    from portfolio.workers.local_executor import LocalExecutor
    from portfolio.workers.ray.executor import RayExecutor
    from portfolio.workers.solver_workers import Workers
    from selector.diagram import Diagram
    from selector.online_costs import OnlineCosts

# Where the names are from; imported when they are asked for, which takes a while.
HOMES = {
    "encoders.backends.attempt": ("Attempt",),
    "encoders.core.errors": (
        "CounterfolioError",
        "InputError",
        "ModelChangedError",
        "UnavailableBackendError",
        "UnsupportedModelError",
    ),
    "encoders.query.conditions": ("Becomes", "Changes", "Falls", "Rises", "Stays", "Within"),
    "encoders.query.constraints": (
        "AllowMissing",
        "Allowed",
        "Decrease",
        "Fixed",
        "Increase",
        "MaxChanges",
        "Range",
    ),
    "encoders.query.features": (
        "Feature",
        "FeatureSpace",
    ),
    "encoders.query.goal": (
        "AtLeast",
        "AtMost",
        "Less",
        "More",
        "Probability",
        "Score",
    ),
    "encoders.query.relations": (
        "AllowedPairs",
        "Forbidden",
        "Implies",
        "JointCost",
        "Linear",
        "Precedence",
        "Together",
    ),
    "encoders.trees.voting": ("HardVotingClassifier",),
    "portfolio.batch.run": ("BatchError",),
    "portfolio.results.change": ("Change",),
    "portfolio.api.explainer": ("Explainer",),
    "portfolio.batch.exploration": ("Exploration",),
    "portfolio.engine.logbook": (
        "LogWarning",
        "Logbook",
    ),
    "portfolio.model.plausibility": ("Plausibility",),
    "portfolio.results.plots.batch": ("plot_batch",),
    "portfolio.questions.groups.audit": ("Audit", "AuditDifference", "AuditGroup"),
    "portfolio.questions.groups.audit_statistics": ("Estimate",),
    "portfolio.questions.several.diverse": ("Diverse",),
    "portfolio.questions.several.front": ("Front", "FrontPoint"),
    "portfolio.questions.groups.group": ("GroupAction", "GroupMember", "GroupRecourse"),
    "portfolio.questions.groups.group_action": ("GroupStep",),
    "portfolio.questions.several.several": ("Several",),
    "portfolio.questions.region.span": ("Span",),
    "portfolio.questions.reasons.contrast": ("Contrast",),
    "portfolio.questions.why_not.members": ("Member",),
    "portfolio.questions.robust.nearby": ("Around",),
    "portfolio.questions.reasons.necessary": ("Necessary",),
    "portfolio.questions.reasons.reason_codes": (
        "ReasonCode",
        "ReasonCodes",
    ),
    "portfolio.questions.reasons.reasons": ("Reasons",),
    "portfolio.questions.region.region": ("Region",),
    "portfolio.questions.why_not.loosening": ("Relaxation",),
    "portfolio.questions.robust.retraining": ("Retraining",),
    "portfolio.questions.robust.robust": ("Robust",),
    "portfolio.questions.robust.robustness": ("Robustness",),
    "portfolio.questions.why_not.why_not": ("WhyNot",),
    "portfolio.results.result": ("Result",),
    "portfolio.workers.local_executor": ("LocalExecutor",),
    "portfolio.workers.ray.executor": ("RayExecutor",),
    "portfolio.workers.solver_workers": ("Workers",),
    "portfolio.client.client": ("AsyncClient", "Client", "ServiceError"),
    "portfolio.client.received": ("Answer",),
    "portfolio.api.session": ("Session",),
    "portfolio.results.timings": ("Timings",),
    "selector.diagram": ("Diagram",),
    "selector.online_costs": ("OnlineCosts",),
}

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


def __getattr__(name: str) -> Any:
    home = next((module for module, names in HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'portfolio' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
