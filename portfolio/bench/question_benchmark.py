"""Benchmark of all questions on the same rows, compared with the cheapest change."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.constraints import MaxChanges
from encoders.query.relations import Together
from portfolio.api.explainer import Explainer
from portfolio.bench.benchmark import Benchmark, run_each_model
from portfolio.data.collection import DrawnQuery, draw_queries
from portfolio.data.datasets import Dataset
from portfolio.model.plausibility import Plausibility
from portfolio.questions.robust.nearby import Around

ANSWER = "explain"
PLAUSIBLE = "explain-plausible"
CAREFUL = (PLAUSIBLE, "front-plausibility")  # questions with an isolation forest of each class
PROVED = ("optimal", "infeasible", "minimal")
MISSED = 0.01  # radius of "robust" as a share of the feature's range
BUDGET = 0.5  # largest cost of the action in "group"
WARM_UP_S = 1.0

# Function of explainer, query and settings (limits, threads and seed).
Ask = Callable[[Explainer, DrawnQuery, dict[str, Any]], Any]


def _around(explainer: Explainer) -> Around:
    numbers = [f for f in explainer.features.features if f.kind in ("numeric", "ordinal")]
    return Around({f.name: MISSED * (f.upper - f.lower) for f in numbers})


def _contrast(explainer: Explainer, query: DrawnQuery, settings: dict[str, Any]) -> Any:
    """Explain a row and contrast it with the answer; both count."""
    result = explainer.explain(query.x, query.target, **settings)
    if result.row is None:
        return result
    return explainer.contrast(query.x, result.counterfactual, **settings)


def _related(explainer: Explainer, query: DrawnQuery, settings: dict[str, Any]) -> Any:
    """Explain a row with a relation: the first two features change together, or not at all."""
    first, second, *_ = [feature.name for feature in explainer.features.features]
    rule = Together(first, second)
    return explainer.explain(query.x, query.target, constraints=[rule], **settings)


QUESTIONS: dict[str, Ask] = {
    ANSWER: lambda e, q, s: e.explain(q.x, q.target, **s),
    "related": _related,
    "several": lambda e, q, s: e.several(q.x, k=3, target=q.target, **s),
    "diverse": lambda e, q, s: e.diverse(q.x, k=3, within=0.1, target=q.target, **s),
    "front": lambda e, q, s: e.front(q.x, by="changes", levels=None, target=q.target, **s),
    "front-probability": lambda e, q, s: e.front(
        q.x, by="probability", levels=None, target=q.target, **s
    ),
    PLAUSIBLE: lambda e, q, s: e.explain(q.x, q.target, **s),
    "front-plausibility": lambda e, q, s: e.front(
        q.x, by="plausibility", levels=None, target=q.target, **s
    ),
    "why-not": lambda e, q, s: e.why_not(q.x, q.target, constraints=[MaxChanges(0)], **s),
    "robust": lambda e, q, s: e.explain_robust(q.x, _around(e), q.target, **s),
    "region": lambda e, q, s: e.region(q.x, **s),
    "reasons": lambda e, q, s: e.reasons(q.x, **s),
    "smallest-reasons": lambda e, q, s: e.reasons(q.x, smallest=True, **s),
    "necessary": lambda e, q, s: e.necessary(q.x, q.target, **s),
    "reason-codes": lambda e, q, s: e.reason_codes(q.x, n=4, target=q.target, **s),
    "contrast": _contrast,
    "robustness": lambda e, q, s: e.robustness(q.x, scale="range", **s),
    "group": lambda e, q, s: e.explain_group(
        q.group, actions=1, budget=BUDGET, target=q.target, **s
    ),
}


@dataclass(frozen=True)
class QuestionRun:
    """Run of one question on one row.

    Attributes
    ----------
    query : position of the row in the data set.
    seconds : seconds from the call to the answer.
    cpu : CPU seconds of this process, all threads together.
    """

    dataset: str
    kind: str
    query: int
    question: str
    status: str
    seconds: float
    cpu: float


def run_questions(
    benchmark: Benchmark, questions: tuple[str, ...], on_run: Callable[[QuestionRun], None]
) -> None:
    """Train each model once and solve all questions on the same rows in turn.

    The cheapest change comes first. A first row is a warm-up and does not count.
    """
    chosen = chosen_questions(questions)

    def runs_of(dataset: Dataset, kind: str, model: Any) -> Iterator[QuestionRun]:
        return _runs_of(benchmark, dataset, kind, model, chosen)

    run_each_model(benchmark, runs_of, on_run)


def chosen_questions(questions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the cheapest change and of the chosen questions."""
    if questions == ("all",):
        return tuple(QUESTIONS)
    for name in questions:
        if name not in QUESTIONS:
            hint = close_names(name, QUESTIONS)
            raise InputError(
                f"unknown question {name!r}.{hint} Use one of all, {', '.join(QUESTIONS)}."
            )
    return tuple(dict.fromkeys((ANSWER, *questions)))


def _runs_of(
    benchmark: Benchmark, dataset: Dataset, kind: str, model: Any, questions: tuple[str, ...]
) -> Iterator[QuestionRun]:
    seed = benchmark.seed
    explainer = Explainer(model, dataset.X, dataset.space)
    careful = explainer
    if set(questions) & set(CAREFUL):
        plausibility = Plausibility.fit(dataset.X, dataset.y, seed=seed)
        careful = Explainer(model, dataset.X, dataset.space, plausibility=plausibility)
    limits = {"time_limit_s": benchmark.time_limit_s, "threads": benchmark.threads, "seed": seed}
    for query in draw_queries(dataset, explainer, benchmark.queries + 1, seed):
        for name in questions:
            chosen = careful if name in CAREFUL else explainer
            if query.number == 0:  # warm-up: compiled code, caches, imports
                QUESTIONS[name](chosen, query, limits | {"time_limit_s": WARM_UP_S})
                continue
            began, cpu = time.perf_counter(), time.process_time()
            answer = QUESTIONS[name](chosen, query, limits)
            seconds, used = time.perf_counter() - began, time.process_time() - cpu
            if answer.stop_reason == "interrupted":
                raise KeyboardInterrupt
            yield QuestionRun(dataset.name, kind, query.row, name, answer.status, seconds, used)


@dataclass(frozen=True)
class QuestionSummary:
    """Summary of one question on one data set and kind of model.

    Attributes
    ----------
    queries : number of rows.
    median, p90, cpu : median and 90th percentile of the seconds, and median of the CPU seconds.
    proved : share of the rows, 0 to 1.
    ratio : median over the rows of the seconds divided by those of the cheapest change.
    """

    dataset: str
    kind: str
    question: str
    queries: int
    median: float
    p90: float
    cpu: float
    proved: float
    ratio: float


def summarise_questions(runs: list[QuestionRun]) -> list[QuestionSummary]:
    """Return a summary for each data set, kind and question."""
    answers = {(r.dataset, r.kind, r.query): r.seconds for r in runs if r.question == ANSWER}
    groups: dict[tuple[str, str, str], list[QuestionRun]] = {}
    for run in runs:
        groups.setdefault((run.dataset, run.kind, run.question), []).append(run)
    return [_summary(key, group, answers) for key, group in groups.items()]


def _summary(
    key: tuple[str, str, str], group: list[QuestionRun], answers: dict[tuple[str, str, int], float]
) -> QuestionSummary:
    seconds = sorted(run.seconds for run in group)
    return QuestionSummary(
        *key,
        queries=len(group),
        median=statistics.median(seconds),
        p90=seconds[int(0.9 * (len(seconds) - 1))],
        cpu=statistics.median(run.cpu for run in group),
        proved=sum(run.status in PROVED for run in group) / len(group),
        ratio=statistics.median(r.seconds / answers[r.dataset, r.kind, r.query] for r in group),
    )
