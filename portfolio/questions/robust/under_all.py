"""The nearest row for which one of several models changes its prediction."""

from dataclasses import replace
from math import inf

from encoders.errors import InputError
from portfolio.model.one_by_one import one_by_one
from portfolio.model.row import Row
from portfolio.question import Options, Question
from portfolio.questions.decision import decision_of
from portfolio.questions.series import Series
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress


def nearest_of_any(
    asker: Asker,
    row: Row,
    question: Question,
    options: Options,
    on_progress: OnProgress | None = None,
) -> Result:
    """Return the nearest row of any model; each model is solved with the best cost as cutoff."""
    if question.target is not None or asker.model.plausible:
        raise InputError(
            "robustness() with further models (also=) supports neither target nor plausibility. "
            "Use neither, or an Explainer without further models (also=)."
        )
    decision_of(asker.model, row, None)
    models, series = one_by_one(asker.model), Series(asker, row, question, options)
    nearest = options.cutoff

    def joint_bounds(seconds: float, upper: float, lower: float) -> None:
        assert on_progress is not None
        upper = min(upper, *(answer.distance for answer in series.answers), inf)
        if len(series.answers) + 1 < len(models):
            lower = 0.0
        on_progress(seconds, upper, min(lower, upper, *(a.lower_bound for a in series.answers)))

    report = None if on_progress is None else joint_bounds
    for model in models:
        if series.answers and series.over:
            break
        of_model = replace(series, asker=replace(asker, model=model), on_progress=report)
        nearest = min(nearest, of_model.ask_plainly(question, nearest).distance)
    answers = series.answers
    best = min(answers, key=lambda answer: answer.distance)
    open_ = [answer for answer in answers if answer.status not in ("optimal", "infeasible")]
    if len(answers) == len(models) and not open_:
        return best
    lower = min(answer.lower_bound for answer in answers) if len(answers) == len(models) else 0.0
    return replace(
        best,
        status="unknown" if best.row is None else "feasible",
        stop_reason=open_[0].stop_reason if open_ else asker.why,
        lower_bound=min(lower, best.distance),
    )
