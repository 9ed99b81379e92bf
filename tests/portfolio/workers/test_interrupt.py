"""Ctrl-C during ``explain``, with every backend: the best answer so far, and nothing left."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import pytest

from portfolio.workers.interrupt import run_aside, run_heard, start_thread
from tests.support.checks import backend
from tests.support.processes import children, command

pytestmark = pytest.mark.usefixtures("forked_children")

SCRIPT = """
    import json, sys, threading, time
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from portfolio import Explainer

    X, y = make_classification(1500, 60, n_informative=40, random_state=1)
    model = RandomForestClassifier(200, max_depth=7, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    explainer.explain(X[0], time_limit_s=0.1)  # what is compiled, is compiled
    bounds = []
    row = X[model.predict_proba(X)[:, 1].argmax()]

    def ready(*point):
        bounds.append(point)
        if len(bounds) == 1:
            print("ready", flush=True)

    pressed = []
    reads = lambda: pressed.append(sys.stdin.readline() and time.time())
    threading.Thread(target=reads, daemon=True).start()
    result = explainer.explain(row, strategy=sys.argv[1], on_progress=ready, time_limit_s=200)
    ended = time.time()
    verified = result.counterfactual is not None and model.predict([result.counterfactual])[0] == 0
    print(json.dumps({
        "status": result.status, "reason": result.stop_reason, "verified": bool(verified),
        "bound": result.lower_bound, "distance": result.distance, "late": ended - pressed[0],
    }), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.slow
# A race, a backend that stops itself, and one in a separate process.
@pytest.mark.parametrize("name", ["auto", "cp", "milp"])
def test_ctrl_c_gives_the_best_answer_so_far(name):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):  # still at work
        process.wait(timeout=4)
    busy = children(process.pid)
    process.stdin.write("now\n")
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    answer = json.loads(process.stdout.readline())
    assert (answer["status"], answer["reason"]) == ("feasible", "interrupted")
    assert answer["verified"] and 0 <= answer["bound"] < answer["distance"]
    assert answer["late"] < 5.0  # 0.5 s and what a busy machine adds
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    if name != "auto":
        assert len(busy) == backend(name).capability.isolated
    assert not any("solver_process" in command(pid) for pid in busy)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_ctrl_c_stops_and_the_second_raises():
    stop = threading.Event()

    def call():
        assert not stop.is_set()
        press()
        return stop.is_set(), threading.current_thread() is threading.main_thread()

    assert run_heard(call, stop) == (True, True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        run_heard(lambda: (press(), press()), stop)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_hears_ctrl_c_in_another_way_goes_on_to():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        stop = threading.Event()
        run_heard(press, stop)
        assert heard == [1] and not stop.is_set()
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        signal.signal(signal.SIGINT, signal.default_int_handler)
        theirs = signal.SIG_IGN  # set meanwhile
        run_heard(lambda: signal.signal(signal.SIGINT, theirs), stop)
        assert signal.getsignal(signal.SIGINT) is theirs
    finally:
        signal.signal(signal.SIGINT, before)


def test_native_solvers_leave_the_main_thread_free():
    threads = []

    def call():
        threads.append(threading.current_thread())
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        run_aside(call)
    assert threads[0] is not threading.main_thread()
    assert run_aside(lambda: run_aside(threading.current_thread)) is not threading.main_thread()


FOREIGN = """
    import _thread, sys, time

    ended = []

    def ask():
        try:
            import threading  # which takes this thread for the main one
            from portfolio.workers.interrupt import run_heard
            print(run_heard(lambda: "answered", threading.Event()), flush=True)
        finally:
            ended.append(True)

    _thread.start_new_thread(ask, ())
    while not ended:
        time.sleep(0.01)
"""


def test_a_thread_that_is_taken_for_the_main_one_gets_its_answer():
    program = [sys.executable, "-c", textwrap.dedent(FOREIGN)]
    assert subprocess.run(program, capture_output=True, text=True).stdout == "answered\n"


def test_threads_start_whenever_a_signal_arrives():
    """A signal handler that raises within ``Thread.start`` can leave the new thread waiting."""

    def end(number, frame):
        raise ZeroDivisionError("of a clock")

    before, name, ran = signal.signal(signal.SIGALRM, end), "counterfolio-test", []
    try:
        for i in range(500):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + i % 50 * 4e-6)
                start_thread(partial(ran.append, i), name)
                time.sleep(0.001)
            except ZeroDivisionError:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    end_s = time.monotonic() + 60
    while any(thread.name == name for thread in threading.enumerate()):
        assert time.monotonic() < end_s, "a thread neither runs nor ends"
        time.sleep(0.01)
    assert ran
