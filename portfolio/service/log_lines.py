"""Lines of the service's log: JSON objects, or text."""

import json
import logging
import sys
from typing import Any

from encoders.core.visible_text import visible

QUIET_S = 60.0  # seconds in which a warning or an error is not logged again
MOST = 1000  # number of messages to remember


def log_request(log: logging.Logger, members: dict[str, Any]) -> None:
    """Log a request, without the slow look-up of the calling function."""
    if log.isEnabledFor(logging.INFO):
        about = (log.name, logging.INFO, __file__, 0, "request", (), None)
        log.handle(log.makeRecord(*about, extra={"members": members}))


def log_as_lines(*names: str, form: str = "json") -> None:
    """Configure loggers to write lines to stderr, as JSON objects or as text."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(FORMATTERS[form]())
    lines.addFilter(Repetitions())
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [lines], False
        logger.setLevel(logging.INFO)


class Repetitions(logging.Filter):
    """A filter that drops repeated warnings and errors, such as those of a disk that stays full."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[str, tuple[float, int]] = {}  # time of each message, and times dropped

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record; add the number of earlier ones that were dropped."""
        if record.levelno < logging.WARNING or record.exc_info:
            return True
        message = record.getMessage()
        logged_s, dropped = self._logged.get(message, (float("-inf"), 0))
        if record.created - logged_s < QUIET_S:
            self._logged[message] = logged_s, dropped + 1
            return False
        if len(self._logged) >= MOST:
            self._logged.clear()
        self._logged[message] = record.created, 0
        if dropped:
            record.msg, record.args = f"{message} (omitted {dropped} times)", ()
        return True


class TextLines(logging.Formatter):
    """A formatter that writes a time, a level, a message, and members as ``name=value``."""

    def __init__(self) -> None:
        super().__init__()
        self._last = 0, ""  # last second and its text, which lines share

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of text, followed by a traceback if there is one."""
        members = getattr(record, "members", {})
        values = [f"{name}={json.dumps(value)}" for name, value in members.items()]
        words = visible(record.getMessage()).replace("\n", "\\n")
        line = " ".join([self._time_of(record), record.levelname, words, *values])
        return line + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")

    def _time_of(self, record: logging.LogRecord) -> str:
        (second, text), now = self._last, int(record.created)
        if second != now:
            text = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
            self._last = now, text
        return text


class JsonLines(TextLines):
    """A formatter that writes one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": self._time_of(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "members", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


FORMATTERS: dict[str, type[logging.Formatter]] = {"json": JsonLines, "text": TextLines}
