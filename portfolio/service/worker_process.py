"""The process of a worker: keeps explainers and answers one question after another."""

import logging
import pickle
import queue
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from encoders.core.compiled import once_compiling
from encoders.core.errors import CounterfolioError
from portfolio.api.explainer import Explainer
from portfolio.engine.warm_up import warm_up_all
from portfolio.service.asking import ExploringSolver, answer, answer_group
from portfolio.service.messages import EXPLORE, GROUP, Ask, Refused
from portfolio.service.pool import TELLING_S
from portfolio.service.together import DeferringExplainer, Together
from portfolio.workers.process import Link, aside, watchdog
from portfolio.workers.work import in_a_sentence

OVERRUN_S = 10.0  # seconds beyond the limits of a question; longer than GRACE_S of the parent
FLUSH_S = 0.4  # seconds after which finished answers are sent, although others take longer


def serve(link: Link) -> None:
    """Receive explainers and questions until the connection closes."""
    logging.disable()
    # Some supervisors send SIGTERM to every process, but the parent drains before it ends this one.
    # The signal is blocked, as solvers replace its handler; child processes inherit the block.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    inbox = Inbox()
    link.listen(inbox.take)
    aside(partial(_answer_all, link, inbox))


class Inbox:
    """The received messages in order, and the stop events of the current questions."""

    def __init__(self) -> None:
        self.messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._stops: dict[int, threading.Event] = {}

    def take(self, message: tuple[str, Any]) -> None:
        """Queue a message, or apply it immediately if it is a stop.

        Called by the control thread while another thread answers.
        """
        kind, content = message
        if kind == "stop":
            if content in self._stops:
                self._stops[content].set()
            return
        if kind == "answer":
            self._stops = {ask.number: threading.Event() for ask in content}
        self.messages.put(message)

    def stop_of(self, ask: Ask) -> threading.Event:
        """Return the event that stops a question."""
        return self._stops.get(ask.number) or threading.Event()


def _answer_all(link: Link, inbox: Inbox) -> None:
    explainers: dict[str, Explainer] = {}
    deferring: dict[str, DeferringExplainer] = {}
    alternatives = ExploringSolver()
    with once_compiling(partial(link.send, "compiling", None)):
        warm_up_all()
    while True:
        kind, content = inbox.messages.get()
        if kind == "load":
            key, pickled = content
            explainers[key] = pickle.loads(pickled)
            link.send("loaded", key)
        elif kind == "forget":
            explainers.pop(content, None)
            deferring.pop(content, None)
        elif len(content) == 1:
            ask = content[0]
            explainer = explainers[ask.key].until(inbox.stop_of(ask))
            link.send("told", [(ask.number, _answered(link, explainer, alternatives, ask))])
        else:
            key = content[0].key
            if key not in deferring:
                deferring[key] = DeferringExplainer.of(explainers[key])
            longest_s = max(ask.limit_s for ask in content)
            together = Together(link.send, deque(content), deferring[key])
            with (
                watchdog(longest_s + TELLING_S + OVERRUN_S),
                _repeated(FLUSH_S, together.flush),
            ):
                together.answer_all(inbox.stop_of)


@contextmanager
def _repeated(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call a function every few seconds in another thread during a block."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            call()

    thread = threading.Thread(target=run, name="counterfolio-flush", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _answered(link: Link, explainer: Explainer, alternatives: ExploringSolver, ask: Ask) -> Any:
    try:
        with watchdog(ask.limit_s + TELLING_S + OVERRUN_S):
            if ask.question == EXPLORE:
                return alternatives.ask(explainer, ask)
            if ask.question == GROUP:
                return answer_group(
                    explainer, ask, lambda bounds: link.send("bounds", (ask.number, bounds))
                )
            return answer(
                explainer,
                ask,
                lambda bounds: link.send("bounds", (ask.number, bounds)),
                lambda: link.send("found", (ask.number, None)),
            )
    except CounterfolioError as error:
        return Refused(str(error))
    except MemoryError as error:
        return Refused(in_a_sentence(error), "lost")
    except Exception:  # a bug: the process continues, and the server logs the traceback
        return Refused(traceback.format_exc(), "bug")
