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
from portfolio.bench.cases import Case, Cases, RunLimits
from portfolio.bench.runner import Columns, as_frame, print_table, unless_interrupted
from portfolio.cli.output import Console
from portfolio.data.collection import DrawnQuery
from portfolio.model.plausibility import Plausibility
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
    numbers = [f for f in explainer.features.features if f.kind in ("numeric", "ordinal")]
    return Around({f.name: MISSED * (f.upper - f.lower) for f in numbers})


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
class QuestionRun:
    """Run of one question on one row.

    Attributes
    ----------
    dataset, kind : data set and kind of the model.
    query : row of the query in the data set.
    question : key of ``QUESTIONS``.
    status : status of the answer.
    seconds : wall-clock time.
    cpu : processor time of this process in seconds.
    """

    dataset: str
    kind: str
    query: int
    question: str
    status: str
    seconds: float
    cpu: float


@dataclass(frozen=True)
class QuestionPlan:
    """Ask several questions about the same rows in turn; a :class:`BenchmarkPlan`."""

    cases: Cases
    questions: tuple[str, ...]
    limits: RunLimits = field(default_factory=RunLimits)

    @property
    def size(self) -> str:
        """See :class:`portfolio.bench.runner.BenchmarkPlan`."""
        return f"{self.cases.size * len(chosen_questions(self.questions))} runs"

    def runs(self, case: Case) -> Iterator[QuestionRun]:
        """See :class:`portfolio.bench.runner.BenchmarkPlan`."""
        questions = chosen_questions(self.questions)
        explainer = careful = case.explainer()
        if set(questions) & set(CAREFUL):
            plausibility = Plausibility.fit(case.dataset.X, case.dataset.y, seed=case.seed)
            careful = case.explainer(plausibility=plausibility)
        for query in case.drawn(explainer):
            settings = vars(self.limits) | {"seed": case.seed, "target": query.target}
            for name in questions:
                chosen = careful if name in CAREFUL else explainer
                if query.number == 0:
                    QUESTIONS[name](chosen, query, settings | {"time_limit_s": WARM_UP_S})
                    continue
                began, cpu = time.perf_counter(), time.process_time()
                answer = unless_interrupted(QUESTIONS[name](chosen, query, settings))
                spent = time.perf_counter() - began, time.process_time() - cpu
                place = case.dataset.name, case.kind, query.row
                yield QuestionRun(*place, name, answer.status, *spent)

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
    row = ["dataset", "kind", "query"]
    base = frame[frame["question"] == ANSWER].set_index(row)["seconds"]
    places = pd.MultiIndex.from_frame(frame[row])
    frame["ratio"] = frame["seconds"] / base.reindex(places).to_numpy()
    frame["proved"] = frame["status"].isin(PROVED)
    groups = frame.groupby(["dataset", "kind", "question"], sort=False)
    return groups.agg(
        queries=("query", "size"),
        median=("seconds", "median"),
        p90=("seconds", lambda seconds: seconds.quantile(0.9)),
        cpu=("cpu", "median"),
        proved=("proved", "mean"),
        ratio=("ratio", "median"),
    ).reset_index()
