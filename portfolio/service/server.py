"""A server that runs the application until a signal ends it, with limits on connections."""

import asyncio
import logging
import signal
import socket
import sys
import time
from contextlib import suppress
from math import ceil
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from encoders.core import system
from encoders.core.errors import InputError
from portfolio.service.app import create_app
from portfolio.service.log_lines import log_as_lines
from portfolio.service.service import Service
from portfolio.service.settings import Settings
from portfolio.service.tls import LEAST, wrong_time

log = logging.getLogger("counterfolio.service")
DRAIN_S = 5.0  # seconds beyond the longest time limit that running requests have after a signal
LAST_CALL_S = 1.0  # seconds after a signal in which new connections are still accepted
QUIET_S = 0.5  # seconds to wait for requests of the last accepted connections
LOOK_S = 0.05  # seconds between checks of the connections
HEADER_S = 10.0  # maximum seconds to receive the headers of a request
SPARE = 200  # file descriptors reserved for workers, logs and jobs


class Server(uvicorn.Server):
    """A uvicorn server that first asks clients to close their connections.

    uvicorn closes idle connections at once, although a request may be on its way. Therefore it
    begins to do so only after a second in which each response has closed its connection.
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def on_tick(self, counter: int) -> bool:
        """Return True if the server must end, which includes a failure to load the models."""
        return await super().on_tick(counter) or self._service.error is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer all requests, then end."""
        self._service.drain()
        if not self._service.loading:
            await self._wait(LAST_CALL_S)
            for server in self.servers:
                server.close()
            await self._wait(QUIET_S)
        late_s = self._service.settings.longest_s + DRAIN_S
        late = asyncio.get_running_loop().call_later(late_s, self._service.pool.close)
        await super().shutdown(sockets)
        late.cancel()
        if self.force_exit:  # after a second Ctrl-C uvicorn skips the application's shutdown
            await self.lifespan.shutdown()
            ends = time.monotonic() + LAST_CALL_S  # until running requests have their error
            while self.server_state.tasks and time.monotonic() < ends:
                await asyncio.sleep(LOOK_S)

    async def _wait(self, seconds: float) -> None:
        """Wait until a time has passed, or a second signal arrives."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not self.force_exit:
            await asyncio.sleep(LOOK_S)


def run(settings: Settings, host: str, port: int) -> None:
    """Listen, load the models, and answer requests until SIGTERM or Ctrl-C.

    Running requests are answered before the end. Until the models are loaded, all paths except
    ``/health`` respond with status 503.
    """
    log_as_lines("counterfolio.service", "uvicorn", "opentelemetry", form=settings.log_format)
    # uvicorn raises the signal again after its shutdown.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listening = _bound(host, port)  # report a port in use before loading models
    app = create_app(settings, early=True)
    service: Service = app.state.service
    scheme = "http" if settings.tls_certificate is None else "https"
    _warn_of_certificate(settings)
    log.info("running on %s (press Ctrl-C to stop)", address_of(listening, scheme))
    with suppress(KeyboardInterrupt):
        Server(configured(app, settings), service).run(sockets=[listening])
    if service.error is not None:
        raise service.error


def _warn_of_certificate(settings: Settings) -> None:
    """Log a warning if clients refuse the certificate because of its time."""
    certificate, key = settings.tls_certificate, settings.tls_key
    words = None if certificate is None or key is None else wrong_time(certificate, key)
    if words is not None:
        log.warning("clients refuse %s: %s. Renew it, then restart.", certificate, words)


def address_of(listening: socket.socket, scheme: str = "http") -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket bound to a port; raise InputError if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if not hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # on Windows, several programs would listen
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen()
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise InputError(
            f"cannot listen on port {port} of {host} ({reason}). Give another --port."
        ) from error
    return listening


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return the uvicorn configuration of an application."""
    # One additional second, to send errors to requests that are still open at the end.
    longest_s = settings.longest_s + DRAIN_S + 1.0
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the address of the client is not used
        timeout_graceful_shutdown=ceil(longest_s),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = LEAST
    most = most_connections(settings.most_connections)
    config.http_protocol_class = limited(config.http_protocol_class, most)
    return config


def most_connections(most: int) -> int:
    """Return the maximum number of connections that leaves file descriptors for other uses.

    Raises the process's limit on file descriptors as far as the operating system allows.
    """
    return max(1, system.allow_files(most + SPARE) - SPARE)


def limited(protocol: type[asyncio.Protocol], most: int) -> type[asyncio.Protocol]:
    """Return an HTTP protocol of uvicorn with limits.

    If there are too many connections, a new one replaces the one that has waited longest for
    request headers. Thus a request that arrives immediately is always read.
    """
    waiting: dict[Any, None] = {}  # connections without a request, longest wait first

    class Limited(protocol):  # type: ignore[misc, valid-type]
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            count = len(self.connections)
            if count > most and waiting:
                next(iter(waiting)).close_now()
            elif count > most + SPARE // 2:  # none is idle; keep the reserved descriptors
                self.close_now()
                return
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:
                self._wait_no_more()
            elif self._late is None and not self.transport.is_closing():
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._wait_no_more()
            super().connection_lost(exc)

        def close_now(self) -> None:
            """Close the connection immediately, without sending pending data."""
            self._wait_no_more()
            self.transport.abort()

        def _wait(self) -> None:
            waiting[self] = None
            self._late = self.loop.call_later(HEADER_S, self.close_now)

        def _wait_no_more(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None
                waiting.pop(self, None)

    return Limited
