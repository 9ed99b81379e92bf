"""Stages for models that reject rows near a tie: rows with a lead in the score are searched for."""

from dataclasses import replace

from encoders.backends.interface import Request
from encoders.formulation.goal_rows import has_room
from encoders.query.goal import ClassGoal, Goal
from portfolio.engine.certificate import Certificate
from portfolio.engine.task import QueryTask, Solve
from portfolio.model.explained_model import ExplainedModel

PROVED_MARGIN = 1e-7  # in the user's score unit; appendix D of the paper

# Rejected cells. A larger limit takes longer if many rows tie; see docs/explanation/rounding.md.
MOST_REFUSED = 200

MANY_TIES = (
    "The model's own predict rejected more than {} cells near a tie, so the proof covers only rows "
    "whose score {} by {:g}."
)


def require_lead(task: QueryTask, rest: Solve) -> Certificate:
    """Solve a task; if the model rejects too many rows near a tie, solve for rows with a lead."""
    query = task.query
    lead = _lead(task.model, query.goal)
    limited = query.margin == 0 and lead
    first = rest(replace(task, most_refused=MOST_REFUSED) if limited else task)
    if not first.gave_up:
        return first
    clear = rest(task.leading(lead))
    words = "leads" if isinstance(query.goal, ClassGoal) else "clears its limits"
    return first.clear_of_ties(clear, MANY_TIES.format(MOST_REFUSED, words, clear.margin))


def offer_lead(task: QueryTask, rest: Solve) -> Certificate:
    """Solve a task that can fall back on the cheapest row with a lead as limit of the cost."""
    # In a session another query would evict the model that the backend keeps.
    usable = task.query.margin == 0 and task.strategy.in_parts
    lead = _lead(task.model, task.query.goal) if usable else 0.0
    if not lead:
        return rest(task)

    def clear(request: Request) -> Certificate:
        return rest(replace(task.leading(lead), request=request))

    return rest(replace(task, clear=clear))


def _lead(model: ExplainedModel, goal: Goal) -> float:
    """Return a lead that excludes rejections by rounding; 0 if no rows have it."""
    ensemble = model.ensemble
    if isinstance(goal, ClassGoal):
        return 1.0 if ensemble.votes else PROVED_MARGIN
    lead = max(PROVED_MARGIN, 4.0 * ensemble.rounding.sums / ensemble.margin_unit)
    return lead if has_room(ensemble, goal, lead) else 0.0
