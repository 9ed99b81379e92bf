"""Ctrl-C during a native solve ends the solve, not the answer."""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
WAIT_S = 0.1


def run_interruptible(call: Callable[[], Answer], stop: threading.Event) -> Answer:
    """Run ``call`` so that Ctrl-C sets ``stop`` and its answer so far is returned.

    Python handles signals in the main thread only, and not while that is inside a native
    solver: so the solve gets a thread of its own. A second Ctrl-C raises KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    answers: list[Answer] = []
    errors: list[BaseException] = []

    # An event, because a join that a signal cuts short may call a running thread finished.
    over = threading.Event()

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    threading.Thread(target=work, name="counterfolio-solve", daemon=True).start()
    try:
        _wait(over)
    except KeyboardInterrupt:
        stop.set()
        _wait(over)
    if errors:
        raise errors[0]
    return answers[0]


def _wait(over: threading.Event) -> None:
    while not over.wait(WAIT_S):
        pass
