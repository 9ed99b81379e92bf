"""Demands of a query on its counterfactuals, and the query without some of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from encoders.query.constraints import (
    AllowMissing,
    Constraint,
    Decrease,
    Fixed,
    Increase,
)
from encoders.query.cost import Cost
from encoders.query.features import Feature, FeatureSpace
from encoders.query.relations import JointCost
from portfolio.engine.ask import Asker
from portfolio.engine.question import Question
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.row import Row
from portfolio.results.codec import HIDDEN
from portfolio.results.rule_words import rule_words

Kind = Literal["bounds", "also", "plausibility", "action", "margin", "constraint"]
Limits = tuple[float, float]
ACTIONS: dict[str, Callable[[str], Constraint]] = {
    "fixed": Fixed,
    "increase": Increase,
    "decrease": Decrease,
}


@dataclass(frozen=True)
class Member:
    """Demand of a query on its counterfactuals, in addition to the target.

    Attributes
    ----------
    kind : {"constraint", "margin", "plausibility", "also", "action", "bounds"}
        Origin: a constraint, the margin or plausibility of the query, or further models (also=).
        "action" and "bounds" are the default action and the bounds of a feature.
    words : str
        Description of the demand.
    constraint : Constraint or None
        Constraint of the user, for the kind "constraint".
    feature : str
        Name of the feature concerned, or "" for none or several.

    Examples
    --------
    >>> from counterfolio import Fixed, Range
    >>> rules = [Range("income", 0, 20), Fixed("age"), Fixed("housing")]
    >>> explainer.why_not(row, constraints=rules).conflict[0].kind
    'constraint'
    """

    kind: Kind
    words: str
    constraint: Constraint | None = field(default=None, metadata=HIDDEN)
    feature: str = ""

    def __str__(self) -> str:
        return f"{capitalised(self.words, self.feature)}."


def capitalised(words: str, feature: str) -> str:
    """Return words with a capital letter, unless they begin with the name of a feature."""
    if feature and words.startswith(feature):
        return words
    return f"{words[0].upper()}{words[1:]}"


@dataclass(frozen=True, eq=False)
class PricedBy(Question):
    """Query whose costs are measured with the original bounds of features."""

    ruler: FeatureSpace | None = None  # gives the ranges

    def cost(self, space: FeatureSpace) -> Cost:
        """Return the cost with the original bounds."""
        return super().cost(self.ruler or space)


@dataclass(frozen=True, eq=False)
class Demands:
    """All demands of a query about one row, and the query without some of them."""

    asker: Asker  # solver of the user's explainer
    question: Question  # as the user passed it
    row: Row  # the query
    members: tuple[Member, ...]  # those of features first, then those of the question
    _models: dict[Any, ExplainedModel] = field(default_factory=dict, repr=False)

    def without(
        self, dropped: frozenset[int], instead: tuple[int, Constraint | Limits] | None = None
    ) -> tuple[Asker, Question]:
        """Return the query without some demands, with at most one of them relaxed."""
        at, other = instead or (-1, None)
        gone = dropped | {at}
        place = {id(self.members[i].constraint): i for i in range(len(self.members))}
        rules = [c for c in self.question.constraints if place.get(id(c), -2) not in gone]
        limits: dict[str, Limits] = {}
        if isinstance(other, tuple):
            limits[self.members[at].feature] = other
        elif other is not None:
            rules.append(other)
        margin = None if self._drops("margin", gone) else self.question.margin
        question = PricedBy(
            self.question.target,
            self.question.norm,
            self.question.scale,
            self.question.weights,
            tuple(rules),
            margin,
            ruler=self.asker.model.space,
        )
        return replace(self.asker, model=self._model(gone, limits)), question

    def _drops(self, kind: Kind, gone: frozenset[int]) -> bool:
        return any(i in gone for i, member in enumerate(self.members) if member.kind == kind)

    def _model(self, gone: frozenset[int], limits: Mapping[str, Limits]) -> ExplainedModel:
        """Return the model with other features, cached."""
        changed = frozenset(i for i in gone if i >= 0 and self.members[i].kind not in _OF_QUESTION)
        key = (changed, *limits.items())
        if key not in self._models:
            model = self.asker.model
            if self._drops("plausibility", changed):
                model = model.without_plausibility()
            if self._drops("also", changed):
                model = model.without_also()
            free = {self.members[i].feature for i in changed if self.members[i].kind == "action"}
            wide = {self.members[i].feature for i in changed if self.members[i].kind == "bounds"}
            most = float(np.finfo(model.input_type).max)
            features = []
            for feature in model.space.features:
                action = "free" if feature.name in free else feature.action
                bounds = feature.lower, feature.upper
                if feature.name in wide:
                    bounds = limits.get(feature.name, (-most, most))
                features.append(replace(feature, action=action, lower=bounds[0], upper=bounds[1]))
            space = FeatureSpace(tuple(features), model.space.columns)
            self._models[key] = replace(model, space=space)
        return self._models[key]


_OF_QUESTION = ("constraint", "margin")  # kinds that leave the model as it is


def demands_of(asker: Asker, question: Question, row: Row) -> Demands:
    """Return all demands that may rule out counterfactuals of a row."""
    members = (*_of_features(asker.model, row), *_of_question(asker.model, question, row))
    return Demands(asker, question, row, members)


def _of_features(model: ExplainedModel, row: Row) -> Iterator[Member]:
    for feature in model.space.features:
        if has_bounds(feature):
            words = f"{feature.name} must lie within its bounds, {feature.describe_values()}"
            yield Member("bounds", words, feature=feature.name)
    if model.also:
        others = "reach the targets of all outputs"
        words = "hold under the further models (also=)" if model.aim is None else others
        yield Member("also", f"the answer must {words}")
    if model.plausible:
        yield Member("plausibility", "the answer must be plausible for the isolation forest")
    for feature in model.space.features:
        if feature.action != "free":
            rule = ACTIONS[feature.action](feature.name)
            words = f"{rule_words(rule, model.space, row.values)} (the feature's default)"
            yield Member("action", words, feature=feature.name)


def has_bounds(feature: Feature) -> bool:
    """Return whether the values of a feature are limited by its bounds and not by a list."""
    return feature.kind in ("numeric", "ordinal") and not feature.values


def _of_question(model: ExplainedModel, question: Question, row: Row) -> Iterator[Member]:
    if question.lead(model.ensemble.votes) > 0:
        yield Member("margin", f"it must lead by {question.margin:g} over every other class")
    for constraint in question.constraints:
        if isinstance(constraint, AllowMissing | JointCost):
            continue  # they do not rule out any row
        words = rule_words(constraint, model.space, row.values)
        yield Member("constraint", words, constraint, getattr(constraint, "feature", ""))
