"""The child process of a reader: parses bodies until its connection closes."""

import queue
import traceback
from functools import partial
from typing import Any

from encoders.errors import InputError
from portfolio.running.process import Link, aside
from portfolio.service.problems import Problem
from portfolio.service.reading_process import Content


def serve(descriptor: int, memory_bytes: int) -> None:
    """Parse bodies until the connection closes."""
    inbox: queue.Queue[Content[Any]] = queue.Queue()
    link = Link(descriptor, memory_bytes, inbox.put)
    aside(partial(_read_all, link, inbox))


def _read_all(link: Link, inbox: "queue.Queue[Content[Any]]") -> None:
    while True:
        link.send(*_read(inbox.get()))


def _read(upload: Content[Any]) -> tuple[str, Any]:
    try:
        return "read", upload.read()
    except Problem as problem:
        return "problem", (problem.status, problem.detail)
    except InputError as error:
        return "problem", (422, str(error))
    except MemoryError:
        return "memory", None
    except Exception:
        return "bug", traceback.format_exc()
