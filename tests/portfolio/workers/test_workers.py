"""Worker processes: answers, stops, deaths, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from encoders.backends.interface import Request
from encoders.backends.registry import all_backends
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import hard_problem
from encoders.testing.random_problems import random_problem
from portfolio.api.explainer import Explainer
from portfolio.workers.solver_workers import Workers
from tests.support.checks import backend, check
from tests.support.processes import children, command

ISOLATED = [b.name for b in all_backends() if b.capability.isolated]


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ISOLATED)
def test_a_worker_answers_like_the_solver_itself(workers, name):
    for seed in range(30):
        problem = random_problem(seed)
        bounds = []
        request = Request(60.0, 1, on_bounds=lambda *b, kept=bounds: kept.append(b))
        outcome = workers.run(backend(name), problem, request)
        check(problem, outcome, optimum(problem)[0], backend(name).capability)
        assert bounds or not outcome.choices


@pytest.mark.slow
@pytest.mark.parametrize("name", [b.name for b in all_backends()])
def test_every_backend_ends_soon_after_a_stop_and_keeps_its_best(workers, name):
    problem = hard_problem()
    stop, found = threading.Event(), []
    began = []

    def ask_to_stop():
        time.sleep(2.0)
        began.append(time.perf_counter())
        stop.set()

    threading.Thread(target=ask_to_stop).start()
    request = Request(300.0, 1, stop=stop, on_choice=found.append)
    outcome = workers.run(backend(name), problem, request)
    assert time.perf_counter() - began[0] < 5.0  # 0.5 s and what a busy machine adds
    assert outcome.stop_reason == "interrupted"
    if found:
        assert outcome.status == "feasible" and problem.admits(outcome.choices[0])
        assert outcome.upper <= min(problem.distance(levels) for levels in found) + 1e-9
    assert 0 <= outcome.lower <= outcome.upper


@pytest.mark.slow
@pytest.mark.parametrize("name", [b.name for b in all_backends()])
def test_every_backend_keeps_its_time_limit(workers, name):
    began = time.perf_counter()
    outcome = workers.run(backend(name), hard_problem(), Request(1.0, 1))
    assert time.perf_counter() - began < 5.0
    assert outcome.stop_reason == "time_limit"


@pytest.mark.slow
def test_a_worker_that_dies_is_an_error_not_a_hang():
    workers, others = Workers(), set(children())

    def kill():
        while not set(children()) - others:
            time.sleep(0.1)
        time.sleep(1.0)
        for pid in set(children()) - others:
            os.kill(pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    outcome = workers.run(backend("milp"), hard_problem(), Request(300.0, 1))
    assert outcome.stop_reason == "error" and "-9" in outcome.raw
    problem = random_problem(5)
    again = workers.run(backend("milp"), problem, Request(60.0, 1))
    check(problem, again, optimum(problem)[0], backend("milp").capability)
    workers.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_do_not_outlive_their_parent(how):
    script = """
        from encoders.backends.interface import Request
        from portfolio.workers.solver_workers import Workers
        from tests.support.checks import backend
        from encoders.testing.hard_problem import hard_problem

        workers = Workers()
        print("ready", flush=True)
        workers.run(backend("milp"), hard_problem(), Request(300.0, 1))
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout.readline() == "ready\n"
    left = []
    for _ in range(600):
        left = children(parent.pid)
        if left:
            break
        time.sleep(0.05)
    time.sleep(1.5)
    parent.send_signal(how)
    parent.wait()
    assert left
    for _ in range(200):
        if not any("solver_process" in command(pid) for pid in left):
            return
        time.sleep(0.05)
    raise AssertionError("a worker outlived its parent")


def test_no_worker_is_started_where_none_is_needed(credit, refused):
    model, frame = credit
    before = children()
    explainer = Explainer(model, frame, workers=Workers())
    for name in ("auto", "search"):
        assert explainer.explain(refused, "granted", strategy=name).status == "optimal"
    assert children() == before
