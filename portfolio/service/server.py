"""An application on a port, until a signal ends it."""

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
DRAIN_S = 5.0  # seconds beyond the longest question that a signal leaves to those under way
LAST_CALL_S = 1.0  # seconds after a signal in which connections are taken: some do not know of it
QUIET_S = 0.5  # seconds after the last connection was taken in which its request may come
LOOK_S = 0.05  # seconds between looks whether all are gone


class Server(uvicorn.Server):
    """A server that answers whatever was on its way when a signal came.

    uvicorn by itself cuts connections that wait for a request, which may be on its way. So first
    every answer asks its client for another connection, then none is taken any more, and only
    those are cut that have been silent all the time.
    """

    def __init__(self, config: uvicorn.Config, app: Served, settings: Settings) -> None:
        super().__init__(config)
        self._app, self._settings = app, settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and log where: uvicorn does not, as it was given the sockets."""
        await super().startup(sockets)
        for own in sockets or ():
            log.info("running on %s (Ctrl-C stops it)", address_of(own))

    async def on_tick(self, counter: int) -> bool:
        """Return whether the server has to end, also where no model could be read."""
        return await super().on_tick(counter) or self._app.error is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what there is, then end."""
        service = self._app.service
        if service is None:  # models are still read, nobody was promised an answer
            await super().shutdown(sockets)
            return
        service.drain()
        await self._wait(LAST_CALL_S, lambda: False)
        await self._take_the_last()
        await self._wait(QUIET_S, lambda: not self.server_state.connections)
        late_s = self._settings.longest_s + DRAIN_S
        late = asyncio.get_running_loop().call_later(late_s, service.pool.close)
        try:
            await super().shutdown(sockets)
            if self.force_exit:  # at a second Ctrl-C uvicorn leaves the application as it is
                await self.lifespan.shutdown()
                await self._tell_the_rest()
        finally:
            late.cancel()

    async def _tell_the_rest(self) -> None:
        """Without workers whoever is under way is told so, which takes a moment."""
        ends = time.monotonic() + LAST_CALL_S
        while self.server_state.tasks and time.monotonic() < ends:
            await asyncio.sleep(LOOK_S)

    async def _wait(self, seconds: float, over: Callable[[], bool]) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not (over() or self.force_exit):
            await asyncio.sleep(LOOK_S)

    async def _take_the_last(self) -> None:
        """Listen no more; whoever the system has let in by then is served.

        It would cut connections that nobody has taken, whose clients know nothing of that.
        """
        loop = asyncio.get_running_loop()
        every = [own for server in self.servers for own in server.sockets]
        listening = [socket.socket(fileno=os.dup(own.fileno())) for own in every]
        for own in listening:
            let_nobody_begin(own)
        await asyncio.sleep(LOOK_S)  # whoever had begun is in by then
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)  # the loop takes none any more
        taken = []
        for own in listening:
            with own, suppress(BlockingIOError):
                own.setblocking(False)
                while True:
                    taken.append(own.accept()[0])
        for made in taken:
            made.setblocking(False)
            await loop.connect_accepted_socket(self._protocol, made)

    def _protocol(self) -> asyncio.Protocol:
        """What talks to one client."""
        made: asyncio.Protocol = self.config.http_protocol_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )  # type: ignore[call-arg]
        return made


def run(settings: Settings, host: str, port: int) -> None:
    """Listen, read the models, and answer until SIGTERM or Ctrl-C.

    Requests under way are answered before the end. Until models are read only ``/health`` has an
    answer; all else is answered with status 503.
    """
    log_as_lines("counterfolio.service", "uvicorn")
    # uvicorn raises the signal again once all has ended, as it was asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listening = _bound(host, port)  # a port that is taken is told before models are read
    app = Starting(partial(create_app, settings, warm_early=True))
    with suppress(KeyboardInterrupt):
        Server(configured(app, settings, host, port), app, settings).run(sockets=[listening])
    if app.error is not None:
        raise app.error


def address_of(listening: socket.socket) -> str:
    """Return the address of a socket that listens, as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to a port; raise InputError where that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host.strip("[]"), port))
    except OSError as error:
        made.close()
        reason = error.strerror or error
        raise InputError(
            f"port {port} of {host} can't be listened on ({reason}); give another --port."
        ) from error
    return made


def configured(
    app: ASGIApp, settings: Settings, host: str = "127.0.0.1", port: int = 0
) -> uvicorn.Config:
    """Return how an application is served."""
    # Those that are still without an answer when the service is ended get one, for which there
    # is a second.
    longest_s = settings.longest_s + DRAIN_S + 1.0
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing asks where a request is from
        timeout_graceful_shutdown=ceil(longest_s),
    )
    config.load()
    most = most_connections(settings.most_connections)
    config.http_protocol_class = limited(config.http_protocol_class, most)
    return config


def log_as_lines(*names: str) -> None:
    """Let loggers write JSON objects, one a line, to stderr."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(JsonLines())
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [lines], False
        logger.setLevel(logging.INFO)
