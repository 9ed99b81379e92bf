"""What a protocol may ask of a row besides the cheapest change: the settings of such a question."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from encoders.query.constraints import Increase, MaxChanges, Range
from encoders.query.features import Feature, FeatureSpace
from encoders.query.relations import Together
from portfolio.data.collection import DrawnQuery

CHEAPEST = "cheapest"
OF_THE_ROW = frozenset({"ranges"})  # questions that no two rows share
NEAR = 0.25  # of a feature's range: how far "ranges" lets it go
MOST = 4  # features that "relations" lets change
LEAD = MappingProxyType({"soft": 0.05, "xgb": 0.5})  # of scores; hard votes: a share of the trees
VOTES = 0.05

Settings = dict[str, Any]  # of Explainer.explain and Explainer.session


def _costs(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """A step for changing at all, and then less and less, each feature by a scale of its own."""
    return {
        "norm": {f.name: partial(_concave, f, 1 + n % 3) for n, f in enumerate(_numbers(space))}
    }


def _concave(feature: Feature, step: int, start: float, value: float) -> float:
    share = abs(value - start) / ((feature.upper - feature.lower) or 1.0)
    return 0.1 * step + float(share**0.5)


def _ranges(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """No number goes far, and the first only up."""
    numbers = _numbers(space)
    rules: list[Any] = []
    for feature in numbers:
        reach = NEAR * (feature.upper - feature.lower)
        at = float(query.x[feature.name])
        rules.append(Range(feature.name, at - reach, at + reach))
    return {"constraints": [*rules, *(Increase(f.name) for f in numbers[:1])]}


def _relations(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """The first two features change together or not at all, and few in all."""
    first, second, *_ = [feature.name for feature in space.features]
    return {"constraints": [Together(first, second), MaxChanges(MOST)]}


def _robust(space: FeatureSpace, query: DrawnQuery, lead: float) -> Settings:
    """With a lead over all other classes, so that a model that is trained anew may agree."""
    return {"margin": lead}


def _numbers(space: FeatureSpace) -> list[Feature]:
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
    """What to ask of :meth:`portfolio.explainer.Explainer.explain` besides row and target."""
    return ASKED[question](space, query, LEAD.get(kind, max(1, round(VOTES * trees))))
