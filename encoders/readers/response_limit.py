"""Decision between two classes by a limit of a model's probability or ``decision_function``."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import predictor
from encoders.readers.limit import ResponseLimit
from encoders.readers.read import native_scores, native_values
from encoders.readers.reader import averages, reader_of
from encoders.readers.score_cut import TERMS, ScoreCut, first_sum, reach_of
from encoders.readers.shares import answer_unit, both
from encoders.trees.arithmetic import DOUBLE, MEAN, Link
from encoders.trees.blend import Blend, Expression
from encoders.trees.ensemble import Ensemble

FARTHEST_SCORE = 1e3  # score whose sigmoid is 0 or 1, to which infinite thresholds are cut
FARTHEST = 1.5  # share of the reach of scores to which infinite thresholds are cut


def decided(owner: Any, below: Any, member: Ensemble, limit: ResponseLimit) -> Ensemble:
    """Return the trees of a model below its owner, with the decision of the owner."""
    link = member.link
    if isinstance(link, Blend) and (limit.probable or link.decides):
        return _blended(owner, below, member, link, limit)
    cut = cut_of(owner, below, member, limit)
    whole = cut.of(member)
    if isinstance(link, Blend):
        return replace(whole, link=_moved(link, cut.at, whole.rounding.band))
    return replace(whole, link=_link(below, member, cut))


def _moved(link: Blend, by: float, width: float) -> Blend:
    """Return curves of the lead of class 1 over sums whose lead is smaller by a threshold."""
    shares = []
    for share in link.shares:
        terms = [
            replace(
                term,
                curve=replace(term.curve, width=term.curve.width + width),
                offset=term.offset - by * term.leads[:, 1],
            )
            for term in share.terms
        ]
        constant = share.constant + by * float(share.linear[1])
        shares.append(replace(share, constant=constant, terms=tuple(terms)))
    score = replace(link.score, offset=link.score.offset + by)
    return replace(link, shares=tuple(shares), score=score)


def _blended(
    owner: Any, below: Any, member: Ensemble, link: Blend, limit: ResponseLimit
) -> Ensemble:
    """Return a member whose response is an expression over its sums, with the limit."""
    least = _least(link, limit, np.zeros(member.n_sums))
    if least is None:
        raise _unknown(owner, below, limit)
    share = link.shares[limit.positive]
    compared = (least, share) if limit.positive == 1 else (share, least)
    scored = not link.decides and link.score == Link("mean")  # a clipped score
    thresholded = replace(link, decides=True, compared=compared, scored=scored)
    return replace(member, link=thresholded)


def _least(link: Blend, limit: ResponseLimit, zeros: FloatArray) -> Expression | None:
    """Return the least output of the positive class; None if the response does not follow."""
    if not limit.probable:  # the outputs of stacking are its decision_function, negated for class 0
        return Expression(zeros, limit.value) if link.counts and link.compared else None
    if link.normalisation is None:
        return None if link.counts else Expression(zeros, limit.value)
    if link.normalisation.kind != "sigmoid":
        return None
    ends = [link.normalisation.link.least(limit.value, 2, sure) for sure in (False, True)]
    low, high = np.clip(ends, -FARTHEST_SCORE, FARTHEST_SCORE).tolist()
    return Expression(zeros, (low + high) / 2, error=(high - low) / 2)


def cut_of(owner: Any, below: Any, member: Ensemble, limit: ResponseLimit) -> ScoreCut:
    """Return the threshold in units of leaf scores."""
    if not limit.probable:
        cut = _of_score(owner, below, member, limit)
    elif averages(below):
        cut = _of_average(member, limit)
    else:
        cut = _of_sigmoid(owner, below, member, limit)
    if limit.positive == 1:
        return cut
    return replace(cut, weights=-cut.weights, at=-cut.at, upper_wins=False)


def _of_score(owner: Any, below: Any, member: Ensemble, limit: ResponseLimit) -> ScoreCut:
    """Return the threshold of ``decision_function``."""
    link = member.link
    if isinstance(link, Blend) and not link.decides:
        link = link.score
    if member.n_sums != 2 or not isinstance(link, Link):
        raise _unknown(owner, below, limit)
    unit = reader_of(predictor(below)).decision_unit(predictor(below), member)
    at = limit.value * unit - limit.sign * link.offset
    return ScoreCut(limit.sign * np.array([-1.0, 1.0]), at, TERMS * DOUBLE * abs(at))


def _of_average(member: Ensemble, limit: ResponseLimit) -> ScoreCut:
    """Return the threshold of an averaged probability."""
    unit, grid = answer_unit(member), member.rounding.grid
    weights, least = np.eye(2)[limit.positive], limit.value
    if grid:  # sums are exact
        return ScoreCut(weights, first_sum(least, unit, grid) * grid, grid=grid)
    at = least * unit
    return ScoreCut(weights, at, MEAN * DOUBLE * (abs(at) + unit))


def _of_sigmoid(owner: Any, below: Any, member: Ensemble, limit: ResponseLimit) -> ScoreCut:
    """Return the threshold of a probability that is a sigmoid of one sum or lead."""
    link, n_sums = _as_sigmoid(member), member.n_sums
    if link is None:
        raise _unknown(owner, below, limit)
    link = link.of_output(n_sums, limit.positive)
    weights = link.weights(n_sums, limit.positive)
    reach = reach_of(member, weights) + 1.0
    ends = [link.least(limit.value, n_sums, sure) for sure in (False, True)]
    least, sure = np.clip(ends, -FARTHEST * reach, FARTHEST * reach).tolist()
    return ScoreCut(weights, (least + sure) / 2, (sure - least) / 2)


def _as_sigmoid(member: Ensemble) -> Link | None:
    """Return the link of two classes as a sigmoid; None if it is none."""
    link = member.link
    if not isinstance(link, Link) or member.n_sums != 2:
        return None
    if link.kind not in ("sigmoid", "softmax"):
        return None
    return replace(link, kind="sigmoid")  # a softmax of two sums is the sigmoid of their lead


def _link(below: Any, member: Ensemble, cut: ScoreCut) -> Link | Blend:
    """Return the link from the sums beyond the threshold to the estimator's outputs."""
    link = _as_sigmoid(member) or member.link
    assert isinstance(link, Link)
    if not averages(below):
        return replace(link, offset=link.offset + cut.at)
    unit, width = answer_unit(member), max(member.rounding.sums, member.rounding.band)
    above = cut.at / unit + (0.0 if cut.upper_wins else 1.0)
    if link.kind == "none":  # votes
        return replace(link, offset=above * unit)
    error = width / unit + (MEAN + member.root.size) * DOUBLE
    upper = Expression(np.array([0.0, 1.0 / unit]), above, error=error)
    raw = Link("mean", divisor=unit, offset=above)
    return Blend(both(upper), MEAN * DOUBLE, decides=False, score=raw)


def raw_score(below: Any, rows: Any) -> FloatArray:
    """Return the raw score of a model of two classes, (n_rows,); the lead of class 1 if of each."""
    scores = native_scores(below, rows, 1.0)
    if scores[:, 0].any() and not averages(below):
        lead: FloatArray = scores[:, 1] - scores[:, 0]
        return lead
    return native_values(below, rows, "raw", 1)


def _unknown(owner: Any, below: Any, limit: ResponseLimit) -> UnsupportedModelError:
    name, inner = type(owner).__name__, type(predictor(below)).__name__
    remedy = "Set a threshold on the probability of trees, forests or boosting."
    other = "decision_function" if limit.probable else "predict_proba"
    if hasattr(below, other):
        number = "score" if limit.probable else "probability"
        remedy = f"Set response_method={other!r}, with a threshold on that {number}."
    return UnsupportedModelError(
        f"the threshold of this {name} is on a number of its {inner} that is not a supported "
        f"function of its leaves. {remedy}"
    )
