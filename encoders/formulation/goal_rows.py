"""The leaf rows of a goal: none of them loses a choice that the model itself may accept.

A goal limits one of the model's outputs. Where that is monotone in one linear sum (all but softmax)
the limits are moved through the link and lowered by what rounding can do: one exact row per limit.
A weighted median is within a limit if the leaves within it have half of the weight: also one row.
A quantile needs two rows, and further ones near samples of a rejected choice.
A softmax is not a linear row. With z the lead over the smooth maximum of the other scores,

    z = s_t - log(sum over j of exp(s_j))     and     p_t = 1 / (1 + exp(-z)),

"p_t is at least q" is convex. For any weights w of the others that add up to 1, with entropy H(w),
``s_t - sum of w_j s_j >= z + H(w)`` holds. Each w gives a row; the softmax of a rejected choice
itself gives the tangent that cuts it off. "At most" is not convex, nor are goals of blends: these
have a relaxation, whose rows are those of parts. Choices that rows admit and the model rejects are
cut off one cell at a time.
"""

import math

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.formulation.leaf_rows import margin_rows
from encoders.formulation.relaxation import Relaxation
from encoders.formulation.requirements import Halfspace, Requirement, linear_row
from encoders.problem.problem import LeafRow, Problem
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.trees.arithmetic import DOUBLE, LINK, Link
from encoders.trees.blend import Blend, Curve, Expression, Term
from encoders.trees.ensemble import Ensemble
from encoders.trees.order_statistic import Limit, OrderStatistic


def goal_rows(
    score: FloatArray, tree_start: IntArray, ensemble: Ensemble, goal: Goal, margin: float
) -> tuple[tuple[LeafRow, ...], bool]:
    """Rows that every answer keeps."""
    if isinstance(goal, ClassGoal):
        return margin_rows(score, tree_start, ensemble, goal.target, margin)
    link, n_sums = link_of(ensemble, goal), ensemble.n_sums
    if isinstance(link, OrderStatistic):
        between = (goal.low + margin, goal.high - margin)
        limits = link.rows(score, tree_start, *between, margin > 0)
        return _limit_rows(limits or [(np.zeros(len(score)), 0.0)], tree_start), True
    assert isinstance(link, Link)
    shift = _shift(ensemble, margin)
    if link.kind == "softmax":
        spaces = _softmax_spaces(ensemble, goal, margin)
    else:
        weights = link.weights(n_sums, goal.output)
        shift *= float(np.abs(weights).sum())
        least = link.least(goal.low, n_sums, margin > 0)
        most = link.most(goal.high, n_sums, margin > 0)
        spaces = [(weights, least + shift), (-weights, -most + shift)]
    told = [space for space in spaces if space[1] > -math.inf] or spaces[:1]
    return tuple(_row(score, tree_start, ensemble, space) for space in told), True


def _limit_rows(limits: list[Limit], tree_start: IntArray) -> tuple[LeafRow, ...]:
    """Return rows of the weights of leaves, relaxed by their rounding."""
    one = np.ones(1)
    return tuple(
        linear_row(weight[:, None], tree_start, np.zeros(1), (one, needed))
        for weight, needed in limits
    )


def link_of(ensemble: Ensemble, goal: ValueGoal) -> Link | Blend | OrderStatistic:
    """Return the function from the sums to the goal's number."""
    link = ensemble.link.raw if goal.scale == "raw" else ensemble.link
    return link.of_output(ensemble.n_classes, goal.output)


def is_linear(ensemble: Ensemble, goal: Goal) -> bool:
    """Return whether a goal is a few linear rows, but for rounding; else tangents approach it."""
    if isinstance(goal, ClassGoal):
        return ensemble.blend is None
    link = link_of(ensemble, goal)
    return not isinstance(link, Blend) and link.kind != "softmax"


def relaxation_of(
    score: FloatArray, tree_start: IntArray, ensemble: Ensemble, goal: Goal, margin: float
) -> Relaxation | None:
    """Return the relaxation with a goal's rows by part; None if :func:`goal_rows` returns them."""
    if isinstance(goal, ClassGoal):
        blend = ensemble.blend
        if blend is None:
            return None
        least = margin - 2.0 * blend.error
        requirements = [
            Requirement(
                blend.lead(goal.target, rival),
                blend.needed(goal.target, rival) if margin == 0 else least,
            )
            for rival in range(blend.n_classes)
            if rival != goal.target
        ]
        requirements += [Requirement(*implied) for implied in blend.implied(goal.target, least)]
        return Relaxation(score, tree_start, ensemble.bias, requirements)
    link = link_of(ensemble, goal)
    if isinstance(link, Blend):
        limits = []
        if goal.low > -math.inf:
            limits.append(link.at_least(goal.output, goal.low, margin))
            limits += link.leads(goal.output, goal.low, margin)
        if goal.high < math.inf:
            limits.append(link.at_most(goal.output, goal.high, margin))
        requirements = [Requirement(*each) for each in limits if each[1] > -math.inf]
        return Relaxation(score, tree_start, ensemble.bias, requirements)
    if isinstance(link, OrderStatistic) or link.kind != "softmax" or goal.high == math.inf:
        return None
    return _softmax_relaxation(score, tree_start, ensemble, goal, margin)


def _softmax_relaxation(
    score: FloatArray, tree_start: IntArray, ensemble: Ensemble, goal: ValueGoal, margin: float
) -> Relaxation:
    """Limits of the lead over the smooth maximum of the other scores."""
    link, n_sums = ensemble.link, ensemble.n_sums
    assert isinstance(link, Link)
    rivals = [j for j in range(n_sums) if j != goal.output]
    leads = np.zeros((len(rivals), n_sums))
    leads[np.arange(len(rivals)), rivals] = -link.steepness
    leads[:, goal.output] = link.steepness
    lead = Term(1.0, Curve(), leads, np.zeros(len(rivals)))
    shift = 2.0 * _shift(ensemble, margin)
    least = link.steepness * (link.least(goal.low, n_sums, margin > 0) + shift)
    most = link.steepness * (link.most(goal.high, n_sums, margin > 0) - shift)
    over = Expression(np.zeros(n_sums), 0.0, (lead,))
    limits = [(over, least), (over.times(-1.0), -most)]
    requirements = [Requirement(side, needed) for side, needed in limits if needed > -math.inf]
    return Relaxation(score, tree_start, ensemble.bias, requirements)


def has_room(ensemble: Ensemble, goal: ValueGoal, margin: float) -> bool:
    """Return whether rows with the margin are sufficient, and some output may satisfy them."""
    link, n_sums, shift = link_of(ensemble, goal), ensemble.n_sums, 2 * _shift(ensemble, margin)
    if isinstance(link, OrderStatistic) and not link.sufficient:
        return False
    if isinstance(link, Blend) and link.normalisation is not None:
        ratio = link.normalisation.kind == "ratio"
        link, shift = (link, shift) if ratio else (link.normalisation.link, 2 * margin)
    if not isinstance(link, Link):
        return goal.low + margin < goal.high - margin
    low, high = (
        link.least(goal.low, n_sums, sure=True),
        link.most(goal.high, n_sums, sure=True),
    )
    return low + shift < high - shift


def tangent(
    score: FloatArray, ensemble: Ensemble, goal: Goal, problem: Problem, levels: IntArray
) -> LeafRow | None:
    """Return a row that a rejected choice violates and every answer satisfies, or None."""
    if isinstance(goal, ClassGoal):
        return None
    link = link_of(ensemble, goal)
    leaves = problem.active_leaves(levels)
    if isinstance(link, OrderStatistic):
        limits = link.cut(score, problem.tree_start, leaves, goal.low, goal.high)
        rows = _limit_rows(limits, problem.tree_start)
        return next((row for row in rows if _excludes(row, leaves)), None)
    if not isinstance(link, Link) or link.kind != "softmax" or goal.low == -math.inf:
        return None
    sums = link.steepness * (ensemble.bias + score[leaves].sum(axis=0))
    sums[goal.output] = -math.inf
    shares = np.exp(sums - sums.max())
    space = _entropic(shares / shares.sum(), ensemble, goal, link, 0.0)
    row = _row(score, problem.tree_start, ensemble, space)
    return row if _excludes(row, leaves) else None


def _excludes(row: LeafRow, leaves: IntArray) -> bool:
    """Return whether the active leaves of a choice violate a row."""
    return int(row.weight[leaves].sum()) < row.minimum


def _shift(ensemble: Ensemble, margin: float) -> float:
    """By what a needed sum is moved: lowered by its rounding, or raised by it and a margin."""
    band = ensemble.rounding.sums
    return band + margin * ensemble.margin_unit if margin > 0 else -band


def _softmax_spaces(ensemble: Ensemble, goal: ValueGoal, margin: float) -> list[Halfspace]:
    link, n_sums, t = ensemble.link, ensemble.n_sums, goal.output
    assert isinstance(link, Link)
    rivals = [j for j in range(n_sums) if j != t]
    spaces = []
    for others in [[j] for j in rivals] + [rivals]:
        shares = np.zeros(n_sums)
        shares[others] = 1.0 / len(others)
        spaces.append(_entropic(shares, ensemble, goal, link, margin))
    return spaces


def _entropic(
    shares: FloatArray, ensemble: Ensemble, goal: ValueGoal, link: Link, margin: float
) -> Halfspace:
    """Return the half-space of a softmax goal for weights of other classes that add up to 1."""
    positive = shares[shares > 0]
    entropy = float(-(positive * np.log(positive)).sum())
    entropy -= LINK * DOUBLE * (1.0 + entropy)
    weights = -shares
    weights[goal.output] = 1.0
    least = link.least(goal.low, ensemble.n_sums, margin > 0)
    return weights, least + entropy / link.steepness + 2 * _shift(ensemble, margin)


def _row(score: FloatArray, tree_start: IntArray, ensemble: Ensemble, space: Halfspace) -> LeafRow:
    return linear_row(score, tree_start, ensemble.bias, space)
