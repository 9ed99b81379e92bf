"""Ctrl-C during a question of many steps ends all of them, and what is known by then is told."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

from portfolio.running.interrupt import run_interruptible
from portfolio.solving.ask import Asker

Told = TypeVar("Told")
P = ParamSpec("P")


def interruptible(
    find: Callable[Concatenate[Asker, P], Told],
) -> Callable[Concatenate[Asker, P], Told]:
    """A question whose steps Ctrl-C ends together, wherever it is; see :attr:`Asker.stop`."""

    @wraps(find)
    def heard(asker: Asker, /, *args: P.args, **kwargs: P.kwargs) -> Told:
        if asker.stop is not None:
            return find(asker, *args, **kwargs)
        stop = threading.Event()
        asked = partial(find, replace(asker, stop=stop), *args, **kwargs)
        return run_interruptible(asked, stop)

    return heard
