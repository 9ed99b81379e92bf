"""Requests to a service in a thread of this process."""

import json
import threading
import uuid
from contextlib import contextmanager

from portfolio.notebook.local_service import LocalRequest, LocalService
from tests.support.served import until

PATIENCE_S = 300.0  # a machine may be busy


@contextmanager
def local_service(settings, warm=True):
    """A service that has ended afterwards; unless ``warm`` its worker may not be ready."""
    service = LocalService(settings)
    try:
        if warm:
            until(lambda: Asked(service, "GET", "/ready").finished().status == 200)
        yield service
    finally:
        service.close()
        assert service.join(PATIENCE_S)


class Asked:
    """A request, and what has arrived of its response."""

    def __init__(self, service, method, path, body=None, accept="application/json"):
        self.status, self.parts, self._ended = 0, [], threading.Event()
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = b"" if body is None else json.dumps(body).encode()
        self._service, self._number = service, uuid.uuid4().hex
        service.request(self._number, LocalRequest(method, path, headers, content), self._hear)

    def cancel(self):
        self._service.cancel(self._number)

    def _hear(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.parts.append(message.get("body", b""))
        if not message.get("more_body"):
            self._ended.set()

    def finished(self):
        """This request, with its whole response."""
        assert self._ended.wait(PATIENCE_S)
        return self

    def text(self):
        self.finished()
        return b"".join(self.parts).decode()

    def json(self):
        return json.loads(self.text())
