"""Reader of scikit-learn's OneVsRestClassifier: one classifier of two classes for each class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import predictor
from encoders.readers.limit import ResponseLimit
from encoders.readers.read import leaves_of_members, native_scores, native_values, read_alone
from encoders.readers.reader import Reader, ReadMember, averages, reader_of
from encoders.readers.refusals import require_fitted, several_outputs
from encoders.readers.response_limit import cut_of, decided, raw_score
from encoders.readers.shares import answer_unit, shares_of
from encoders.trees.arithmetic import DOUBLE, MEAN, Link, rounding_of
from encoders.trees.blend import Blend, Expression, among
from encoders.trees.ensemble import Ensemble
from encoders.trees.joining import MEMBER_TERMS, Member, blended, summed
from encoders.trees.normalisation import Normalisation

UNKNOWN = (
    "a OneVsRestClassifier compares numbers of its members, but that of a {} is not a supported "
    "function of its leaves. Use trees, forests or boosting of trees as members."
)


@dataclass(frozen=True, eq=False)
class MemberScore:
    """Number of a member that is compared: ``(sums @ weights + offset) * factor``, or its sigmoid.

    Attributes
    ----------
    weights : factors of the member's sums, float64 (2,).
    factor : factor of the weighted sum.
    offset : summand of the weighted sum.
    link : link of which it is the argument; None if the number itself is compared.
    """

    weights: FloatArray
    factor: float
    offset: float = 0.0
    link: Link | None = None

    def of(self, sums: FloatArray) -> FloatArray:
        """Return the number for sums of the member, float64 (n,)."""
        return (sums @ self.weights + self.offset) * self.factor


def read_one_vs_rest(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``OneVsRestClassifier`` of one label per row.

    It compares the ``decision_function`` of its members, or their probability of class 1 if they
    have none (``sklearn/multiclass.py``, _predict_binary). The class of the largest wins. Which
    class wins a tie depends on the version, so ties are left to its own ``predict``. For two
    classes there is one member, and class 1 wins above 0, or above a probability of 0.5.
    """
    members = _members(model)
    if len(members) == 1:
        return decided(model, members[0], read(members[0]), _limit(members[0]))
    ensembles = [read(member) for member in members]
    if any(isinstance(each.link, Blend) for each in ensembles):
        return _blended(members, ensembles)
    scores = [_member_score(*pair) for pair in zip(members, ensembles, strict=True)]
    links = [each.link for each in scores]
    if any((link is None) != (links[0] is None) for link in links):
        raise UnsupportedModelError(
            "the members of the OneVsRestClassifier are of different kinds. Fit it with one "
            "estimator."
        )
    whole = summed(
        [
            Member(_one_sum(each, score), np.array([at]))
            for at, (each, score) in enumerate(zip(ensembles, scores, strict=True))
        ],
        len(members),
        1.0,
    )
    unit = max((link.unit for link in links if link is not None), default=DOUBLE)
    rounding = rounding_of(
        whole.score,
        whole.root,
        whole.bias,
        unit,
        terms=MEMBER_TERMS,
        link="" if links[0] is None else "sigmoids",
        may_be_exact=False,
    )
    widest = sorted(
        max(each.rounding.band, each.rounding.sums) * score.factor
        for each, score in zip(ensembles, scores, strict=True)
    )[-2:]
    return replace(
        whole,
        rounding=replace(rounding, band=rounding.band + sum(widest)),
        link=_link(members, ensembles, scores),
    )


def _link(
    members: Sequence[Any], ensembles: Sequence[Ensemble], scores: Sequence[MemberScore]
) -> Blend | Link:
    """Return the link from the compared numbers to probabilities; none if it is not known.

    The probability of a class is that of its member, divided by the sum of those of all members
    (``sklearn/multiclass.py``, predict_proba).
    """
    shares: list[Expression] = []
    for at, (member, each, score) in enumerate(zip(members, ensembles, scores, strict=True)):
        share = _share(member, each, score)
        if share is None:
            return Link()
        shares += among([share], len(members), at)
    return Blend(tuple(shares), DOUBLE, False, normalisation=_ratio(ensembles))


def _ratio(ensembles: Sequence[Ensemble]) -> Normalisation:
    """Return the division by the sum of all probabilities, in the type of these."""
    links = [each.link for each in ensembles if isinstance(each.link, Link)]
    return Normalisation("ratio", max((link.unit for link in links), default=DOUBLE))


def _share(member: Any, ensemble: Ensemble, score: MemberScore) -> Expression | None:
    """Return the probability of class 1 over the compared number of a member; None if unknown."""
    shares = shares_of(member, ensemble) if hasattr(member, "predict_proba") else None
    if shares is None or shares[1].nested:
        return None
    share, size = shares[1], np.maximum.reduceat(np.abs(ensemble.score), ensemble.root).sum()
    vectors = [share.linear, *(term.leads for term in share.terms)]
    factors = [_multiple(vector, score) for vector in vectors]
    if any(factor is None for factor in factors):
        return None
    error = (ensemble.root.size + MEAN) * DOUBLE
    error *= float(size + np.abs(ensemble.bias).sum() + abs(score.offset))
    first, *rest = (float(factor) for factor in factors if factor is not None)
    terms = [
        replace(
            term,
            curve=replace(term.curve, width=term.curve.width + abs(factor) * score.factor * error),
            leads=np.array([[factor]]),
            offset=term.offset + factor * score.factor * score.offset,
        )
        for term, factor in zip(share.terms, rest, strict=True)
    ]
    slope = first * score.factor
    constant = share.constant - slope * score.offset
    return Expression(np.array([first]), constant, tuple(terms), share.error + abs(slope) * error)


def _multiple(vector: FloatArray, score: MemberScore) -> float | None:
    """Return the factor of a compared number that gives a weighted sum; None if there is none."""
    at = int(np.flatnonzero(score.weights)[0])
    factor = float(vector.ravel()[at] / score.weights[at])
    alike = vector.size == 2 and np.array_equal(vector.ravel(), factor * score.weights)
    return factor / score.factor if alike else None


def _blended(members: Sequence[Any], ensembles: Sequence[Ensemble]) -> Ensemble:
    """Return members whose probabilities are expressions over several sums."""
    parts = []
    for at, (member, each) in enumerate(zip(members, ensembles, strict=True)):
        shares = None if _by_score(member) else shares_of(member, each)
        if shares is None:
            raise UnsupportedModelError(UNKNOWN.format(type(predictor(member)).__name__))
        added = [Expression(np.zeros(each.n_sums)) for _ in members]
        added[at] = shares[1]
        parts.append((Member(each, np.arange(each.n_sums)), added))
    ratio = _ratio(ensembles)
    return blended(
        parts, lambda shares: Blend(tuple(shares), DOUBLE, counts=True, normalisation=ratio)
    )


def _members(model: Any) -> Sequence[Any]:
    require_fitted(model, "estimators_")
    if model.multilabel_:
        raise several_outputs("classifier")
    return list(model.estimators_)


def _by_score(member: Any) -> bool:
    return hasattr(member, "decision_function")


def _limit(member: Any) -> ResponseLimit:
    """Return the least score of class 1 of two, which is above 0 or 0.5."""
    by_score = _by_score(member)
    return ResponseLimit(float(np.nextafter(0.0 if by_score else 0.5, 1.0)), 1, not by_score)


def _member_score(member: Any, ensemble: Ensemble) -> MemberScore:
    """Return the number of a member that is compared."""
    link, below = ensemble.link, predictor(member)
    lead = np.array([-1.0, 1.0])
    if ensemble.n_sums == 2 and isinstance(link, Link) and not ensemble.regression:
        if _by_score(member):
            unit = reader_of(below).decision_unit(below, ensemble)
            return MemberScore(lead, 1.0 / unit, link.offset)
        if averages(below):
            return MemberScore(np.array([0.0, 1.0]), 1.0 / answer_unit(ensemble))
        if link.kind in ("sigmoid", "softmax"):
            return MemberScore(lead, link.steepness, link.offset, link)
    raise UnsupportedModelError(UNKNOWN.format(type(below).__name__))


def _one_sum(ensemble: Ensemble, compared: MemberScore) -> Ensemble:
    """Return a member with the compared number as its only sum."""
    score = (ensemble.score @ compared.weights * compared.factor)[:, None]
    bias = compared.of(ensemble.bias[None, :])
    return replace(ensemble, score=frozen(score), bias=frozen(bias), votes=False)


class OneVsRestReader(Reader):
    """Reader of one classifier for each class."""

    reads_members = owns = varies_with_rows = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_one_vs_rest`."""
        return read_one_vs_rest(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, None, str]]:
        """Yield the classifier of each class."""
        for member in _members(model):
            yield member, None, "estimator"

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the members."""
        return leaves_of_members((member, rows) for member in _members(model))

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return the numbers that are compared, without sigmoids."""
        members = _members(model)
        ensembles = [read_alone(member) for member in members]
        sums = [
            native_scores(member, rows, each.margin_unit)
            for member, each in zip(members, ensembles, strict=True)
        ]
        if len(members) == 1:
            return cut_of(model, members[0], ensembles[0], _limit(members[0])).beyond(sums[0])
        numbers = [
            _member_score(member, each).of(total)
            for member, each, total in zip(members, ensembles, sums, strict=True)
        ]
        return np.column_stack(numbers)

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the number of one class."""
        members = _members(model)
        if len(members) == 1:
            return raw_score(members[0], rows)
        member = members[output]
        return native_values(member, rows, "raw" if _by_score(member) else "probability", 1)


READERS: dict[str, Reader] = {"OneVsRestClassifier": OneVsRestReader()}
