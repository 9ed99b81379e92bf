"""A server that runs the application on a port until a signal ends it."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import ceil

import uvicorn
from starlette.types import ASGIApp

from encoders.errors import InputError
from portfolio.service.app import create_app
from portfolio.service.connections import limited, most_connections
from portfolio.service.doorway import let_nobody_begin
from portfolio.service.guard import JsonLines
from portfolio.service.settings import Settings
from portfolio.service.starting import Served, Starting

log = logging.getLogger("counterfolio.service")
DRAIN_S = 5.0  # seconds beyond the longest time limit that running requests have after a signal
LAST_CALL_S = 1.0  # seconds after a signal in which new connections are still accepted
QUIET_S = 0.5  # seconds to wait for requests of the last accepted connections
LOOK_S = 0.05  # seconds between checks of the connections


class Server(uvicorn.Server):
    """A uvicorn server with a graceful shutdown that loses no request.

    uvicorn closes idle connections at once, although a request may be on its way. Therefore
    responses first ask clients to close their connections. Then the server accepts no further
    connections, and closes only those that stayed idle.
    """

    def __init__(self, config: uvicorn.Config, app: Served, settings: Settings) -> None:
        super().__init__(config)
        self._app, self._settings = app, settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen and log the address, which uvicorn does not log for existing sockets."""
        await super().startup(sockets)
        for listening in sockets or ():
            log.info("running on %s (press Ctrl-C to stop)", address_of(listening))

    async def on_tick(self, counter: int) -> bool:
        """Return True if the server must end, which includes a failure to load the models."""
        return await super().on_tick(counter) or self._app.error is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer all requests, then end."""
        service = self._app.service
        if service is None:  # models are still being loaded, so no request is accepted yet
            await super().shutdown(sockets)
            return
        service.drain()
        await self._wait(LAST_CALL_S, lambda: False)
        await self._accept_last()
        await self._wait(QUIET_S, lambda: not self.server_state.connections)
        late_s = self._settings.longest_s + DRAIN_S
        late = asyncio.get_running_loop().call_later(late_s, service.pool.close)
        try:
            await super().shutdown(sockets)
            if self.force_exit:  # after a second Ctrl-C uvicorn skips the application's shutdown
                await self.lifespan.shutdown()
                await self._await_responses()
        finally:
            late.cancel()

    async def _await_responses(self) -> None:
        """Wait a moment until running requests have received the error that the workers ended."""
        ends = time.monotonic() + LAST_CALL_S
        while self.server_state.tasks and time.monotonic() < ends:
            await asyncio.sleep(LOOK_S)

    async def _wait(self, seconds: float, over: Callable[[], bool]) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not (over() or self.force_exit):
            await asyncio.sleep(LOOK_S)

    async def _accept_last(self) -> None:
        """Stop listening, after accepting the connections in the operating system's queue.

        Closing the socket would reset these connections, although their clients are connected.
        """
        loop = asyncio.get_running_loop()
        every = [server_socket for server in self.servers for server_socket in server.sockets]
        listening = [
            socket.socket(fileno=os.dup(server_socket.fileno())) for server_socket in every
        ]
        for server_socket in listening:
            let_nobody_begin(server_socket)
        await asyncio.sleep(LOOK_S)  # until handshakes that had started are complete
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)  # until the event loop stops accepting
        connections = []
        for server_socket in listening:
            with server_socket, suppress(BlockingIOError):
                server_socket.setblocking(False)
                while True:
                    connections.append(server_socket.accept()[0])
        for connection in connections:
            connection.setblocking(False)
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        """Return the protocol of one connection."""
        protocol: asyncio.Protocol = self.config.http_protocol_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )  # type: ignore[call-arg]
        return protocol


def run(settings: Settings, host: str, port: int) -> None:
    """Listen, load the models, and answer requests until SIGTERM or Ctrl-C.

    Running requests are answered before the end. Until the models are loaded, all paths except
    ``/health`` respond with status 503.
    """
    log_as_lines("counterfolio.service", "uvicorn")
    # uvicorn raises the signal again after its shutdown.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listening = _bound(host, port)  # report a port in use before loading models
    app = Starting(partial(create_app, settings, warm_early=True))
    with suppress(KeyboardInterrupt):
        Server(configured(app, settings, host, port), app, settings).run(sockets=[listening])
    if app.error is not None:
        raise app.error


def address_of(listening: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket bound to a port; raise InputError if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise InputError(
            f"cannot listen on port {port} of {host} ({reason}). Give another --port."
        ) from error
    return listening


def configured(
    app: ASGIApp, settings: Settings, host: str = "127.0.0.1", port: int = 0
) -> uvicorn.Config:
    """Return the uvicorn configuration of an application."""
    # One additional second, to send errors to requests that are still open at the end.
    longest_s = settings.longest_s + DRAIN_S + 1.0
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the address of the client is not used
        timeout_graceful_shutdown=ceil(longest_s),
    )
    config.load()
    most = most_connections(settings.most_connections)
    config.http_protocol_class = limited(config.http_protocol_class, most)
    return config


def log_as_lines(*names: str) -> None:
    """Configure loggers to write one JSON object per line to stderr."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(JsonLines())
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [lines], False
        logger.setLevel(logging.INFO)
