"""An application on a port, until a signal ends it."""

import logging
import sys

import uvicorn
from fastapi import FastAPI

from portfolio.service.guard import JsonLines

DRAIN_S = 5.0  # seconds beyond the longest question that a signal leaves to those under way


def run(app: FastAPI, host: str, port: int) -> None:
    """Listen until SIGTERM or Ctrl-C; questions under way are answered first.

    Parameters
    ----------
    app : as of :func:`portfolio.service.app.create_app`
    host, port : to listen on; port 0 for any that is free
    """
    log_as_lines("counterfolio.service", "uvicorn")
    longest_s = app.state.service.settings.longest_s
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(longest_s + DRAIN_S),
    )
    uvicorn.Server(config).run()


def log_as_lines(*names: str) -> None:
    """Let loggers write JSON objects, one a line, to stderr.

    Parameters
    ----------
    *names : of the loggers
    """
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(JsonLines())
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [lines], False
        logger.setLevel(logging.INFO)
