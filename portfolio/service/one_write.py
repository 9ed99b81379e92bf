"""Transport that sends headers and body together, so that the client wakes only once."""

import asyncio
from typing import Any


class OneWrite:
    """A transport that joins all writes of one iteration of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pending: list[bytes] = []

    def write(self, content: bytes) -> None:
        """Send bytes at the end of the current iteration of the event loop."""
        if not self._pending:
            self._loop.call_soon(self._send)
        self._pending.append(content)

    def close(self) -> None:
        """Send pending bytes and close the connection."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._transport.write(pending[0] if len(pending) == 1 else b"".join(pending))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
