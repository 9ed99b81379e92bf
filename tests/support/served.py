"""A service on a port of this machine, run by a thread of the test's process; or without any."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager

import httpx
from jsonschema import validate

from portfolio.service.app import create_app
from portfolio.service.server import Server, address_of, configured

PATIENCE_S = 300.0  # a machine may be busy
# What differs from run to run: seconds, and the bounds on the way.
PASSING = {"timings", "trace", "seconds", "decision"}


@contextmanager
def served(settings, verify=True):
    """The application, and a client of it that verifies its certificate."""
    app = create_app(settings)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # no delay
    listening.bind(("127.0.0.1", 0))
    scheme = "http" if settings.tls_certificate is None else "https"
    url = address_of(listening, scheme)
    server = Server(configured(app, settings), app.state.service)
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True
    )
    thread.start()
    try:
        with httpx.Client(base_url=url, timeout=PATIENCE_S, verify=verify) as client:
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


class Unserved:
    """An application without a server, and without workers: enough where none is asked."""

    def __init__(self, app):
        self.app = app

    def get(self, path, headers=None, host="localhost"):
        return self.request("GET", path, host, headers=headers)

    def post(self, path, **sent):
        return self.request("POST", path, **sent)

    def delete(self, path):
        return self.request("DELETE", path)

    def request(self, method, path, host="localhost", **sent):
        async def ask():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
                return await client.request(method, path, **sent)

        return asyncio.run(ask())


def lasting(told):
    """An answer's JSON without what differs from run to run."""
    if isinstance(told, dict):
        return {name: lasting(own) for name, own in told.items() if name not in PASSING}
    return [lasting(own) for own in told] if isinstance(told, list) else told


def check_described(client, path, told, method="get"):
    """Check an answer's body against the schema that openapi.json has of its path."""
    described = client.get("/openapi.json").json()
    answer = described["paths"][path][method]["responses"][str(told.status_code)]
    schema = answer["content"]["application/json"]["schema"]
    validate(told.json(), schema | {"components": described["components"]})
