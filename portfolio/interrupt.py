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

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="counterfolio-solve", daemon=True)
    thread.start()
    try:
        _wait(thread)
    except KeyboardInterrupt:
        stop.set()
        _wait(thread)
    if errors:
        raise errors[0]
    return answers[0]


def _wait(thread: threading.Thread) -> None:
    while thread.is_alive():
        thread.join(WAIT_S)
