"""Constraints in words."""

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.query.constraints import (
    Allowed,
    AllowMissing,
    Constraint,
    Decrease,
    Fixed,
    Increase,
    MaxChanges,
    Range,
)
from encoders.query.features import FeatureSpace
from encoders.query.relations import JointCost, Precedence
from portfolio.results.change import in_short
from portfolio.results.printing import counted


def rule_words(rule: Constraint, space: FeatureSpace, row: FloatArray) -> str:
    """Return a constraint as a clause in lower case, without a full stop."""
    match rule:
        case MaxChanges():
            if rule.among is None:
                return f"at most {counted(rule.count, 'feature')} may change"
            return f"at most {rule.count} of {', '.join(rule.among)} may change"
        case JointCost():
            return f"some values of {rule.first} and {rule.second} cost more together"
        case AllowMissing():
            return f"{rule.feature} may be missing"
        case Fixed() | Increase() | Decrease() | Range() | Allowed() | Precedence():
            return _about_one(rule, space, row)
        case _:
            return f"the relation {rule} must hold"


def _about_one(
    rule: Fixed | Increase | Decrease | Range | Allowed | Precedence,
    space: FeatureSpace,
    row: FloatArray,
) -> str:
    name = rule.feature
    at = [feature.name for feature in space.features].index(name)
    now = in_short(space.features[at].show(float(space.values(row)[at])))
    match rule:
        case Fixed():
            return f"{name} must stay at {now}"
        case Increase():
            return f"{name} may not fall below {now}"
        case Decrease():
            return f"{name} may not rise above {now}"
        case Range():
            return f"{name} must be {_between(rule.lower, rule.upper)}"
        case Allowed():
            return f"{name} must be one of {', '.join(map(str, rule.values))}"
        case Precedence():
            return f"{name} may not move back in the order {', '.join(map(str, rule.order))}"


def _between(lower: float, upper: float) -> str:
    if lower == -np.inf:
        return f"at most {in_short(float(upper))}"
    if upper == np.inf:
        return f"at least {in_short(float(lower))}"
    return f"from {in_short(float(lower))} to {in_short(float(upper))}"
