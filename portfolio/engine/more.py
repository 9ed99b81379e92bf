"""Numbers with rising limits: a probability, or the score of plausibility."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.query.goal import ValueGoal
from encoders.query.query import Query
from portfolio.model.explained_model import ExplainedModel, requiring
from portfolio.model.native import (
    RememberedModel,
    Said,
    native_scores_by_row,
    remembering,
    remembering_scores,
)


class Asked(Protocol):
    """Native numbers of some rows, predicted in one call."""

    @property
    def numbers(self) -> Said:
        """The number of each row, by row."""
        ...

    def within(self, model: ExplainedModel) -> ExplainedModel:
        """Return a model that remembers the numbers."""
        ...


class More(Protocol):
    """Number on which limits rise."""

    def at(self, model: ExplainedModel, query: Query, limit: float) -> tuple[ExplainedModel, Query]:
        """Return the model and the query at a limit."""
        ...

    def ask(
        self, model: ExplainedModel, query: Query, answers: Sequence[tuple[Query, FloatArray]]
    ) -> Asked:
        """Return native numbers of some answers; those near a tie may be left out."""
        ...


@dataclass(frozen=True)
class MoreProbability:
    """Rising limits on a model's own number, which the query's goal names."""

    def at(self, model: ExplainedModel, query: Query, limit: float) -> tuple[ExplainedModel, Query]:
        """See :class:`More`."""
        assert isinstance(query.goal, ValueGoal)
        return model, replace(query, goal=replace(query.goal, low=limit))

    def ask(
        self, model: ExplainedModel, query: Query, answers: Sequence[tuple[Query, FloatArray]]
    ) -> "AskedForNumbers":
        """See :class:`More`."""
        oracle = model.oracle(query.goal.target)
        rows = [row for limited, row in answers if oracle.is_clear(row, limited.goal)]
        rows.append(query.row)  # is compared whenever an answer is verified
        return AskedForNumbers(remembering(model.native, np.array(rows), query.goal))


@dataclass(frozen=True, eq=False)
class AskedForNumbers:
    """Native numbers of a model."""

    native: RememberedModel  # model that remembers them

    @property
    def numbers(self) -> Said:
        """See :class:`Asked`."""
        return self.native.remembered

    def within(self, model: ExplainedModel) -> ExplainedModel:
        """See :class:`Asked`."""
        return replace(model, native=self.native)


@dataclass(frozen=True)
class MorePlausibility:
    """Rising limits on the score of the isolation forests that must accept an answer."""

    _asking: dict[float, ExplainedModel] = field(default_factory=dict)  # model by limit

    def asking(self, model: ExplainedModel, limit: float) -> ExplainedModel:
        """Return the model that requires a score, the same one each time."""
        if limit not in self._asking:
            self._asking[limit] = requiring(model, limit)
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
            native_scores_by_row(oracle.native, rows) if oracle in view.forests else {}
            for oracle in view.companions
        ]
        remembered = remembering(model.native, np.vstack([rows, query.row]), query.goal)
        return AskedForScores(remembered, target, every)


@dataclass(frozen=True, eq=False)
class AskedForScores:
    """Native predictions of a model, and scores of the isolation forests of one class.

    Attributes
    ----------
    native : model that remembers its predictions.
    target : index of the class.
    scores : scores by row, of each companion; empty if it is not an isolation forest.
    """

    native: RememberedModel
    target: int
    scores: Sequence[Said]

    @property
    def numbers(self) -> Mapping[bytes, float]:
        """See :class:`Asked`."""
        every = [scores for scores in self.scores if scores]
        return {row: min(scores[row] for scores in every) for row in every[0]} if every else {}

    def within(self, model: ExplainedModel) -> ExplainedModel:
        """See :class:`Asked`."""
        view = model.views[self.target]
        companions = tuple(
            replace(oracle, native=remembering_scores(oracle.native, scores)) if scores else oracle
            for oracle, scores in zip(view.companions, self.scores, strict=True)
        )
        views = list(model.views)
        views[self.target] = replace(view, companions=companions)
        return replace(model, native=self.native, views=tuple(views))
