"""Answers that a forest trained anew on the same data is likely to confirm.

After Forel, Parmentier and Vidal, "Don't explain noise: robust counterfactuals for randomized
ensembles" (CPAIOR 2024).
"""

import math
from dataclasses import dataclass
from typing import Any

from encoders.errors import InputError, UnsupportedModelError
from encoders.query.goal import Probability, Wanted
from encoders.trees.kinds import kind_of
from encoders.trees.wrappers import predictor
from portfolio.model.explained_model import ExplainedModel
from portfolio.question import Question

FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "HardVotingClassifier")


@dataclass(frozen=True)
class Retraining:
    """A new forest of as many trees, trained on the same data, decides alike with this confidence.

    Given the data, the trees of a random forest are independent draws: each votes for the target
    with the same probability p, so the votes of N new trees are binomial. They have a strict
    majority with at least the confidence c if ``P(Bin(N, p) <= N/2) <= 1 - c``, which is

        p >= p*,   p* = q(c; floor(N/2) + 1, N - floor(N/2))

    with q the quantile of the beta distribution; it is more than a half in any case, so that the
    forest that there is decides so, too. What is known of p are the votes of the trees
    that there are. Without ``certainty`` their share is taken for p (the paper's Direct-SAA).
    With it, the share has to be so high that p is at least p* with that certainty: k votes of N
    such that ``P(Bin(N, p*) >= k) <= 1 - certainty`` (its Robust-SAA, by the exact interval of
    Clopper and Pearson instead of that of Agresti and Coull).

    What the formulas rest on: trees differ by chance alone, as those of random forests and extra
    trees do; data, and how often is trained, are the same; the row was not chosen for its votes,
    which is true of no optimum, so that shares just above the threshold are a little too good;
    and trees vote. In a forest that averages probabilities the average takes the place of the
    share of votes, which is the same where leaves are pure. Of more than two classes, the target
    gets the majority over all others together, which is more than enough.

    Attributes
    ----------
    confidence : that the new forest decides alike, at least 0.5 and below 1
    certainty : that p is not overestimated, at least 0.5 and below 1; None: as it is

    Raises
    ------
    InputError
        They are no such numbers.
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
        """The share of votes for the target that is needed.

        Parameters
        ----------
        trees : of the forest
        """
        from scipy.stats import beta, binom

        half = trees // 2
        needed = float(beta.ppf(self.confidence, half + 1, trees - half))
        needed = max(needed, math.nextafter(0.5, 1.0))  # half is no majority
        if self.certainty is None:
            return needed
        # The first k of which the upper tail is small enough; beyond all trees none is.
        votes = int(binom.isf(1 - self.certainty, trees, needed)) + 1
        if votes > trees:
            raise InputError(
                f"{trees} trees are too few to be {self.certainty:g} certain of a confidence of "
                f"{self.confidence:g}; lower one of the two."
            )
        return votes / trees

    def votes(self, trees: int) -> int:
        """The same as a whole number of votes.

        Parameters
        ----------
        trees : of the forest
        """
        return math.ceil(self.share(trees) * trees)


def stricter(
    model: ExplainedModel, question: Question, asked: Retraining, current: int
) -> Question:
    """The question whose answers have so many votes."""
    if model.also:
        raise InputError("Retraining is about one forest; use an explainer without also.")
    native = model.native.model
    kind = kind_of(predictor(native)).name
    if kind not in FORESTS:
        raise UnsupportedModelError(
            f"Retraining is for random forests and extra trees, whose trees are independent draws; "
            f"a {kind} is none. Give Explainer(also=[...]) the models that were trained anew."
        )
    label = _label(model, question.target, current)
    trees = int(model.ensemble.root.size)
    if not model.ensemble.votes:
        return _with(question, Probability(label, at_least=asked.share(trees)), question.margin)
    if len(model.native.classes) > 2:
        raise UnsupportedModelError(
            "Retraining with hard voting is for two classes; let the forest average probabilities."
        )
    lead = 2 * asked.votes(trees) - trees
    return _with(question, label, max(lead, question.margin or 0))


def _label(model: ExplainedModel, target: Any, current: int) -> Any:
    classes = model.native.classes
    if isinstance(target, Wanted):
        raise InputError("Retraining asks for a share of the votes itself; give a class as target.")
    if target is not None:
        return classes[model.native.class_index(target)]
    if len(classes) > 2:
        raise InputError("with more than two classes Retraining needs a target; give one.")
    return classes[1 - current]


def _with(question: Question, target: Any, margin: float | None) -> Question:
    return Question(
        target, question.norm, question.scale, question.weights, question.constraints, margin
    )
