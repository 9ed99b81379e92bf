"""What a question may ask for more and more of: a probability, or the score of plausibility."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.goal import ValueGoal
from encoders.query.query import Query
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.plausible_level import asking_for
from portfolio.model.remembered import (
    RememberedModel,
    Said,
    remembering,
    remembering_scores,
    scores_said,
)


class Asked(Protocol):
    """What the model has said of some rows, asked about all of them at once."""

    @property
    def said(self) -> Said:
        """How much of the number each row has."""
        ...

    def within(self, model: ExplainedModel) -> ExplainedModel:
        """A model that remembers it."""
        ...


class More(Protocol):
    """A number of which more and more is asked for."""

    def at(self, model: ExplainedModel, query: Query, limit: float) -> tuple[ExplainedModel, Query]:
        """The model and the question at a limit."""
        ...

    def ask(
        self, model: ExplainedModel, query: Query, answers: Sequence[tuple[Query, FloatArray]]
    ) -> Asked:
        """What the model says of some answers; those that are near a tie may be left out."""
        ...


@dataclass(frozen=True)
class MoreProbability:
    """More of a model's own number, which the query's goal names."""

    def at(self, model: ExplainedModel, query: Query, limit: float) -> tuple[ExplainedModel, Query]:
        """See :class:`More`."""
        assert isinstance(query.goal, ValueGoal)
        return model, replace(query, goal=replace(query.goal, low=limit))

    def ask(
        self, model: ExplainedModel, query: Query, answers: Sequence[tuple[Query, FloatArray]]
    ) -> "AskedForNumbers":
        """See :class:`More`."""
        oracle = model.oracle(query.goal.target)
        rows = [row for own, row in answers if oracle.is_clear(row, own.goal)]
        rows.append(query.row)  # is compared whenever an answer is verified
        return AskedForNumbers(remembering(model.native, np.array(rows), query.goal))


@dataclass(frozen=True, eq=False)
class AskedForNumbers:
    """What a model has said of its own number.

    Attributes
    ----------
    native : remembers it
    """

    native: RememberedModel

    @property
    def said(self) -> Said:
        """See :class:`Asked`."""
        return self.native.known

    def within(self, model: ExplainedModel) -> ExplainedModel:
        """See :class:`Asked`."""
        return replace(model, native=self.native)


@dataclass(frozen=True)
class MorePlausibility:
    """More of the score of the isolation forests that accept an answer.

    Attributes
    ----------
    _asking : by limit, the model that asks for it
    """

    _asking: dict[float, ExplainedModel] = field(default_factory=dict)

    def asking(self, model: ExplainedModel, limit: float) -> ExplainedModel:
        """The model that asks for answers at a limit, the same one each time."""
        if limit not in self._asking:
            self._asking[limit] = asking_for(model, limit)
        return self._asking[limit]

    def at(self, model: ExplainedModel, query: Query, limit: float) -> tuple[ExplainedModel, Query]:
        """See :class:`More`."""
        return self.asking(model, limit), query

    def ask(
        self, model: ExplainedModel, query: Query, answers: Sequence[tuple[Query, FloatArray]]
    ) -> "AskedForScores":
        """See :class:`More`."""
        rows, target = np.array([row for _, row in answers]), query.goal.target
        view = model.views[target]
        every = [
            scores_said(own.native, rows) if own in view.forests else {} for own in view.companions
        ]
        known = remembering(model.native, np.vstack([rows, query.row]), query.goal)
        return AskedForScores(known, target, every)


@dataclass(frozen=True, eq=False)
class AskedForScores:
    """What a model and the isolation forests of one class have said.

    Attributes
    ----------
    native : the model, which remembers it
    target : index of the class
    scores : of each of its companions; nothing of those that are no isolation forest
    """

    native: RememberedModel
    target: int
    scores: Sequence[Said]

    @property
    def said(self) -> Mapping[bytes, float]:
        """See :class:`Asked`."""
        every = [own for own in self.scores if own]
        return {row: min(own[row] for own in every) for row in every[0]} if every else {}

    def within(self, model: ExplainedModel) -> ExplainedModel:
        """See :class:`Asked`."""
        view = model.views[self.target]
        companions = tuple(
            replace(own, native=remembering_scores(own.native, said)) if said else own
            for own, said in zip(view.companions, self.scores, strict=True)
        )
        views = list(model.views)
        views[self.target] = replace(view, companions=companions)
        return replace(model, native=self.native, views=tuple(views))
