"""The benchmark of proofs: every proved answer has a proof that the checker accepts."""

import json
import math
from dataclasses import replace

from typer.testing import CliRunner

from portfolio.bench.proofs import VERIFIED, ProofPlan, ProofRun, summarise_proofs
from portfolio.cli.app import app
from tests.portfolio.bench.test_backends import LIMITS, WINE, runs_of


def test_proofs_of_all_rows_are_checked():
    runs = runs_of(ProofPlan(replace(WINE, kinds=("xgb", "soft"), queries=2), LIMITS))
    assert [(run.kind, run.verdict) for run in runs] == [("xgb", VERIFIED)] * 2 + [
        ("soft", VERIFIED)
    ] * 2
    assert all(run.n_bytes > 0 and run.answer > 0 and run.check > 0 for run in runs)


def test_a_checker_that_may_not_work_verifies_nothing():
    runs = runs_of(ProofPlan(replace(WINE, kinds=("xgb",), queries=1), LIMITS, work=0))
    assert "more work" in runs[0].verdict
    (_, line) = summarise_proofs(runs).itertuples()
    assert (line.dataset, line.proved, line.verified) == ("all", 1, 0)
    assert math.isnan(line.checking)


def test_multiples_are_of_the_same_row():
    runs = [
        ProofRun("d", "soft", 1, "optimal", VERIFIED, 1.0, 2.0, 4.0, 10),
        ProofRun("d", "soft", 2, "infeasible", VERIFIED, 10.0, 20.0, 10.0, 30),
        ProofRun("d", "soft", 3, "feasible", "nothing is known", 10.0, 90.0, 90.0, 90),
    ]
    line, _ = summarise_proofs(runs).itertuples()
    assert (line.queries, line.proved, line.verified) == (3, 2, 2)
    assert (line.recording, line.checking, line.n_bytes) == (2.0, 2.5, 20.0)


def test_the_command_tells_what_did_not_check(tmp_path):
    out = tmp_path / "runs.json"
    call = ["bench", "--proofs", "--only", "wine", "--trees", "5", "--depth", "3", "--kind", "xgb"]
    call += ["--queries", "1", "--json", str(out)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert [run["verdict"] for run in json.loads(out.read_text())["runs"]] == [VERIFIED]
    done = CliRunner().invoke(app, [*call, "--work", "0"])
    assert done.exit_code == 1
    assert "the steps take more work than allowed" in done.output
