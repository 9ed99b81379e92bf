"""Forked programs behave as programs of a new interpreter do."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.processes import command

STATE = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv, "folder": os.getcwd(), "path": sys.path[0], "name": __name__,
    "environment": dict(os.environ), "input": sys.stdin.read(), "parent": os.getppid(),
    "leads": os.getsid(0) == os.getpid(), "blocked": list(map(int, signal.pthread_sigmask(0, ()))),
    "handlers": [str(signal.getsignal(sign)) for sign in (signal.SIGINT, signal.SIGTERM)],
    "files": sorted(os.listdir("/proc/self/fd"))[:-1], "tests": "tests" in sys.modules,
    "main": vars(sys.modules.get("__mp_main__", sys.modules["__main__"])).get("__file__"),
}))
print("warning", file=sys.stderr)
sys.exit(7)
"""
WAIT = "import sys, time; print('ready', flush=True); time.sleep(300)"


@pytest.mark.slow
@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("more", [{}, {"start_new_session": True}], ids=["child", "session"])
def test_a_program_finds_the_same_state(tmp_path, monkeypatch, more):
    monkeypatch.setenv("COUNTERFOLIO_TEST", "1")
    reader, writer = os.pipe()
    options = {"cwd": tmp_path, "env": dict(os.environ), "input": "text", **more}
    arguments = [sys.executable, "-c", STATE, "a b", "--c"]
    ends = []
    for start in (forked.Popen, forked.Interpreter):
        monkeypatch.setattr(subprocess, "Popen", start)
        ends.append(
            subprocess.run(arguments, pass_fds=[writer], capture_output=True, text=True, **options)
        )
    os.close(reader)
    os.close(writer)
    ours, theirs = (json.loads(end.stdout) for end in ends)
    assert ours == theirs
    assert (ours["parent"], ours["environment"]["COUNTERFOLIO_TEST"]) == (os.getpid(), "1")
    assert [(end.returncode, end.stderr) for end in ends] == [(7, "warning\n")] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_a_program(sign):
    arguments = [sys.executable, "-c", WAIT, "of this name"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    assert command(process.pid).rstrip("\0").split("\0") == arguments
    assert Path(f"/proc/{process.pid}/exe").resolve() == Path(sys.executable).resolve()
    process.send_signal(sign)
    _, errors = process.communicate()
    assert process.returncode == -sign
    assert ("KeyboardInterrupt" in errors) == (sign == signal.SIGINT)


@pytest.mark.slow
@pytest.mark.usefixtures("forked_children")
def test_modules_run_as_programs():
    arguments = [sys.executable, "-m", "portfolio.checker", "--help"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: counterfolio-check")
    failed = subprocess.run([sys.executable, "-c", "1 / 0"], capture_output=True, text=True)
    assert failed.returncode == 1 and failed.stderr.endswith(
        "ZeroDivisionError: division by zero\n"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "PYTHONHASHSEED", "COVERAGE_PROCESS_CONFIG"])
def test_variables_that_are_read_once_need_a_new_interpreter(name):
    code = "import sys; print('sklearn' in sys.modules)"
    for environment, expected in ((None, "True"), (os.environ | {name: "3"}, "False")):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert done.stdout.strip() == expected
