"""Programs in Ray actors, with the messages of child processes."""

import importlib
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from portfolio.workers.process import RemoteProgram

LOOK_S = 10.0  # longest seconds of a call that waits for messages


class ProgramActor:
    """Actor that runs a program in a thread, and the program's end of the connection."""

    def __init__(self, module: str) -> None:
        self._messages: deque[tuple[str, Any]] = deque()
        self._changed = threading.Condition()
        self._listens = threading.Event()
        self._on_message: Callable[[Any], None]
        threading.Thread(target=self._run, args=(module,), daemon=True).start()

    def _run(self, module: str) -> None:
        try:
            importlib.import_module(module).serve(self)
        except BaseException:
            os._exit(1)  # the caller is informed by Ray

    def listen(self, on_message: Callable[[Any], None]) -> None:
        """See :class:`portfolio.workers.process.Link`."""
        self._on_message = on_message
        self._listens.set()
        self.send("ready", None)

    def send(self, kind: str, content: Any) -> None:
        """See :class:`portfolio.workers.process.Link`."""
        with self._changed:
            self._messages.append((kind, content))
            self._changed.notify()

    def take(self, *parts: Any) -> None:
        """Pass a message of the caller to the program, the only part or a tuple of several."""
        self._listens.wait()
        self._on_message(parts if len(parts) > 1 else parts[0])

    def sent(self) -> list[tuple[str, Any]]:
        """Wait for messages of the program and return them."""
        with self._changed:
            self._changed.wait_for(lambda: self._messages, LOOK_S)
            messages = list(self._messages)
            self._messages.clear()
            return messages


class ActorProgram(RemoteProgram):
    """Connection to a program in an actor, which reserves cores of the cluster."""

    def __init__(self, ray: Any, module: str, cores: int) -> None:
        self._ray, self._alive = ray, True
        methods = {  # one thread each, which keeps the order of the messages
            name: ray.method(concurrency_group=name)(getattr(ProgramActor, name))
            for name in ("take", "sent")
        }
        remote = ray.remote(num_cpus=cores, concurrency_groups=dict.fromkeys(methods, 1))
        self._actor = remote(type("ProgramActor", (ProgramActor,), methods)).remote(module)
        self._next = self._actor.sent.remote()
        self._received: deque[tuple[str, Any]] = deque()

    @property
    def alive(self) -> bool:
        """True until the actor is known to have died."""
        return self._alive

    def death(self) -> str:
        """See :class:`RemoteProgram`."""
        return "the worker on the cluster died"

    def kill(self) -> None:
        """See :class:`RemoteProgram`."""
        self._alive = False
        self._ray.kill(self._actor)

    def send(self, message: Any) -> None:
        """See :class:`RemoteProgram`."""
        parts = message if isinstance(message, tuple) else (message,)
        self._actor.take.remote(*parts)  # Ray replaces a reference only if it is an argument

    def receive(self, timeout_s: float) -> Any:
        """See :class:`RemoteProgram`."""
        if not self._received:
            if not self._alive:
                raise EOFError
            if not self._ray.wait([self._next], timeout=timeout_s)[0]:
                return None
            try:
                self._received.extend(self._ray.get(self._next))
            except self._ray.exceptions.RayError as error:
                self._alive = False
                raise EOFError from error
            self._next = self._actor.sent.remote()
        return self._received.popleft() if self._received else None
