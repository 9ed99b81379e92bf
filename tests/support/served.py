"""A service on a port of this machine, run by a thread of the test's own process."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from portfolio.service.app import create_app

PATIENCE_S = 60.0


@contextmanager
def served(settings):
    """The application, and a client of it."""
    app = create_app(settings)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True
    )
    thread.start()
    try:
        with httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
            until(lambda: ready(client))
            yield app, client
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listening.close()


def ready(client):
    """Whether a worker is warm."""
    try:
        return client.get("/ready").status_code == 200
    except httpx.TransportError:
        return False


def until(holds):
    """Wait until something holds."""
    late_at = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < late_at
        time.sleep(0.02)
