"""What keeps a question from being answered, part by part, and the question without some parts."""

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
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.row import Row
from portfolio.question import Question
from portfolio.rule_words import rule_words
from portfolio.solving.ask import Asker

Kind = Literal["bounds", "also", "plausibility", "action", "margin", "constraint"]
Limits = tuple[float, float]
ACTIONS: dict[str, Callable[[str], Constraint]] = {
    "fixed": Fixed,
    "increase": Increase,
    "decrease": Decrease,
}


@dataclass(frozen=True)
class Member:
    """One of the things that a question demands of an answer besides its target.

    Attributes
    ----------
    kind : "constraint", "margin" or "plausibility" of the question; "also", further models;
        "action", a feature's default action; "bounds", those of a feature
    words : what is demanded
    constraint : the user's, or None
    feature : whose action or bounds it is, or that the constraint is about; "" for none or several
    """

    kind: Kind
    words: str
    constraint: Constraint | None = None
    feature: str = ""

    def __str__(self) -> str:
        return f"{self.words[0].upper()}{self.words[1:]}."


@dataclass(frozen=True, eq=False)
class PricedBy(Question):
    """A question whose costs are measured by features other than those that are posed.

    Attributes
    ----------
    ruler : gives the ranges
    """

    ruler: FeatureSpace | None = None

    def cost(self, space: FeatureSpace) -> Cost:
        """As without the change of bounds."""
        return super().cost(self.ruler or space)


@dataclass(frozen=True, eq=False)
class Demands:
    """All members of a question about one row, and the question without some of them.

    Attributes
    ----------
    asker : of the user's explainer
    question : as it was asked
    row : that it is about
    members : the features' own first, then the question's
    """

    asker: Asker
    question: Question
    row: Row
    members: tuple[Member, ...]
    _models: dict[Any, ExplainedModel] = field(default_factory=dict, repr=False)

    def without(
        self, dropped: frozenset[int], instead: tuple[int, Constraint | Limits] | None = None
    ) -> tuple[Asker, Question]:
        """The question with some members dropped, and maybe one that was loosened."""
        at, other = instead or (-1, None)
        gone = dropped | {at}
        given = {id(self.members[i].constraint): i for i in range(len(self.members))}
        kept = [c for c in self.question.constraints if given.get(id(c), -2) not in gone]
        limits: dict[str, Limits] = {}
        if isinstance(other, tuple):
            limits[self.members[at].feature] = other
        elif other is not None:
            kept.append(other)
        margin = None if self._drops("margin", gone) else self.question.margin
        asked = PricedBy(
            self.question.target,
            self.question.norm,
            self.question.scale,
            self.question.weights,
            tuple(kept),
            margin,
            ruler=self.asker.model.space,
        )
        return replace(self.asker, model=self._model(gone, limits)), asked

    def _drops(self, kind: Kind, gone: frozenset[int]) -> bool:
        return any(i in gone for i, member in enumerate(self.members) if member.kind == kind)

    def _model(self, gone: frozenset[int], limits: Mapping[str, Limits]) -> ExplainedModel:
        """The model with other features; the same one for the same features."""
        own = frozenset(i for i in gone if i >= 0 and self.members[i].kind not in _ASKED)
        key = (own, *limits.items())
        if key not in self._models:
            model = self.asker.model
            if self._drops("plausibility", own):
                model = model.without_plausibility()
            if self._drops("also", own):
                model = model.without_also()
            free = {self.members[i].feature for i in own if self.members[i].kind == "action"}
            wide = {self.members[i].feature for i in own if self.members[i].kind == "bounds"}
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


_ASKED = ("constraint", "margin")  # of the question alone: the model stays as it is


def demands_of(asker: Asker, question: Question, row: Row) -> Demands:
    """Everything that could keep a row from an answer."""
    members = (*_of_features(asker.model, row), *_of_question(asker.model, question, row))
    return Demands(asker, question, row, members)


def _of_features(model: ExplainedModel, row: Row) -> Iterator[Member]:
    for feature in model.space.features:
        if has_bounds(feature):
            words = f"{feature.name} must lie within its bounds, {feature.describe_values()}"
            yield Member("bounds", words, feature=feature.name)
    if model.also:
        yield Member("also", "the answer must hold under the models of also")
    if model.plausible:
        yield Member("plausibility", "the answer must be plausible for its isolation forest")
    for feature in model.space.features:
        if feature.action != "free":
            rule = ACTIONS[feature.action](feature.name)
            words = f"{rule_words(rule, model.space, row.values)} (the feature's default)"
            yield Member("action", words, feature=feature.name)


def has_bounds(feature: Feature) -> bool:
    """Whether the values of a feature are limited by its bounds, and by no list."""
    return feature.kind in ("numeric", "ordinal") and not feature.values


def _of_question(model: ExplainedModel, question: Question, row: Row) -> Iterator[Member]:
    if question.lead(model.ensemble.votes) > 0:
        yield Member("margin", f"it must lead by {question.margin:g} over every other class")
    for constraint in question.constraints:
        if isinstance(constraint, AllowMissing | JointCost):
            continue  # they forbid nothing
        words = rule_words(constraint, model.space, row.values)
        yield Member("constraint", words, constraint, getattr(constraint, "feature", ""))
