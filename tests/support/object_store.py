"""A server on this machine that speaks the protocol of S3, and what it contains."""

import logging
from contextlib import contextmanager

import s3fs
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

BUCKET = "answers"


class ObjectServer:
    """A server that can be stopped and started again with its objects."""

    def __init__(self, port=0):
        self.start(port)
        self.port = self._server._server.port
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self, port=None):
        self._server = ThreadedMotoServer(
            "127.0.0.1", self.port if port is None else port, verbose=False
        )
        self._server.start()

    def stop(self):
        self._server.stop()

    def files(self):
        return s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)


@contextmanager
def object_server(monkeypatch):
    """A server whose address and credentials are in the environment."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for each request
    server = ObjectServer()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "user")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    server.files().mkdir(BUCKET)
    try:
        yield server
    finally:
        server.stop()
