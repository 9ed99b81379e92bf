"""Parser of request bodies: small ones in the event loop, large ones in a child process."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from portfolio.service.reading_process import Content, Read, ReadingProcess

SMALL = 32_768  # maximum bytes to parse in the event loop, which takes a few milliseconds
MEMORY_BYTES = 2**31  # maximum address space of the child
LIMIT_S = 30.0  # maximum seconds to parse a body


class Reader:
    """A parser of bodies, with a child process that parses large bodies one after another."""

    def __init__(self) -> None:
        self._process = ReadingProcess(MEMORY_BYTES)
        self._thread = ThreadPoolExecutor(1, "counterfolio-reader")

    async def read(self, upload: Content[Read]) -> Read:
        """Return the parsed body."""
        if len(upload.content) <= SMALL:
            return upload.read()
        loop = asyncio.get_running_loop()
        parsed = await loop.run_in_executor(self._thread, self._process.read, upload, LIMIT_S)
        assert parsed is not None  # it cannot be stopped
        return parsed

    async def warm_up(self) -> None:
        """Start the child, so that the first large body does not wait for it."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._process.start)

    @property
    def pid(self) -> int:
        """Process id of the child, 0 if there is none."""
        return self._process.pid

    def close(self) -> None:
        """End the child process."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._process.end()
