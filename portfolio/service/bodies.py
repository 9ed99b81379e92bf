"""Request headers and bodies, read and parsed within limits."""

import asyncio
import itertools
import json
from math import isinf
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.types import Scope

from encoders.text_files import distinct_members
from portfolio.service.problems import Problem

DEEPEST = 64  # levels of nested lists and objects; deeper values cannot be sent to a worker
LONGEST_S = 30.0  # seconds in which a client must have sent the body


async def read_json(request: Request, largest: int) -> bytes:
    """Return the body of a JSON request; raise Problem for another media type."""
    if media_type(request) != "application/json":
        raise Problem(415, "the body has another media type. Send it as application/json.")
    return await read_bytes(request, largest)


def media_type(request: Request) -> str:
    """Return the media type of the body, in lower case and without parameters."""
    return header(request.scope, b"content-type").partition(";")[0].strip().lower()


def header(scope: Scope, name: bytes) -> str:
    """Return the first header of this name, or "" if there is none."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


def parsed(body: bytes, what: str = "the body", text_alone: bool = True) -> Any:
    """Parse JSON strictly: reject NaN, infinite numbers and duplicate members."""
    try:
        text = body.decode(json.detect_encoding(body))
        value = _decode(text)
    except UnicodeDecodeError as error:
        words = f"{what} is not JSON: it is not valid {error.encoding.upper()} text."
        raise Problem(400, words) from error
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(";")[0] or "it is nested too deeply"
        raise Problem(400, f"{what} is not JSON: {reason}.") from error
    if _is_deep(value):
        words = f"{what} has more than {DEEPEST} levels of lists or objects. Send fewer levels."
        raise Problem(400, words)
    if text_alone and "\\u" in text:
        check_text(value, what)
    return value


def check_text(value: Any, what: str) -> None:
    """Raise Problem if a text has half of a surrogate pair, which cannot be encoded."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        words = f"{what} contains {half}, half of a surrogate pair. Send valid Unicode text."
        raise Problem(422, words) from error


async def read_bytes(request: Request, largest: int) -> bytes:
    """Return the body; raise Problem if it is too large or too slow."""
    too_large = Problem(413, f"the body is larger than {largest} bytes. Send a smaller one.")
    length = header(request.scope, b"content-length")
    if length.isdigit() and int(length[:20]) > largest:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(LONGEST_S):
            more = True
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "the client disconnected before it had sent the body.")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > largest:
                    raise too_large
    except TimeoutError as error:
        raise Problem(
            408, f"the body did not arrive within {LONGEST_S:g} seconds. Send it faster."
        ) from error
    return bytes(body)


def _is_deep(value: Any) -> bool:
    """Return True if lists and objects are nested more than ``DEEPEST`` levels deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for each in itertools.chain(*inner) if isinstance(each, dict | list)]
    return bool(level)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text[:40]} is larger than any float64")
    return number


# Made once, as making a decoder takes as long as decoding a small body.
_decode = json.JSONDecoder(
    object_pairs_hook=distinct_members,
    parse_constant=_refuse,
    parse_float=_finite,
    parse_int=_whole,
).decode
