"""HTTP clients with little overhead that send the next request after each answer."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from portfolio.bench.cpu import Cpu, Mark

END = b"\r\n\r\n"
LENGTH = b"content-length:"
Answered = tuple[int, int, bytes]  # position of the request, HTTP status, body


@dataclass(frozen=True, eq=False)
class Seen:
    """Result of a loop.

    Attributes
    ----------
    answers : list of Answered, responses in order of arrival
    first, last : Mark, start and end of the measurement
    """

    answers: list[Answered]
    first: Mark
    last: Mark


def closed_loop(port: int, path: str, bodies: Sequence[bytes], clients: int) -> list[Answered]:
    """Post each body once; return the responses in order of arrival."""
    answers: list[Answered] = []
    asyncio.run(_all(port, enumerate(_requests(path, bodies)), clients, answers))
    return answers


def timed_loop(
    port: int,
    path: str,
    bodies: Sequence[bytes],
    clients: int,
    seconds: tuple[float, float],
    cpu_now: Callable[[], Cpu],
) -> Seen:
    """Post bodies repeatedly in the same order; return the responses within two time spans."""
    requests = cycle(enumerate(_requests(path, bodies)))
    answers: list[Answered] = []

    def mark() -> Mark:
        return Mark(time.perf_counter(), len(answers), cpu_now())

    async def watched() -> Seen:
        asking = asyncio.create_task(_all(port, requests, clients, answers))
        marks = []
        for each in seconds:
            await asyncio.wait([asking], timeout=each)
            marks.append(mark())
        asking.cancel()
        # Raise errors of clients, except their cancellation.
        [error] = await asyncio.gather(asking, return_exceptions=True)
        if isinstance(error, Exception):
            raise error
        return Seen(answers, *marks)

    return asyncio.run(watched())


def _requests(path: str, bodies: Iterable[bytes]) -> list[bytes]:
    return [_request(path, body) for body in bodies]


def _request(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _all(
    port: int, requests: Iterable[tuple[int, bytes]], clients: int, answers: list[Answered]
) -> None:
    shared = iter(requests)
    await asyncio.gather(*[_client(port, shared, answers) for _ in range(clients)])


async def _client(
    port: int, requests: Iterator[tuple[int, bytes]], answers: list[Answered]
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for place, request in requests:
            writer.write(request)
            head = (await reader.readuntil(END)).lower()
            length = int(head.partition(LENGTH)[2].partition(b"\r\n")[0])
            answers.append((place, int(head[9:12]), await reader.readexactly(length)))
    finally:
        writer.close()
