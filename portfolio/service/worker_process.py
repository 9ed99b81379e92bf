"""The process of a worker: keeps explainers and answers one question after another."""

import logging
import pickle
import queue
import signal
import threading
import traceback
from collections import deque
from functools import partial
from typing import Any

from encoders.compiled import once_compiling
from encoders.errors import CounterfolioError
from portfolio.explainer import Explainer
from portfolio.running.process import Link, aside, watchdog
from portfolio.running.work import in_a_sentence
from portfolio.service.alternatives import EXPLORE, Alternatives
from portfolio.service.asking import answer
from portfolio.service.group_work import answer_group
from portfolio.service.messages import GROUP, Ask, Forget, Hurry, Load, Refused, Several, Stop
from portfolio.service.together import Lender, Together
from portfolio.service.turn import TELLING_S
from portfolio.solving.warm_up import warm_up_all

OVERRUN_S = 10.0  # seconds beyond the limits of a question; longer than GRACE_S of the parent


def serve(descriptor: int, memory_bytes: int) -> None:
    """Receive explainers and questions until the connection closes."""
    logging.disable()
    # Some supervisors send SIGTERM to every process, but the parent drains before it ends this one.
    # The signal is blocked, as solvers replace its handler; child processes inherit the block.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    inbox = Inbox()
    link = Link(descriptor, memory_bytes, inbox.take)
    aside(partial(_answer_all, link, inbox))


def _answer_all(link: Link, inbox: "Inbox") -> None:
    explainers: dict[str, Explainer] = {}
    lenders: dict[str, Lender] = {}
    alternatives = Alternatives()
    with once_compiling(partial(link.send, "compiling", None)):
        warm_up_all()
    while True:
        message = inbox.messages.get()
        if isinstance(message, Load):
            explainers[message.key] = pickle.loads(message.content)
            link.send("loaded", message.key)
        elif isinstance(message, Forget):
            explainers.pop(message.key, None)
            lenders.pop(message.key, None)
        elif isinstance(message, Several):
            if message.key not in lenders:
                lenders[message.key] = Lender.of(explainers[message.key])
            _several(link, inbox, lenders[message.key], message)
        else:
            explainer = explainers[message.key].until(inbox.stop_of(message))
            reply = _answered(link, explainer, alternatives, message)
            link.send("told", [(message.number, reply)])


class Inbox:
    """The received messages in order, and the stop events of the current questions."""

    def __init__(self) -> None:
        self.messages: queue.Queue[Load | Forget | Ask | Several] = queue.Queue()
        self.together: Together | None = None
        self._stops: dict[int, threading.Event] = {}

    def take(self, message: Any) -> None:
        """Queue a message, or apply it immediately if it is a stop or a flush.

        Called by the control thread while another thread answers.
        """
        if isinstance(message, Stop):
            if message.number in self._stops:
                self._stops[message.number].set()
            return
        if isinstance(message, Hurry):
            if self.together is not None:
                self.together.hurry()
            return
        if isinstance(message, Ask | Several):
            asks = message.asks if isinstance(message, Several) else (message,)
            self._stops = {ask.number: threading.Event() for ask in asks}
        self.messages.put(message)

    def stop_of(self, ask: Ask) -> threading.Event:
        """Return the event that stops a question."""
        return self._stops.get(ask.number) or threading.Event()


def _several(link: Link, inbox: Inbox, lender: Lender, message: Several) -> None:
    """Answer several questions together, so that the model verifies all answers in one call."""
    longest_s = max(ask.limit_s for ask in message.asks)
    inbox.together = together = Together(link.send, deque(message.asks))
    with watchdog(longest_s + TELLING_S + OVERRUN_S):
        together.ask_all(lender, inbox.stop_of)
    inbox.together = None


def _answered(link: Link, explainer: Explainer, alternatives: Alternatives, ask: Ask) -> Any:
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
