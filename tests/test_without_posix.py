"""Tests without the names that Windows lacks, which are hidden from the packages in all processes.

Windows itself may differ in other ways.
"""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from encoders.core import system
from portfolio import Workers
from portfolio.workers.local_executor import LocalExecutor

ROOT = Path(__file__).parents[1]
HIDING = ROOT / "tests" / "support" / "without_posix"
STATE = """
from encoders.core import system
from portfolio.workers import process
print(system.POSIX, hasattr(process.os, "fork"), hasattr(process.os, "getpid"))
"""
CORE = (
    "tests/portfolio/batch/test_answer_log.py",
    "tests/portfolio/batch/test_batch.py",
    "tests/portfolio/model/test_files.py",
    "tests/portfolio/test_explainer.py",
    "tests/portfolio/test_logbook.py",
    "tests/portfolio/workers",
)
# Tests of a lock, of a time limit in the child itself, and of peak memory.
NEED_POSIX = (
    "tests/portfolio/batch/test_answer_log.py::test_one_batch_a_folder",
    "tests/portfolio/model/test_files.py::test_a_file_that_hangs_its_reader_is_told",
    "tests/portfolio/test_logbook.py::test_memory_and_time_beyond_the_limit_are_told",
)


def run_without_posix(*arguments):
    """Run Python without POSIX names in the packages; return its output."""
    path = os.pathsep.join([str(HIDING), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_the_core_of_the_suite_passes_without_posix():
    assert run_without_posix("-c", STATE).split() == ["False", "False", "True"]
    deselected = [f"--deselect={test}" for test in NEED_POSIX]
    options = ["-n0", "-m", "not slow and not large", "-p", "no:cacheprovider"]
    options.append("--ignore=tests/portfolio/workers/test_ray.py")  # a cluster for one short race
    run_without_posix("-m", "pytest", *options, *deselected, *CORE)


def test_clients_import_no_services_of_the_operating_system():
    code = (
        "import sys; from counterfolio import AsyncClient, Client; needless = 'system', 'workers'; "
        "print([name for name in sys.modules if name.split('.')[-1] in needless])"
    )
    assert run_without_posix("-c", code).strip() == "[]"


@pytest.fixture
def pipes():
    """Two connected ends."""
    (first_in, first_out), (second_in, second_out) = os.pipe(), os.pipe()
    ends = [
        system.Pipes(os.fdopen(first_in, "rb"), os.fdopen(second_out, "wb")),
        system.Pipes(os.fdopen(second_in, "rb"), os.fdopen(first_out, "wb")),
    ]
    yield ends
    for end in ends:
        end.close()


def test_messages_arrive_in_order_and_then_the_end(pipes):
    here, there = pipes
    assert not here.poll(0.0)
    messages = ["", None, b"x" * 1_000_000, {"a": 1}]
    for message in messages:
        there.send(message)
    assert here.poll(60.0)
    assert [here.recv() for _ in messages] == messages
    there.close()
    assert here.poll(60.0)
    for _ in range(2):
        with pytest.raises(EOFError):
            here.recv()
    with pytest.raises(OSError, match="closed"):
        there.send("late")


def test_a_message_to_a_frozen_process_ends_it(monkeypatch):
    monkeypatch.setattr(system, "POSIX", False)
    arguments = [sys.executable, "-c", "import time; time.sleep(300)"]
    child, channel = system.start_connected(arguments, dict(os.environ), frozen_s=0.5)
    with pytest.raises(OSError):
        channel.send(b"x" * 10_000_000)
    assert child.wait(60)
    channel.close()


@pytest.mark.parametrize("start", [Workers, lambda limit: LocalExecutor(1, limit)])
def test_a_limit_of_memory_without_effect_is_reported(monkeypatch, start):
    monkeypatch.setattr(system, "LINUX", False)
    with pytest.warns(UserWarning, match="memory_bytes has no effect"):
        start(2**30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start(0)
