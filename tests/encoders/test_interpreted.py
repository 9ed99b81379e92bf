"""Kernels that Python runs, and the process that compiles them meanwhile."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from encoders.backends.interface import Request
from encoders.core import system
from encoders.search.backend import solve
from encoders.testing.random_problems import random_problem
from portfolio.engine import ask
from portfolio.engine.compiler_process import LOCK
from tests.support.processes import command

SOLVE = """
    from encoders.backends.interface import Request
    from encoders.search.backend import solve
    from encoders.testing.random_problems import random_problem

    for seed in range(12):
        print(solve(random_problem(seed), Request(600.0, 1)).upper)
"""
START = """
    import os, sys
    from portfolio.engine.compiler_process import CompilerProcess

    print(CompilerProcess(sys.argv[1]).pid, flush=True)
    if sys.argv[2] == "killed":
        os._exit(1)
"""
FIRST_ANSWERS = """
    import os
    from portfolio import Explainer
    from portfolio.data.demo import make_demo
    from encoders.core.interpreted import interpreter
    from encoders.search.loop import run_slice

    example = make_demo(1, 0)
    explainer = Explainer(example.model, example.X)
    for _, row in example.rows.iterrows():
        result = explainer.explain(row, target=example.target)
        print(result.status, repr(result.distance), interpreter().runs, run_slice.signatures)
    os._exit(0)  # the compiler ends, too
"""


def run(script, *arguments, **variables):
    """Return what a script prints in a new process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def wait_until(happened):
    late_at = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < late_at
        time.sleep(0.1)


@pytest.mark.slow
def test_without_a_compiler_answers_are_equal():
    lines = run(SOLVE, NUMBA_DISABLE_JIT="1").split()
    compiled = [solve(random_problem(seed), Request(600.0, 1)).upper for seed in range(12)]
    assert [float(line) for line in lines] == compiled


@pytest.mark.slow
def test_first_answers_do_not_wait_for_the_compiler(tmp_path):
    # Machine code of a wheel is not for such a processor.
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    lines = run(FIRST_ANSWERS, NUMBA_CACHE_DIR=str(tmp_path), **other).splitlines()
    expected = run(FIRST_ANSWERS).splitlines()
    assert all(line.endswith(" True []") for line in lines), lines
    assert [line.split()[:2] for line in lines] == [line.split()[:2] for line in expected]


@pytest.mark.slow
def test_the_compiler_ends_with_a_parent_that_is_killed(tmp_path):
    with open(tmp_path / LOCK, "w") as lock:
        system.lock(lock, wait=True)  # the compiler waits for another one
        with pytest.raises(subprocess.CalledProcessError) as raised:
            run(START, tmp_path, "killed")
        pid = int(raised.value.stdout)
        wait_until(lambda: not command(pid))


@pytest.mark.slow
def test_the_compiler_goes_on_when_its_parent_has_ended(tmp_path):
    with open(tmp_path / LOCK, "w") as lock:
        system.lock(lock, wait=True)
        pid = int(run(START, tmp_path, "normally"))
        # It has read what its parent said, and waits for the lock.
        wait_until(lambda: f" {pid} " in Path("/proc/locks").read_text())
    wait_until(lambda: not command(pid))


def test_a_query_that_python_does_not_finish_in_time_is_answered_by_compiled_code(
    explainer, refused, monkeypatch
):
    compiled = []
    monkeypatch.setattr(ask, "begin_to_warm_up", lambda small: True)
    monkeypatch.setattr(ask, "warm_up", lambda: compiled.append(True))
    assert explainer.explain(refused, time_limit_s=1e-9).stop_reason == "time_limit"
    assert compiled == [True]
    assert explainer.explain(refused).status == "optimal"
    assert compiled == [True]
