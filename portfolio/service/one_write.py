"""Head and body of an answer in one write: two wake its client twice."""

import asyncio
from typing import Any


class OneWrite:
    """A transport that sends what a turn of the event loop writes, at its end and at once."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes] = []

    def write(self, content: bytes) -> None:
        """Send something soon."""
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(content)

    def close(self) -> None:
        """Send what was written, and take the connection for over."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._held:
            held, self._held = self._held, []
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
