"""Reader of scikit-learn's stacking with a linear final estimator: a weighted sum of outputs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import kind_of, predictor, require_inherited
from encoders.readers.linear import CLASSIFIERS, REGRESSORS, LinearScores, link_of
from encoders.readers.read import leaves_of_members
from encoders.readers.reader import Reader, ReadMember, reader_of
from encoders.readers.refusals import require_fitted, several_outputs
from encoders.readers.scaled_linear import scaled_linear_of
from encoders.readers.shares import shares_of
from encoders.trees.arithmetic import DOUBLE, MEAN, SINGLE, Link, Rounding
from encoders.trees.blend import Blend, Expression, Nested
from encoders.trees.ensemble import Ensemble
from encoders.trees.joining import Member, blended, summed
from encoders.trees.normalisation import Normalisation

OTHER_FINAL = (
    "this {} ends with a {}, which is not a supported linear model of the outputs of its members. "
    "Use a final_estimator such as {}."
)
RAW_COLUMNS = (
    "this {} passes the columns of its table to its final estimator, so its decision is not a sum "
    "of leaves. Set passthrough=False."
)
UNKNOWN = (
    "a {} adds up outputs of its members, but {} of a {} is not a supported function of its "
    "leaves. Use trees, forests or boosting of trees as members."
)


@dataclass(frozen=True, eq=False)
class Output:
    """Output of a member that the final estimator reads.

    Attributes
    ----------
    of_sums : output as an expression over the member's sums.
    largest : bound on its absolute value.
    """

    of_sums: Expression
    largest: float


def final_of(model: Any, unit: float) -> LinearScores:
    """Return the linear final estimator of a stacking; UnsupportedModelError if it is another.

    ``unit`` is the unit roundoff of the outputs of the members.
    """
    name, final = type(model).__name__, predictor(model.final_estimator_)
    kind, linear = kind_of(final), CLASSIFIERS if hasattr(model, "classes_") else REGRESSORS
    if kind.library != "sklearn" or kind.name not in linear:
        raise UnsupportedModelError(OTHER_FINAL.format(name, type(final).__name__, linear[0]))
    require_inherited(final)
    if model.passthrough:
        raise UnsupportedModelError(RAW_COLUMNS.format(name))
    return scaled_linear_of(model.final_estimator_, unit)


def _error(final: LinearScores, largest: FloatArray) -> float:
    """Return a bound on the rounding of a score, given the largest outputs, (n_outputs,)."""
    sizes = np.abs(final.factors) @ largest + np.abs(final.constants) + final.shifts
    return float((largest.size + MEAN * (1 + final.scalers)) * final.unit * sizes.max())


def read_stacking(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``StackingClassifier`` or ``StackingRegressor``.

    The final estimator gets the outputs of the members side by side; with two classes only the
    probability of the second one (``sklearn/ensemble/_stacking.py``, _concatenate_predictions). A
    linear classifier of two classes predicts the second one above 0, another the first of the
    largest scores (``sklearn/linear_model/_base.py``, LinearClassifierMixin.predict).
    """
    members = _members(model)
    ensembles = [read(member) for member in members]
    final = final_of(model, SINGLE if all(map(_is_single, ensembles)) else DOUBLE)
    triples = zip(members, model.stack_method_, ensembles, strict=True)
    outputs = [_outputs(model, *triple) for triple in triples]
    largest = np.array([output.largest for each in outputs for output in each])
    if largest.size != final.factors.shape[1]:
        raise UnsupportedModelError(
            f"the final estimator of this {type(model).__name__} reads {final.factors.shape[1]} "
            f"numbers, but its members return {largest.size}. Fit it again."
        )
    error, parts, first = _error(final, largest), [], 0
    for each, read_from in zip(ensembles, outputs, strict=True):
        factors = final.factors[:, first : first + len(read_from)]
        first += len(read_from)
        scores = [_weighted(each.n_sums, read_from, row) for row in factors]
        parts.append((Member(each, np.arange(each.n_sums)), scores))
    if any(score.curved for _, scores in parts for score in scores):
        return _blended(model, parts, final, error)
    return _summed(model, parts, final, error)


def _is_single(ensemble: Ensemble) -> bool:
    """Return whether the outputs of a member may be float32."""
    return isinstance(ensemble.link, Link) and ensemble.link.unit == SINGLE


def _members(model: Any) -> list[Any]:
    require_fitted(model, "estimators_")
    if isinstance(getattr(model, "classes_", None), list):
        raise several_outputs("classifier")
    return list(model.estimators_)


def _outputs(model: Any, member: Any, method: str, ensemble: Ensemble) -> list[Output]:
    """Return the outputs of a member that the final estimator reads."""
    below, n_sums, link = predictor(member), ensemble.n_sums, ensemble.link
    size = np.maximum.reduceat(np.abs(ensemble.score), ensemble.root).sum(axis=0)
    reach, width = float((size + np.abs(ensemble.bias)).sum()), ensemble.rounding.band
    if method == "predict_proba":
        shares = shares_of(below, ensemble)
        if shares is not None and len(shares) == len(model.classes_):
            return [Output(share, 1.0) for share in shares[len(shares) == 2 :]]
    elif method == "decision_function" and isinstance(link, Link):
        unit = reader_of(below).decision_unit(below, ensemble)
        leads = np.array([[-1.0, 1.0]]) if n_sums == 2 else np.eye(n_sums)
        error = max(width, ensemble.rounding.sums) / unit + MEAN * DOUBLE * reach / unit
        above = link.offset / unit
        largest = reach / unit + abs(above)
        return [Output(Expression(lead / unit, above, error=error), largest) for lead in leads]
    elif ensemble.regression and isinstance(link, Link) and link.kind == "mean":
        linear, size_of = np.array([1.0 / link.divisor]), reach / link.divisor + abs(link.offset)
        error = ensemble.rounding.sums / link.divisor + MEAN * link.unit * size_of
        return [Output(Expression(linear, link.offset, error=error), size_of)]
    raise UnsupportedModelError(UNKNOWN.format(type(model).__name__, method, type(below).__name__))


def _weighted(n_sums: int, outputs: Sequence[Output], factors: FloatArray) -> Expression:
    """Return the weighted sum of a member's outputs."""
    parts = [
        output.of_sums.times(factor)
        for output, factor in zip(outputs, factors.tolist(), strict=True)
    ]
    return reduce(Expression.plus, parts, Expression(np.zeros(n_sums)))


Parts = Sequence[tuple[Member, list[Expression]]]


def _summed(model: Any, parts: Parts, final: LinearScores, error: float) -> Ensemble:
    """Return one sum over the leaves of all members for each score; class 0 of two has score 0."""
    binary = hasattr(model, "classes_") and len(final.factors) == 1
    members = []
    for member, scores in parts:
        linear = np.column_stack([score.linear for score in scores])
        linear = np.pad(linear, [(0, 0), (int(binary), 0)])
        each = member.ensemble
        constant = np.pad([score.constant for score in scores], (int(binary), 0))
        one = replace(
            each,
            score=frozen(each.score @ linear),
            bias=frozen(each.bias @ linear + constant),
            votes=False,
        )
        members.append(Member(one, np.arange(linear.shape[1])))
    whole = summed(members, len(final.factors) + binary, 1.0)
    bias = whole.bias + np.pad(final.constants, (int(binary), 0))
    added = replace(whole, bias=frozen(bias))
    off = error + sum(score.error for _, scores in parts for score in scores)
    off += _own_error(added)
    regression = not hasattr(model, "classes_")
    link = link_of(predictor(model.final_estimator_), off)
    band = off if regression else 2.0 * off
    return replace(added, rounding=Rounding(band, sums=off), link=link, regression=regression)


def _own_error(ensemble: Ensemble) -> float:
    """Return a bound on the rounding of our own sums."""
    size = np.maximum.reduceat(np.abs(ensemble.score), ensemble.root).sum(axis=0)
    terms = ensemble.root.size + MEAN
    return float(terms * DOUBLE * (size + np.abs(ensemble.bias)).max())


def _blended(model: Any, parts: Parts, final: LinearScores, error: float) -> Ensemble:
    """Return scores that are expressions over several sums."""
    if not hasattr(model, "classes_"):
        raise UnsupportedModelError(
            UNKNOWN.format(type(model).__name__, "the prediction", "member")
        )
    constants = final.constants.tolist()

    def link(scores: list[Expression]) -> Blend:
        added = [
            replace(score, constant=score.constant + constant)
            for score, constant in zip(scores, constants, strict=True)
        ]
        outer = link_of(predictor(model.final_estimator_))
        if isinstance(outer, Blend) and len(added) > 1:
            return _ratio(added, error, outer)
        normalisation = None
        if isinstance(outer, Link) and outer.kind in ("sigmoid", "softmax"):
            normalisation = Normalisation(outer.kind, outer.unit)
        if len(added) > 1:
            return Blend(tuple(added), error, counts=True, normalisation=normalisation)
        zero = Expression(np.zeros(added[0].linear.size))
        shares = added[0].times(-1.0), added[0]
        compared = zero, added[0]
        return Blend(shares, error, counts=True, compared=compared, normalisation=normalisation)

    return blended(parts, link)


def _ratio(scores: Sequence[Expression], error: float, outer: Blend) -> Blend:
    """Return curves of scores, of which each is divided by their sum for a probability."""
    shares = []
    for score, share in zip(scores, outer.shares, strict=True):
        inner = replace(score, error=score.error + error)
        nested = Nested(1.0, share.terms[0].curve, inner)
        shares.append(Expression(np.zeros(score.linear.size), nested=(nested,)))
    return replace(outer, shares=tuple(shares), error=error, decides=True, compared=tuple(scores))


class StackingReader(Reader):
    """Reader of stacking with a linear final estimator."""

    reads_members = owns = varies_with_rows = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_stacking`."""
        return read_stacking(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, None, str]]:
        """Yield the members that are not dropped."""
        names = [name for name, member in model.estimators if not isinstance(member, str)]
        for member, name in zip(_members(model), names, strict=False):
            yield member, None, name

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the members, which get the rows as they are."""
        return leaves_of_members((member, rows) for member in _members(model))

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the score of one class; that of the first of two is the negated score."""
        scores = np.asarray(model.decision_function(rows), dtype=np.float64)
        if scores.ndim == 1:
            return scores if output == 1 else -scores
        return scores[:, output]


READERS: dict[str, Reader] = dict.fromkeys(
    ("StackingClassifier", "StackingRegressor"), StackingReader()
)
