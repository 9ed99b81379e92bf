"""Ctrl-C during a question of many steps: all steps end, and the result so far is returned."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

from portfolio.engine.ask import Asker
from portfolio.workers.interrupt import run_interruptible

Answer = TypeVar("Answer")
P = ParamSpec("P")


def interruptible(
    find: Callable[Concatenate[Asker, P], Answer],
) -> Callable[Concatenate[Asker, P], Answer]:
    """Return a question function whose steps all end on Ctrl-C; see :attr:`Asker.stop`."""

    @wraps(find)
    def stopping(asker: Asker, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        if asker.stop is not None:
            return find(asker, *args, **kwargs)
        stop = threading.Event()
        call = partial(find, replace(asker, stop=stop), *args, **kwargs)
        return run_interruptible(call, stop)

    return stopping
