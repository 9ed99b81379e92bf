"""Benchmark of proofs: seconds to make and to check them, compared with the answers."""

import base64
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from portfolio.api.explainer import Explainer
from portfolio.bench.benchmark import Benchmark, run_each_model
from portfolio.checker import RejectedError
from portfolio.data.collection import DrawnQuery, draw_queries
from portfolio.data.datasets import Dataset
from portfolio.proofs.record import Record
from selector.logs.record import PROOFS

VERIFIED = "verified"
RECORD_S = 600.0  # time limit of one proof


@dataclass(frozen=True)
class ProofRun:
    """Answer of one row, its record, and the verdict of the checker.

    Attributes
    ----------
    query : position of the row in the data set.
    status : status of the answer.
    verdict : "verified", or the reason why a proof is missing or the checker rejects it.
    answer, record, check : CPU seconds of this process, all threads together.
    n_bytes : compressed size of the proof's steps.
    """

    dataset: str
    kind: str
    query: int
    status: str
    verdict: str
    answer: float
    record: float
    check: float
    n_bytes: int


def run_proofs(
    benchmark: Benchmark, on_run: Callable[[ProofRun], None], work: float | None = None
) -> None:
    """Train each model once, explain its rows, record every answer and check every record.

    A first row is a warm-up and does not count. CPU seconds are measured, because other work on the
    machine would affect the parts differently.
    """
    allowed = {} if work is None else {"work": work}

    def runs_of(dataset: Dataset, kind: str, model: Any) -> Iterator[ProofRun]:
        explainer = Explainer(model, dataset.X, dataset.space)
        where = dataset.name, kind
        for query in draw_queries(dataset, explainer, benchmark.queries + 1, benchmark.seed):
            run = _run(benchmark, explainer, model, where, query, allowed)
            if query.number:  # the first one is a warm-up
                yield run

    run_each_model(benchmark, runs_of, on_run)


def _run(
    benchmark: Benchmark,
    explainer: Explainer,
    model: Any,
    where: tuple[str, str],
    query: DrawnQuery,
    allowed: dict[str, float],
) -> ProofRun:
    began = time.process_time()
    result = explainer.explain(
        query.x,
        query.target,
        time_limit_s=benchmark.time_limit_s,
        threads=benchmark.threads,
        seed=benchmark.seed,
    )
    answered = time.process_time()
    if result.stop_reason == "interrupted":
        raise KeyboardInterrupt
    record: Record = result.record(time_limit_s=RECORD_S)
    recorded = time.process_time()
    verdict = record.why_not
    if record.proved:
        try:
            record.check(model, **allowed)
            verdict = VERIFIED
        except RejectedError as error:
            verdict = str(error)
    checked = time.process_time()
    proof = record.content["proof"] or {"covers": []}
    return ProofRun(
        *where,
        query=query.row,
        status=result.status,
        verdict=verdict,
        answer=answered - began,
        record=recorded - answered,
        check=checked - recorded,
        n_bytes=sum(len(base64.b64decode(cover["steps"])) for cover in proof["covers"]),
    )


@dataclass(frozen=True)
class ProofSummary:
    """Summary of the proofs of one data set and kind of model, or of all data sets.

    Attributes
    ----------
    queries, proved, verified : numbers of rows, of proved answers, and of proofs that the checker
        accepts; the following fields cover the latter only.
    answer, record, check : medians of CPU seconds.
    recording, checking : medians of CPU seconds divided by those of the same row's answer.
    slowest : 90th percentile of the CPU seconds of checking.
    n_bytes : median of the compressed sizes.
    """

    dataset: str
    kind: str
    queries: int
    proved: int
    verified: int
    answer: float
    record: float
    check: float
    recording: float
    checking: float
    slowest: float
    n_bytes: float


def summarise_proofs(runs: list[ProofRun]) -> list[ProofSummary]:
    """Return a summary for each data set and kind, and for each kind over all data sets."""
    groups: dict[tuple[str, str], list[ProofRun]] = {}
    for run in runs:
        groups.setdefault((run.dataset, run.kind), []).append(run)
    for kind in dict.fromkeys(run.kind for run in runs):
        groups["all", kind] = [run for run in runs if run.kind == kind]
    return [_summary(key, group) for key, group in groups.items()]


def _summary(key: tuple[str, str], group: list[ProofRun]) -> ProofSummary:
    proved = [run for run in group if run.status in PROOFS]
    good = [run for run in proved if run.verdict == VERIFIED]
    checks = sorted(run.check for run in good)
    return ProofSummary(
        *key,
        queries=len(group),
        proved=len(proved),
        verified=len(good),
        answer=_median(run.answer for run in good),
        record=_median(run.record for run in good),
        check=_median(checks),
        recording=_median(run.record / run.answer for run in good),
        checking=_median(run.check / run.answer for run in good),
        slowest=checks[int(0.9 * (len(checks) - 1))] if checks else float("nan"),
        n_bytes=_median(run.n_bytes for run in good),
    )


def _median(numbers: Any) -> float:
    values = list(numbers)
    return float(statistics.median(values)) if values else float("nan")
