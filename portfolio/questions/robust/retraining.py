"""Counterfactuals that a retrained forest is likely to confirm.

After Forel, Parmentier and Vidal, "Don't explain noise: robust counterfactuals for randomized
ensembles" (CPAIOR 2024).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.query.goal import Probability, Wanted
from encoders.readers.kinds import kind_of, predictor
from portfolio.engine.question import Question
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import label_of
from portfolio.model.one_output import alone_only
from portfolio.model.row import Row

FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "HardVotingClassifier")


@dataclass(frozen=True)
class Retraining:
    """Requirement that a forest retrained on the same data makes the same prediction.

    Given the data, the trees of a random forest are independent draws: each votes for the target
    with the same probability p. The votes of N new trees are therefore binomial. They have a strict
    majority with confidence c if ``P(Bin(N, p) <= N/2) <= 1 - c``, that is, if

        p >= p*,   p* = q(c; floor(N/2) + 1, N - floor(N/2))

    where q is the quantile function of the beta distribution. The threshold is always above one
    half, so the existing forest predicts the target too. Only the votes of its trees are known
    about p. Without ``certainty``, their share is the estimate of p (Direct-SAA in the paper). With
    ``certainty``, the share has to be so high that p is at least p* with that certainty. That is, k
    of N votes such that ``P(Bin(N, p*) >= k) <= 1 - certainty``. This is Robust-SAA of the paper,
    with the exact interval of Clopper and Pearson instead of that of Agresti and Coull.

    Assumptions: trees differ by chance only, as in random forests and extra trees. The data and the
    number of trees stay the same. The row was not selected for its votes. An optimum always is, so
    shares just above the threshold are slightly optimistic. Trees vote; in forests that average
    probabilities, the average replaces the share of votes, which is the same for pure leaves. With
    more than two classes, the target needs a majority over all others together, which is stricter.

    Attributes
    ----------
    confidence : float, default 0.9
        Probability that the new forest makes the same prediction, at least 0.5 and below 1.
    certainty : float, optional
        Certainty that p is not overestimated, at least 0.5 and below 1. By default p is taken to be
        the share of votes.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> from counterfolio import Retraining
    >>> Retraining(confidence=0.9).votes(100)
    57
    """

    confidence: float = 0.9
    certainty: float | None = None

    def __post_init__(self) -> None:
        for name in ("confidence", "certainty"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 0.5 <= value < 1):
                raise InputError(f"{name} must be at least 0.5 and below 1, got {value!r}.")

    def share(self, trees: int) -> float:
        """Return the share of votes that the target needs.

        Parameters
        ----------
        trees : int
            Number of trees of the forest.

        Returns
        -------
        float
            The share, above 0.5 and at most 1.

        Raises
        ------
        InputError
            If there are too few trees for this confidence and certainty.

        Examples
        --------
        >>> from counterfolio import Retraining
        >>> round(Retraining(confidence=0.9).share(100), 3)
        0.569
        >>> Retraining(confidence=0.9, certainty=0.95).share(100)
        0.66
        """
        from scipy.stats import beta, binom

        half = trees // 2
        needed = float(beta.ppf(self.confidence, half + 1, trees - half))
        needed = max(needed, math.nextafter(0.5, 1.0))  # half is not a majority
        if self.certainty is None:
            return needed
        # The first k whose upper tail is small enough; it may exceed the number of trees.
        votes = int(binom.isf(1 - self.certainty, trees, needed)) + 1
        if votes > trees:
            raise InputError(
                f"{trees} trees are too few for certainty={self.certainty:g} and "
                f"confidence={self.confidence:g}. Lower one of them."
            )
        return votes / trees

    def votes(self, trees: int) -> int:
        """Return the number of votes that the target needs.

        Parameters
        ----------
        trees : int
            Number of trees of the forest.

        Returns
        -------
        int
            The smallest sufficient number of votes.

        Raises
        ------
        InputError
            If there are too few trees for this confidence and certainty.

        Examples
        --------
        >>> from counterfolio import Retraining
        >>> [Retraining(confidence).votes(500) for confidence in (0.8, 0.9, 0.99)]
        [260, 265, 277]
        """
        return math.ceil(self.share(trees) * trees)


def _name(native: Any) -> str:
    """Return the name of a model's class; that of the whole model for one of several outputs."""
    last = predictor(native)
    whole = getattr(last, "whole", None)
    return type(last).__name__ if whole is None else f"{type(whole).__name__} of several outputs"


def stricter(model: ExplainedModel, question: Question, against: Retraining, row: Row) -> Question:
    """Return the question with the required votes as target probability or margin."""
    if model.also:
        raise alone_only(model, "Retraining supports")
    native = model.native.model
    kind = kind_of(predictor(native)).name
    if kind not in FORESTS:
        raise UnsupportedModelError(
            f"Retraining supports random forests and extra trees, whose trees are independent, got "
            f"{_name(native)}. Pass retrained models to Explainer(also=[...]) instead."
        )
    label = _label(model, question.target, row.values)
    trees = int(model.ensemble.root.size)
    if not model.ensemble.votes:
        return replace(question, target=Probability(label, at_least=against.share(trees)))
    if len(model.native.classes) > 2:
        raise UnsupportedModelError(
            f"Retraining with hard voting supports two classes, got {len(model.native.classes)}. "
            "Use a forest that averages probabilities (soft voting)."
        )
    lead = 2 * against.votes(trees) - trees
    return replace(question, target=label, margin=max(lead, question.margin or 0))


def _label(model: ExplainedModel, target: Any, row: FloatArray) -> Any:
    if isinstance(target, Wanted):
        raise InputError(
            f"Retraining needs a class as target, got {target}. Give a class label; the share of "
            "votes follows from confidence."
        )
    return label_of(model, target, row, "Retraining")
