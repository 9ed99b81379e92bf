"""From a query to a certificate: stages, each of which uses the later ones.

A stage divides a task, or adds to it what later stages need, and joins their certificates. The last
one certifies an encoded query.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from encoders.core.errors import OutOfTimeError
from encoders.formulation.pose import Posed, pose
from portfolio.engine.certificate import Certificate
from portfolio.engine.certify import certify
from portfolio.engine.findings import PosedQuery
from portfolio.engine.goal_parts import certify_goal_parts
from portfolio.engine.leads import offer_lead, require_lead
from portfolio.engine.near_first import cut_off, near_first
from portfolio.engine.split_columns import split_columns
from portfolio.engine.split_goals import split_goals
from portfolio.engine.strategies import others
from portfolio.engine.task import QueryTask, Solve, Stage
from portfolio.engine.witness import Witnesses


def encode(task: QueryTask, rest: Solve) -> Certificate:
    """Encode the query as a problem, within limited distances if the model is large.

    A query that an earlier stage has encoded is passed on; that stage counts its time, too.
    """
    if task.posed is not None:
        return rest(task)
    memo = None if task.region else task.memo
    began = time.perf_counter()
    try:
        if memo is not None and task.request.cutoff <= memo.cutoff:
            certificate = rest(replace(task, posed=memo.posed, solve=memo.solve))
        elif (near := near_first(task, rest)) is not None:
            certificate = near.answer()
        else:
            certificate = rest(replace(task, posed=_posed(task)))
    except OutOfTimeError:
        certificate = cut_off(task.request, task.query.margin)
    return certificate.encoded(time.perf_counter() - began - certificate.times.total)


def _posed(task: QueryTask) -> Posed:
    view = task.view
    arguments = view.ensemble, view.cells, task.model.space, task.query
    if task.region:
        return pose(*arguments, task.region, task.over)
    return view.encodings.pose(*arguments, task.over)


def certify_posed(task: QueryTask, _: Solve) -> Certificate:
    """Return the cheapest choice of the encoded query that the native model confirms."""
    posed, view, goal, oracle = task.posed, task.view, task.query.goal, task.oracle
    assert posed is not None
    witnesses = Witnesses(posed, task.query, task.model.space, oracle, view)
    posed_query = PosedQuery(posed, task.query, task.model.space, oracle, witnesses)
    solve = task.solve or task.strategy.solve_posed(posed, view, goal)
    if task.memo is not None and not task.region:
        task.memo.keep(posed, solve, task.request.cutoff)
    request = replace(task.request, time_limit_s=task.deadline - time.perf_counter())
    appeal = partial(others, task.run, posed, view, goal)
    if posed.relaxation is None:
        return certify(posed_query, solve, request, appeal, task.most_refused, clear=task.clear)
    narrow = task.strategy.in_parts and posed.related is None
    return certify_goal_parts(posed_query, solve, request, appeal, task.most_refused, narrow)


STAGES: tuple[Stage, ...] = (
    split_goals,  # one goal after another, the nearest first
    require_lead,  # if the model rejects too many rows near a tie: for rows with a lead
    split_columns,  # columns of very many classes in parts
    offer_lead,  # after the first rejected row, a row with a lead limits the cost
    encode,  # large models within limited distances
    certify_posed,  # solve, verify natively, cut off rejected cells, solve again
)


def solve(task: QueryTask, stages: Sequence[Stage] = STAGES) -> Certificate:
    """Return what is proved about the cheapest answer to a task."""
    return stages[0](task, partial(solve, stages=stages[1:]))
