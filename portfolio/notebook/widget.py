"""The widget: messages between the page in the notebook and a service in the kernel."""

from functools import partial
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from encoders.core.cores import usable_cores
from portfolio.api.explainer import Explainer
from portfolio.api.variants import asker_of, sample_of
from portfolio.model.batch_rows import rows_of
from portfolio.model.training_frame import has_no_rows
from portfolio.notebook.local_service import LocalRequest, LocalService
from portfolio.service.examples import plain_row, typical_row
from portfolio.service.page_routes import FILES
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand

SCRIPT = Path(__file__).with_name("widget.js")
NAME = "explainer"  # of the model in paths
LONGEST_S = 3600.0  # maximum time limit of a query; the form begins with the usual 10 seconds


class ExplainerWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """The page of the service for one explainer, in a notebook.

    Requests of the page arrive as messages of the kernel. The service starts with the first one,
    and ends when the page is not shown any more.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    files = traitlets.Dict(help="Texts of the page's files by name.").tag(sync=True)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._service: LocalService | None = None
        self._views: set[str] = set()
        super().__init__(_esm=SCRIPT.read_text(encoding="utf-8"), files=_page_files())
        self.on_msg(self._hear)

    def close(self) -> None:
        """Remove the widget from the notebook, and end its worker process."""
        self._end()
        super().close()

    def _end(self) -> None:
        service, self._service = self._service, None
        if service is not None:
            service.close()

    def _hear(self, _: Any, message: dict[str, Any], buffers: list[Any]) -> None:
        """Handle a message of the page."""
        kind, number = message.get("kind"), str(message.get("id"))
        if kind == "open":
            self._views.add(number)
        elif kind == "close":
            self._views.discard(number)
            if not self._views:
                self._end()
        elif kind == "cancel":
            if self._service is not None:
                self._service.cancel(number)
        elif kind == "request":
            self._request(number, message, buffers)

    def _request(self, number: str, message: dict[str, Any], buffers: list[Any]) -> None:
        self.send({"kind": "received", "id": number})
        if self._service is None:
            self._service = LocalService(self._settings)
        call = LocalRequest(
            message["method"], message["path"], message["headers"], b"".join(map(bytes, buffers))
        )
        self._service.request(number, call, partial(self._answer, number))

    def _answer(self, number: str, message: dict[str, Any]) -> None:
        """Send a part of a response to the page; called by a thread of the service."""
        if message["type"] == "http.response.start":
            headers = {name.decode(): text.decode() for name, text in message["headers"]}
            head = {"kind": "head", "id": number, "status": message["status"]}
            self.send(head | {"headers": headers})
            return
        if body := message.get("body"):
            self.send({"kind": "body", "id": number}, [body])
        if not message.get("more_body"):
            self.send({"kind": "end", "id": number})


def widget_of(explainer: Explainer, row: Any, rows: Any) -> ExplainerWidget:
    """Return the widget of an explainer, with a row to begin with and rows to choose from."""
    source = _source(explainer, row, rows)
    settings = Settings(
        lambda: [source],
        workers=1,
        threads=usable_cores(),
        longest_s=LONGEST_S,
        reload_s=0.0,
        show_rows=rows is not None,
    )
    return ExplainerWidget(settings)


def _source(explainer: Explainer, row: Any, rows: Any) -> AtHand:
    asker = asker_of(explainer)
    shown = None if rows is None else rows_of(asker.model, rows).own
    if row is not None:
        read = asker.read(row)
        names = enumerate(explainer.features.columns)
        example = plain_row({name: read.value(at) for at, name in names})
    elif shown is not None and len(shown):
        example = typical_row(explainer.features, shown)
    else:
        sample = sample_of(explainer)
        table = None if has_no_rows(sample) else rows_of(asker.model, sample).own
        example = {} if table is None else typical_row(explainer.features, table)
    return AtHand(NAME, explainer, example, shown)


def _page_files() -> dict[str, str]:
    """Return the files of the page by name, without pictures."""
    kinds = (".html", ".css", ".js")
    paths = sorted(path for path in FILES.iterdir() if path.suffix in kinds)
    return {path.name: path.read_text(encoding="utf-8") for path in paths}
