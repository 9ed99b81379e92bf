"""Connection to a Ray cluster, or to a new one on this machine."""

import importlib.util
import logging
import os
import socket
import threading
from typing import Any

from encoders.core.errors import InputError, UnavailableBackendError

REACH_S = 5.0  # seconds for a connection to the cluster's address


def connect(address: str | None) -> Any:
    """Return the module ray, connected to a cluster."""
    if importlib.util.find_spec("ray") is None:
        raise UnavailableBackendError(
            "executor ray needs the package ray. Install it with: pip install 'counterfolio[ray]'"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        return ray
    try:
        _check_reachable(address)
        _init(ray, address)
    except (OSError, ValueError, RuntimeError) as error:
        words = str(error).splitlines()[0]
        raise InputError(
            f"can't connect to a Ray cluster at {address or 'this machine'} ({words}). Start one "
            "with: ray start --head, set another address, or set RAY_AUTH_MODE=token if it has a "
            "token."
        ) from error
    return ray


def _check_reachable(address: str | None) -> None:
    """Raise OSError if no server listens; Ray itself would retry for minutes and then exit."""
    host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=REACH_S).close()


def answers(place: str) -> bool:
    """Return whether a server listens at an address."""
    try:
        _check_reachable(place)
    except OSError:
        return False
    return True


def _init(ray: Any, address: str | None) -> None:
    """Connect in a thread that never ends.

    Ray kills the processes of a new cluster when the thread that started them ends. The threads of
    a race are short-lived.
    """
    errors: list[Exception] = []
    over = threading.Event()

    def lasting() -> None:
        dashboard = None if address else False
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR,
                     include_dashboard=dashboard)  # fmt: skip
            _keep_quiet(ray)
        except Exception as error:
            errors.append(error)
        over.set()
        if not errors:
            threading.Event().wait()

    threading.Thread(target=lasting, daemon=True, name="counterfolio-ray").start()
    over.wait()
    if errors:
        raise errors[0]


def _keep_quiet(ray: Any) -> None:
    """Redirect Ray's messages about lost nodes, which fill pages, to the log at level debug.

    ``log_to_driver`` does not suppress these messages, and no other setting does
    (``ray/_private/worker.py``, listen_error_messages).
    """
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        debug = logging.getLogger("counterfolio.ray").debug
        worker.print_to_stdstream = lambda data, ignore_prefix: debug("\n".join(data["lines"]))
