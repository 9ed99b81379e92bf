"""Reads small bodies at once, and large ones beside the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from portfolio.service.reading_process import Content, Read, ReadingProcess

SMALL = 32_768  # bytes of a body that the event loop reads itself, within a few milliseconds
MEMORY_BYTES = 2**31  # address space of the child
LIMIT_S = 30.0  # seconds that a body may take to be read


class Reader:
    """Reads bodies; a child process that begins with the first large one reads these in turn."""

    def __init__(self) -> None:
        self._process = ReadingProcess(MEMORY_BYTES)
        self._thread = ThreadPoolExecutor(1, "counterfolio-reader")

    async def read(self, given: Content[Read]) -> Read:
        """Return what a body says."""
        if len(given.content) <= SMALL:
            return given.read()
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, self._process.read, given, LIMIT_S)
        assert found is not None  # nothing stops it
        return found

    async def warm_up(self) -> None:
        """Start the child, so that the first large body does not wait for it."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._process.start)

    @property
    def pid(self) -> int:
        """Process id of the child, 0 without one."""
        return self._process.pid

    def close(self) -> None:
        """End the child."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._process.end()
