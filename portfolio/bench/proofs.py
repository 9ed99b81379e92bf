"""Benchmark of proofs: seconds to make and to check them, compared with the answers."""

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from portfolio.bench.cases import Case, CasePlan, CaseRun, RunLimits
from portfolio.bench.runner import unless_interrupted
from portfolio.bench.tables import Columns, as_frame, print_table
from portfolio.checker import RejectedError
from portfolio.cli.output import Console
from portfolio.proofs.record import Record
from selector.logs.record import PROOFS

VERIFIED = "verified"
RECORD_S = 600.0  # time limit of one proof
COLUMNS: Columns = {
    "dataset": ("set", ""),
    "kind": ("kind", ""),
    "queries": ("n", "d"),
    "proved": ("proved", "d"),
    "verified": ("verified", "d"),
    "answer": ("answer s", ".4f"),
    "recording": ("record x", ".2f"),
    "checking": ("check x", ".2f"),
    "slowest": ("p90 s", ".2f"),
    "n_bytes": ("kB", lambda size: f"{size / 1000:.1f}"),
}


@dataclass(frozen=True)
class ProofRun(CaseRun):
    """Answer of one row, its record, and the verdict of the checker.

    Attributes
    ----------
    status : status of the answer.
    verdict : "verified", or the reason for a proof that is missing or rejected.
    answer, record, check : processor seconds of the answer, the record and the checker.
    n_bytes : size of the compressed proof.
    """

    status: str
    verdict: str
    answer: float
    record: float
    check: float
    n_bytes: int

    @property
    def is_unverified(self) -> bool:
        """True if the answer is proved and its proof is not verified."""
        return self.status in PROOFS and self.verdict != VERIFIED


@dataclass(frozen=True)
class ProofPlan(CasePlan):
    """Explain rows, record every answer and check every record."""

    unit = "rows"
    limits: RunLimits = field(default_factory=RunLimits)
    work: float | None = None

    def case_runs(self, case: Case) -> Iterator[ProofRun]:
        """See :class:`CasePlan`."""
        explainer = case.explainer()
        allowed = {} if self.work is None else {"work": self.work}
        for query in case.drawn(explainer):
            began = time.process_time()
            result = explainer.explain(query.x, **case.settings(query, self.limits))
            unless_interrupted(result)
            answered = time.process_time()
            record: Record = result.record(time_limit_s=RECORD_S)
            recorded = time.process_time()
            verdict = _verdict(record, case.model, allowed)
            checked = time.process_time()
            proof = record.content["proof"] or {"covers": []}
            if query.number:
                yield ProofRun(
                    *case.place(query),
                    status=result.status,
                    verdict=verdict,
                    answer=answered - began,
                    record=recorded - answered,
                    check=checked - recorded,
                    n_bytes=sum(len(base64.b64decode(each["steps"])) for each in proof["covers"]),
                )

    def report(self, runs: list[ProofRun], console: Console) -> int:
        """Print medians; return 1 if a proved answer lacks a verified proof, else 0."""
        if runs:
            print_table(console, summarise_proofs(runs), COLUMNS)
        unverified = [run for run in runs if run.is_unverified]
        for run in unverified:
            words = f"{run.dataset} {run.kind}, row {run.query} ({run.status}): {run.verdict}"
            console.print(words, soft_wrap=True, markup=False)
        return int(bool(unverified))


def _verdict(record: Record, model: Any, allowed: dict[str, float]) -> str:
    """Return what the checker says about a record."""
    if not record.proved:
        return record.why_not
    try:
        record.check(model, **allowed)
    except RejectedError as error:
        return str(error)
    return VERIFIED


def summarise_proofs(runs: list[ProofRun]) -> pd.DataFrame:
    """Return a line for each data set and kind, and for each kind over all data sets."""
    frame = as_frame(runs)
    frame = pd.concat([frame, frame.assign(dataset="all")])
    groups = frame.groupby(["dataset", "kind"], sort=False)
    return pd.DataFrame([_summary(group) for _, group in groups])


def _summary(group: pd.DataFrame) -> dict[str, Any]:
    """Return the medians over the verified proofs of a group."""
    proved = group[group["status"].isin(PROOFS)]
    good = proved[proved["verdict"] == VERIFIED]
    return {
        "dataset": group["dataset"].iloc[0],
        "kind": group["kind"].iloc[0],
        "queries": len(group),
        "proved": len(proved),
        "verified": len(good),
        "answer": good["answer"].median(),
        "recording": (good["record"] / good["answer"]).median(),
        "checking": (good["check"] / good["answer"]).median(),
        "slowest": good["check"].quantile(0.9),
        "n_bytes": good["n_bytes"].median(),
    }
