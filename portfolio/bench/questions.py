"""Benchmark of all questions on the same rows, compared with the cheapest change."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.constraints import MaxChanges
from encoders.query.relations import Together
from portfolio.api.explainer import Explainer
from portfolio.bench.asked import numbers
from portfolio.bench.cases import Case, CasePlan, CaseRun, RunLimits
from portfolio.bench.runner import unless_interrupted
from portfolio.bench.tables import Columns, as_frame, medians, of_baseline, print_table
from portfolio.cli.output import Console
from portfolio.data.collection import DrawnQuery
from portfolio.questions.robust.nearby import Around

ANSWER = "explain"
PLAUSIBLE = "explain-plausible"
CAREFUL = (PLAUSIBLE, "front-plausibility")  # questions with an isolation forest of each class
PROVED = ("optimal", "infeasible", "minimal")
MISSED = 0.01  # radius of "robust" as a share of the feature's range
BUDGET = 0.5  # largest cost of the action in "group"
WARM_UP_S = 1.0
COLUMNS: Columns = {
    "dataset": ("set", ""),
    "kind": ("kind", ""),
    "question": ("question", ""),
    "queries": ("n", "d"),
    "median": ("median s", ".4f"),
    "p90": ("p90 s", ".4f"),
    "cpu": ("CPU s", ".4f"),
    "proved": ("proved", ".0%"),
    "ratio": ("this / explain", ".1f"),
}
# Function of explainer, query and settings (target, limits, threads and seed).
Ask = Callable[[Explainer, DrawnQuery, dict[str, Any]], Any]


def _around(explainer: Explainer) -> Around:
    ranges = {f.name: f.upper - f.lower for f in numbers(explainer.features)}
    return Around({name: MISSED * size for name, size in ranges.items()})


def _contrast(explainer: Explainer, query: DrawnQuery, settings: dict[str, Any]) -> Any:
    """Explain a row and contrast it with the answer; both count."""
    result = explainer.explain(query.x, **settings)
    if result.row is None:
        return result
    limits = {name: value for name, value in settings.items() if name != "target"}
    return explainer.contrast(query.x, result.counterfactual, **limits)


def _related(explainer: Explainer, query: DrawnQuery, settings: dict[str, Any]) -> Any:
    """Explain a row with a relation: the first two features change together, or not at all."""
    first, second, *_ = [feature.name for feature in explainer.features.features]
    return explainer.explain(query.x, constraints=[Together(first, second)], **settings)


def _method(name: str, **arguments: Any) -> Ask:
    """Return the call of a method about the row and its target."""
    return lambda explainer, query, settings: getattr(explainer, name)(
        query.x, **arguments, **settings
    )


def _untargeted(name: str, **arguments: Any) -> Ask:
    """Return the call of a method about the row alone."""
    return lambda explainer, query, settings: getattr(explainer, name)(
        query.x, **arguments, **(settings | {"target": None})
    )


QUESTIONS: dict[str, Ask] = {
    ANSWER: _method("explain"),
    "related": _related,
    "several": _method("several", k=3),
    "diverse": _method("diverse", k=3, within=0.1),
    "front": _method("front", by="changes"),
    "front-probability": _method("front", by="probability"),
    PLAUSIBLE: _method("explain"),
    "front-plausibility": _method("front", by="plausibility"),
    "why-not": _method("why_not", constraints=[MaxChanges(0)]),
    "robust": lambda e, q, s: e.explain_robust(q.x, _around(e), **s),
    "region": _untargeted("region"),
    "reasons": _untargeted("reasons"),
    "smallest-reasons": _untargeted("reasons", smallest=True),
    "necessary": _method("necessary"),
    "reason-codes": _method("reason_codes", n=4),
    "contrast": _contrast,
    "robustness": _untargeted("robustness", scale="range"),
    "group": lambda e, q, s: e.explain_group(q.group, actions=1, budget=BUDGET, **s),
}


@dataclass(frozen=True)
class QuestionRun(CaseRun):
    """Run of one question on one row.

    Attributes
    ----------
    question : key of ``QUESTIONS``.
    status : status of the answer.
    seconds : wall-clock time.
    cpu : processor time of this process in seconds.
    """

    question: str
    status: str
    seconds: float
    cpu: float


@dataclass(frozen=True)
class QuestionPlan(CasePlan):
    """Ask several questions about the same rows in turn."""

    questions: tuple[str, ...]
    limits: RunLimits = field(default_factory=RunLimits)

    @property
    def total(self) -> int:
        """Number of runs."""
        return self.cases.size * len(chosen_questions(self.questions))

    def case_runs(self, case: Case) -> Iterator[QuestionRun]:
        """See :class:`CasePlan`."""
        questions = chosen_questions(self.questions)
        explainer = careful = case.explainer()
        if set(questions) & set(CAREFUL):
            careful = case.explainer(plausibility=case.plausibility())
        for query in case.drawn(explainer):
            settings = case.settings(query, self.limits)
            if query.number == 0:
                settings["time_limit_s"] = WARM_UP_S
            for name in questions:
                chosen = careful if name in CAREFUL else explainer
                began, cpu = time.perf_counter(), time.process_time()
                answer = unless_interrupted(QUESTIONS[name](chosen, query, settings))
                spent = time.perf_counter() - began, time.process_time() - cpu
                if query.number:
                    yield QuestionRun(*case.place(query), name, answer.status, *spent)

    def report(self, runs: list[QuestionRun], console: Console) -> int:
        """Print medians and multiples of the time of explain; return 0."""
        if runs:
            lines = summarise_questions(runs)
            print_table(console, lines, COLUMNS)
            for question, ratio in lines.groupby("question", sort=False)["ratio"].median().items():
                console.print(
                    f"{question}: {ratio:.1f} times the time of explain (median over data sets and "
                    "kinds)"
                )
        return 0


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


def summarise_questions(runs: list[QuestionRun]) -> pd.DataFrame:
    """Return medians by data set, kind and question; ``ratio`` is to explain on the same row."""
    frame = as_frame(runs)
    explained = of_baseline(
        frame, ["dataset", "kind", "query"], frame["question"] == ANSWER, "seconds"
    )
    frame["ratio"] = frame["seconds"] / explained
    frame["proved"] = frame["status"].isin(PROVED)
    return medians(frame, "question", cpu=("cpu", "median"), ratio=("ratio", "median"))
