"""Python processes for tests, forked from a server that has imported the large libraries.

A new interpreter spends 2 s of processor time on imports and on loading compiled code. While
``subprocess.Popen`` is replaced by ``Popen``, programs of ``python -c`` and ``python -m`` do not.
Such a program is still a child process of the caller with its own arguments, environment, folder,
files, signal handlers and exit code. Its own child processes are new interpreters.

Tests of starting, of imports and of the compiler do not use this.
"""

import ctypes
import fcntl
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import warnings
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from portfolio.engine.warm_up import warm_up_all

ROOT = Path(__file__).parents[2]
IMPORTS = (
    "portfolio.cli.batch",
    "portfolio.cli.explain",
    "portfolio.service.worker_process",
    "skops.io",
    "sklearn.ensemble",
    "treelite",
)
# Beginnings of the names of variables that libraries and interpreters read when they are loaded.
READ_ONCE = ("KMP_", "LD_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")
REQUEST_BYTES, REQUEST_FILES = 2**17, 64
ARGUMENT_BYTES = 2**13  # most bytes of arguments that the list of processes shows
START_S = 300.0  # most seconds for the imports of the server on a busy machine
SET_CHILD_SUBREAPER = 36  # option of prctl


Interpreter = subprocess.Popen  # which tests replace


class Popen(Interpreter):
    """Child process that is forked from the server if it runs Python and no variable differs."""

    def _execute_child(
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
        creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *others,
    ):  # fmt: skip
        environment = dict(os.environ if env is None else env)
        if not can_fork(args, environment) or executable or preexec_fn or shell:
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
                creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
                *others,
            )  # fmt: skip
            return
        *_, new_session, _ = others
        streams = [p2cread, c2pwrite, errwrite]
        self.pid = server().fork(
            {
                "arguments": [os.fspath(word) for word in args],
                "environment": environment,
                "folder": os.path.abspath(cwd or ""),
                "new_session": new_session,
                "blocked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
                "files": [0, 1, 2, *pass_fds],
            },
            [own if file == -1 else file for own, file in enumerate(streams)] + [*pass_fds],
        )
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


@contextmanager
def forked_children():
    """Fork child processes from the server of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Popen)
        yield


def can_fork(args, environment):
    """Return whether a program behaves in a forked process as in a new interpreter."""
    if isinstance(args, (str, bytes)) or args[0] != sys.executable or args[1] not in ("-c", "-m"):
        return False
    if "COVERAGE_PROCESS_CONFIG" in environment:  # new interpreters measure themselves
        return False
    other = server().environment
    names = [name for name in {*environment, *other} if name.startswith(READ_ONCE)]
    return all(environment.get(name) == other.get(name) for name in names)


class Server:
    """Caller's end of the server, for any of its threads."""

    def __init__(self):
        self.environment = dict(os.environ)
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(START_S)
        room = " " * ARGUMENT_BYTES  # overwritten by the arguments of programs
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno()), room]
            self._process = Interpreter(command, cwd=ROOT, pass_fds=[theirs.fileno()])

    def fork(self, request, files):
        """Start a program as a child of this process, and return its process id."""
        with self._lock:
            # The server forks a process that forks the program and ends. The program then becomes
            # a child of the nearest process above it that adopts such children.
            _adopt(True)
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], files)
                return int(self._socket.recv(REQUEST_BYTES))
            finally:
                _adopt(False)


@cache
def server():
    """Return the server of this process, which ends with it."""
    return Server()


def _adopt(adopts):
    assert not ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)


def serve(requests):
    """Fork a process for each request; return the request in that process."""
    gc.disable()
    for name in IMPORTS:
        importlib.import_module(name)
    warm_up_all()
    gc.freeze()  # at the end of a program it would take 0.5 s to look at all objects
    gc.enable()
    while True:
        message, files, *_ = socket.recv_fds(requests, REQUEST_BYTES, REQUEST_FILES)
        if not message:
            os._exit(0)
        with warnings.catch_warnings():  # numpy has threads, and stops them before a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            between = os.fork()
        if between == 0:
            between = os.getpid()
            if os.fork():
                os._exit(0)
            return json.loads(message), files, between
        os.waitpid(between, 0)
        for file in files:
            os.close(file)


def become(request, files, requests, between):
    """Take over what a program inherits, and report the process id to the caller."""
    _show_arguments(request["arguments"])
    if request["new_session"]:
        os.setsid()
    while os.getppid() == between:
        time.sleep(0.0001)
    requests.send(str(os.getpid()).encode())
    requests.close()
    os.chdir(request["folder"])
    by_interpreter = {name: os.environ[name] for name in ("LC_CTYPE",) if name in os.environ}
    os.environ.clear()
    os.environ.update(by_interpreter | request["environment"])
    signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked"])
    _place(files, request["files"])
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stdout.reconfigure(write_through=bool(os.environ.get("PYTHONUNBUFFERED")))
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    random.seed()
    np.random.seed()  # noqa: NPY002
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]


def _show_arguments(arguments):
    """Overwrite the arguments that the list of processes shows."""
    start, end = (int(word) for word in Path("/proc/self/stat").read_text().split()[47:49])
    content = b"\0".join(map(os.fsencode, arguments))[: end - start - 1]
    ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)


def _place(files, numbers):
    """Give files the numbers that they have in the caller."""
    above = 1 + max(*files, *numbers)
    free = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, above) for file in files]
    for file in {*files} - {*numbers}:
        os.close(file)
    for file, number in zip(free, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def run_program(arguments):
    """Run the program of ``python -c`` or ``python -m`` as the interpreter does."""
    _, option, program, *words = arguments
    sys.orig_argv = arguments
    sys.argv = [option, *words]
    main = types.ModuleType("__main__")
    sys.modules.update({"__main__": main, "__mp_main__": main})
    if option == "-m":
        sys.path[0] = os.getcwd()
        runpy._run_module_as_main(program)
    else:
        sys.path[0] = ""
        exec(compile(program, "<string>", "exec"), vars(main))


if __name__ == "__main__":
    requests = socket.socket(fileno=int(sys.argv[1]))
    request, files, between = serve(requests)
    become(request, files, requests, between)
    run_program(request["arguments"])
