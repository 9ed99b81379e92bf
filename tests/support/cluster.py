"""A stand-in for Ray whose actors live in this process, and answer once they are waited for."""

import pickle
import time
from types import SimpleNamespace


class GoneError(Exception):
    """An actor that died."""


class Call:
    """A call of an actor, made when its answer is wanted."""

    def __init__(self, method, given):
        self.method, self.given = method, pickle.loads(pickle.dumps(given))
        payloads = {task.payload for task in given} if isinstance(given, list) else set()
        self.dies, self.sleeps = "dies" in payloads, "sleeps" in payloads


class Actor:
    """One whose methods are called as Ray's are."""

    def __init__(self, own):
        self._own = own

    def __getattr__(self, name):
        method = getattr(self._own, name)
        return SimpleNamespace(remote=lambda given: Call(method, given))


class Cluster:
    """What an :class:`portfolio.workers.ray.executor.ActorPool` needs of the module ray.

    A payload "dies" ends its actor, "sleeps" has no answer.
    """

    exceptions = SimpleNamespace(RayError=GoneError)

    def put(self, content):
        return content

    def remote(self, kind):
        made = SimpleNamespace(remote=lambda content: Actor(kind(content)))
        return SimpleNamespace(options=lambda num_cpus: made)

    def wait(self, calls, timeout):
        ready = [call for call in calls if not call.sleeps]
        if not ready:
            time.sleep(timeout)
        return ready[:1], calls

    def get(self, call):
        if call.dies:
            raise GoneError
        return call.method(call.given)

    def kill(self, actor):
        pass
