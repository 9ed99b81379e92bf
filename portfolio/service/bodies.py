"""What comes with a request, read within limits."""

import asyncio
import itertools
import json
from math import isinf
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.types import Scope

from portfolio.service.problems import Problem

DEEPEST = 64  # lists and objects within each other; what is deeper can't be sent to a worker
LONGEST_S = 30.0  # seconds that a client may take to send a question


async def read_json(request: Request, largest: int) -> Any:
    """The body as JSON, without what JSON does not have.

    Parameters
    ----------
    request : whose body it is
    largest : bytes

    Raises
    ------
    Problem
        It is too large, too slow, or no JSON.
    """
    if media_type(request) != "application/json":
        raise Problem(415, "send the question as application/json.")
    return parsed(await read_bytes(request, largest))


def media_type(request: Request) -> str:
    """What the body says that it is.

    Parameters
    ----------
    request : whose body it is
    """
    return header(request.scope, b"content-type").partition(";")[0].strip().lower()


def header(scope: Scope, name: bytes) -> str:
    """A header of a request, "" without it; the first one where there are several.

    Parameters
    ----------
    scope : as of ASGI
    name : in lower case
    """
    for key, value in scope["headers"]:
        if key == name:
            told: str = value.decode("latin-1")
            return told
    return ""


def parsed(body: bytes, what: str = "the body") -> Any:
    """JSON without what JSON does not have.

    Parameters
    ----------
    body : its text
    what : it is, for errors

    Raises
    ------
    Problem
        It is none, or deeper than ``DEEPEST``.
    """
    try:
        given = _decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    except (ValueError, RecursionError) as error:
        told = str(error).partition(";")[0] or "it is too deep"
        raise Problem(400, f"{what} is no JSON: {told}.") from error
    if _is_deep(given):
        words = f"{what} has more than {DEEPEST} lists or objects within each other; none is meant."
        raise Problem(400, words)
    return given


async def read_bytes(request: Request, largest: int) -> bytes:
    """The body as it is.

    Parameters
    ----------
    request : whose body it is
    largest : bytes

    Raises
    ------
    Problem
        It is too large, or too slow.
    """
    too_large = Problem(413, f"the body is larger than {largest} bytes; send less at once.")
    told = header(request.scope, b"content-length")
    if told.isdigit() and int(told[:20]) > largest:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(LONGEST_S):
            more = True
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "the client went before its question was there.")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > largest:
                    raise too_large
    except TimeoutError as error:
        raise Problem(408, f"the body did not come within {LONGEST_S:g} seconds.") from error
    return bytes(body)


def _is_deep(given: Any) -> bool:
    """Whether more than ``DEEPEST`` lists and objects are within each other."""
    level = [given] if isinstance(given, dict | list) else []
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for each in itertools.chain(*inner) if isinstance(each, dict | list)]
    return bool(level)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text[:40]} is larger than any float64")
    return number


# Made once: that takes as long as a small body.
_decode = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=_whole).decode
