"""Clients that ask again once they are answered, with as little of the processor as they can."""

import asyncio
from collections.abc import Iterator, Sequence

END = b"\r\n\r\n"
LENGTH = b"content-length:"
Answered = tuple[int, int, bytes]  # place of the question, status of HTTP, body


def closed_loop(port: int, path: str, bodies: Sequence[bytes], clients: int) -> list[Answered]:
    """Post each body once; answers as they came, to be looked at when time is over.

    Parameters
    ----------
    port : of this machine
    path : that is posted to
    bodies : JSON
    clients : how many ask at a time, each over a connection of its own
    """
    requests = [_request(path, body) for body in bodies]
    return asyncio.run(_all(port, requests, clients))


def _request(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _all(port: int, requests: Sequence[bytes], clients: int) -> list[Answered]:
    left, answers = iter(enumerate(requests)), list[Answered]()
    await asyncio.gather(*[_client(port, left, answers) for _ in range(clients)])
    return answers


async def _client(port: int, left: Iterator[tuple[int, bytes]], answers: list[Answered]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for place, request in left:
            writer.write(request)
            head = (await reader.readuntil(END)).lower()
            length = int(head.partition(LENGTH)[2].partition(b"\r\n")[0])
            answers.append((place, int(head[9:12]), await reader.readexactly(length)))
    finally:
        writer.close()
