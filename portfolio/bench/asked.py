"""Settings of the questions that a protocol may solve in addition to the cheapest change."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from encoders.query.constraints import Increase, MaxChanges, Range
from encoders.query.features import Feature, FeatureSpace
from encoders.query.relations import Together
from portfolio.data.collection import DrawnQuery

CHEAPEST = "cheapest"
OF_THE_ROW = frozenset({"ranges"})  # questions whose settings depend on the row
NEAR = 0.25  # largest change in "ranges" as a share of the feature's range
MOST = 4  # most features that may change in "relations"
LEAD = MappingProxyType({"soft": 0.05, "xgb": 0.5})  # margins of scores
VOTES = 0.05  # margin of hard voting as a share of the trees

Settings = dict[str, Any]  # of Explainer.explain and Explainer.session


def _costs(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """Return settings with concave costs: a fixed cost per change, then the root of its size."""
    return {"norm": {f.name: partial(_concave, f, 1 + n % 3) for n, f in enumerate(numbers(space))}}


def _concave(feature: Feature, step: int, start: float, value: float) -> float:
    share = abs(value - start) / ((feature.upper - feature.lower) or 1.0)
    return 0.1 * step + float(share**0.5)


def _ranges(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """Return settings in which numbers stay near the row and the first one may only increase."""
    features, rules = numbers(space), list[Any]()
    for feature in features:
        reach = NEAR * (feature.upper - feature.lower)
        at = float(query.x[feature.name])
        rules.append(Range(feature.name, at - reach, at + reach))
    return {"constraints": [*rules, *(Increase(f.name) for f in features[:1])]}


def _relations(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """Return settings in which the first two features change together, and few change at all."""
    first, second, *_ = [feature.name for feature in space.features]
    return {"constraints": [Together(first, second), MaxChanges(MOST)]}


def _robust(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """Return settings with a margin, so that a retrained model is likely to agree."""
    return {"margin": lead}


def numbers(space: FeatureSpace) -> list[Feature]:
    """Return the features that are numbers."""
    return [feature for feature in space.features if feature.kind in ("numeric", "ordinal")]


ASKED: MappingProxyType[str, Callable[[FeatureSpace, DrawnQuery, float], Settings]]
ASKED = MappingProxyType(
    {
        CHEAPEST: lambda space, query, lead: {},
        "costs": _costs,
        "ranges": _ranges,
        "relations": _relations,
        "robust": _robust,
    }
)


def settings_of(
    question: str, kind: str, trees: int, space: FeatureSpace, query: DrawnQuery
) -> Settings:
    """Return further arguments of :meth:`portfolio.api.explainer.Explainer.explain`."""
    return ASKED[question](space, query, LEAD.get(kind, max(1, round(VOTES * trees))))
