"""Request bodies, read within limits and parsed strictly, in this process or in a child."""

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from math import isinf
from typing import Any, NoReturn

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import ValidationError

from encoders.core.text_files import distinct_members
from portfolio.service.kserve_bodies import InferBody, InstancesBody
from portfolio.service.problems import Problem
from portfolio.service.questions import BODIES, RowsBody, sentence_of, validated

SMALL = 32_768  # maximum bytes to parse in the event loop, which takes a few milliseconds
DEEPEST = 64  # levels of nested lists and objects; deeper values cannot be sent to a worker
LONGEST_S = 30.0  # seconds in which a client must have sent the body
SETTINGS = 1_000_000  # bytes of all members of a body except its rows
BODIES_BY_NAME = BODIES | {each.__name__: each for each in (InferBody, InstancesBody)}
BESIDE_ROWS = 100_000  # lists or objects in a body in addition to its rows


class StrictRequest(Request):
    """A request whose JSON body is limited, and checked beside the event loop if it is large.

    Attributes
    ----------
    kind : str, name of the pydantic model of the body
    """

    kind: str = ""

    async def body(self) -> bytes:
        """Return the body; raise Problem if it is too large or too slow."""
        if not hasattr(self, "_body"):
            self._body = await read_bytes(self, self.app.state.service.settings.largest_body)
        return self._body

    async def json(self) -> Any:
        """Return the parsed body; raise Problem if it is not JSON."""
        if not hasattr(self, "_json"):
            content = JsonContent(await self.body(), self.kind)
            self._json = await self.app.state.service.reader.read(content)
        return self._json


class StrictRoute(APIRoute):
    """A route whose JSON body is a :class:`StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the framework, behind the checks of the body."""
        handle = super().get_route_handler()
        assert self.body_field is not None
        kind = getattr(self.body_field.field_info.annotation, "__name__", "")

        async def handle_strictly(request: Request) -> Response:
            if media_type(request) != "application/json":
                raise Problem(415, "the body has another media type. Send it as application/json.")
            strict = StrictRequest(request.scope, request.receive)
            strict.kind = kind
            await strict.json()  # FastAPI replaces the errors of a body that it reads itself
            return await handle(strict)

        return handle_strictly


def media_type(request: Request) -> str:
    """Return the media type of the body, in lower case and without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_bytes(request: Request, largest: int) -> bytes:
    """Return the body; raise Problem if it is too large or too slow."""
    words = f"the body is larger than {largest} bytes. Send a smaller one."
    too_large = Problem(413, words, None, "large-body", bytes=largest)
    length = request.headers.get("content-length", "")
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


@dataclass(frozen=True, eq=False)
class JsonContent:
    """The JSON body of a request about one row."""

    content: bytes  # encoded JSON
    kind: str  # name of the pydantic model of the body

    def read(self) -> Any:
        """Return the parsed body; raise Problem if it is invalid.

        FastAPI validates small bodies, and large ones a second time.
        """
        value = parsed(self.content)
        if len(self.content) > SMALL:
            validated(BODIES_BY_NAME[self.kind], value)
        return value


@dataclass(frozen=True, eq=False)
class RowsContent:
    """The body of a request about many rows."""

    content: bytes  # encoded JSON
    columns: tuple[str, ...]  # columns that each row must have
    most_rows: int  # maximum number of rows

    def read(self) -> tuple[dict[str, Any], bytes]:
        """Return (other members, rows as JSON bytes); raise Problem if they are invalid."""
        lists, objects = self.content.count(b"["), self.content.count(b"{")
        if max(lists, objects - self.most_rows) > BESIDE_ROWS:
            raise Problem(422, f"the body has more than {self.most_rows} rows. Send fewer rows.")
        members = parsed(self.content, text_alone=False)
        try:
            rows = RowsBody.model_validate(members).rows
        except ValidationError as error:
            raise Problem(422, sentence_of(error.errors())) from error
        if len(rows) > self.most_rows:
            words = f"the body has {len(rows)} rows. Send at most {self.most_rows}."
            raise Problem(422, words)
        self._check_whole(rows)
        more = {name: value for name, value in members.items() if name != "rows"}
        check_text(more, "the body")
        if len(json.dumps(more)) > SETTINGS:
            raise Problem(
                413, f"the members other than rows take more than {SETTINGS} bytes. Send less."
            )
        # Names of columns that the model does not have are kept, even if no table can store them.
        return more, json.dumps(rows).encode()

    def _check_whole(self, rows: list[dict[str, Any]]) -> None:
        """Raise Problem for a missing column: a data frame would turn it into missing values."""
        for at, row in enumerate(rows):
            if lacking := [name for name in self.columns if name not in row]:
                words = f"row {at} has no column {lacking[0]!r}. Send null for a missing value."
                raise Problem(422, words)


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
    levels = body.count(b"[") + body.count(b"{")
    if levels > DEEPEST and _is_deep(value):  # counting is faster than walking
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
