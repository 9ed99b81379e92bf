"""The way to a Ray cluster, or a new one on this machine."""

import importlib.util
import logging
import os
import socket
import threading
from typing import Any

from encoders.errors import InputError, UnavailableBackendError

REACH_S = 5.0  # seconds for a connection to the cluster's address


def connect(address: str | None) -> Any:
    """The ray module, connected."""
    if importlib.util.find_spec("ray") is None:
        raise UnavailableBackendError(
            "executor ray needs the package ray; install it with: pip install 'counterfolio[ray]'"
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
            f"there is no Ray cluster at {address or 'this machine'} ({words}); start one with: "
            "ray start --head, or give another address."
        ) from error
    return ray


def _check_reachable(address: str | None) -> None:
    """Raise OSError if nobody listens; Ray itself would try for minutes, and then exit."""
    host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=REACH_S).close()


def answers(place: str) -> bool:
    """Whether somebody listens at a place."""
    try:
        _check_reachable(place)
    except OSError:
        return False
    return True


def _init(ray: Any, address: str | None) -> None:
    """Connect, in a thread that lasts.

    The processes of a cluster that is started here are killed when the thread that started them
    ends, and the threads of a race are short-lived.
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
    """What Ray prints of a lost node, pages of its state, goes to our log at level debug.

    ``log_to_driver`` does not hold back these messages, and there is no setting that does
    (``ray/_private/worker.py``, listen_error_messages).
    """
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        tell = logging.getLogger("counterfolio.ray").debug
        worker.print_to_stdstream = lambda data, ignore_prefix: tell("\n".join(data["lines"]))
