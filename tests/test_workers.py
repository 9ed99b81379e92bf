"""Worker processes: answers, stops, deaths, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from encoders.backend import BACKENDS, Request
from portfolio.explainer import Explainer
from portfolio.workers import Workers
from tests.conformance.checks import backend, check
from tests.test_reduce import optimum, random_problem

ISOLATED = [b.name for b in BACKENDS if b.capability.isolated]


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.close()


def hard_problem():
    """No backend is through with this in a moment."""
    rng = np.random.default_rng(0)
    from encoders.problem import LeafRow, Problem

    n_axes, n_levels, n_trees = 60, 8, 500
    leaves, weights = [], []
    for _ in range(n_trees):
        a, b, c = rng.choice(n_axes, 3, replace=False)
        i, j, k = rng.integers(0, n_levels - 1, 3)
        leaves += [
            [(a, 0, i), (b, 0, j)],
            [(a, 0, i), (b, j + 1, n_levels - 1)],
            [(a, i + 1, n_levels - 1), (c, 0, k)],
            [(a, i + 1, n_levels - 1), (c, k + 1, n_levels - 1)],
        ]
        own = rng.integers(0, 10**9, 4)
        weights += (own - own.min()).tolist()
    weight = np.array(weights, dtype=np.int64)
    literals = np.array([literal for leaf in leaves for literal in leaf], dtype=np.int64).T
    best = weight.reshape(-1, 4).max(axis=1).sum()
    return Problem(
        level_start=np.arange(0, n_axes * n_levels + 1, n_levels),
        cost=np.concatenate([np.sort(rng.random(n_levels)) for _ in range(n_axes)]),
        aggregate="sum",
        one_hot=(),
        tree_start=np.arange(0, 4 * n_trees + 1, 4),
        leaf_start=np.arange(0, 8 * n_trees + 1, 2),
        axis=literals[0],
        lo=literals[1],
        hi=literals[2],
        leaf_rows=(LeafRow(weight, int(best * 0.69)),),
        level_rows=(),
        origin=np.zeros(n_axes, dtype=np.int64),
    )


@pytest.mark.parametrize("name", ISOLATED)
def test_a_worker_answers_like_the_solver_itself(workers, name):
    for seed in range(30):
        problem = random_problem(seed)
        bounds = []
        request = Request(60.0, 1, on_bounds=lambda *b, kept=bounds: kept.append(b))
        outcome = workers.run(backend(name), problem, request)
        check(problem, outcome, optimum(problem)[0], backend(name).capability)
        assert bounds or not outcome.choices


@pytest.mark.parametrize("name", [b.name for b in BACKENDS])
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


@pytest.mark.parametrize("name", [b.name for b in BACKENDS])
def test_every_backend_keeps_its_time_limit(workers, name):
    began = time.perf_counter()
    outcome = workers.run(backend(name), hard_problem(), Request(1.0, 1))
    assert time.perf_counter() - began < 5.0
    assert outcome.stop_reason == "time_limit"


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


def children(parent=None):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(parent or os.getpid())], capture_output=True, text=True
    )
    pids = [int(pid) for pid in listed.stdout.split()]
    return [pid for pid in pids if "worker_main" in command(pid)]


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read()
    except OSError:
        return ""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_do_not_outlive_their_parent(how):
    script = """
        from tests.test_workers import hard_problem, backend, Request, Workers
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
        if not any("worker_main" in command(pid) for pid in left):
            return
        time.sleep(0.05)
    raise AssertionError("a worker outlived its parent")


def test_no_worker_is_started_where_none_is_needed(credit, refused):
    model, frame = credit
    own = Workers()
    explainer = Explainer(model, frame, workers=own)
    for name in ("auto", "search"):
        assert explainer.explain(refused, "granted", backend=name).status == "optimal"
    assert own._idle == {}
