"""OpenTelemetry traces that a collector on this machine receives."""

import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.cli.app import app as commands
from portfolio.service import tracing as module
from portfolio.service.settings import Settings
from tests.support.served import served

pytestmark = pytest.mark.usefixtures("forked_children")

PATH = "/v1/models/credit"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "mine-5"}


@contextmanager
def collecting():
    """The address of a collector, and the requests that it has received."""
    received = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers["content-length"]))
            received.append(ExportTraceServiceRequest.FromString(content))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()


def attributes(span):
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes
    }


@pytest.fixture(scope="module")
def spans(source, row):
    """Spans of some requests, and the attempts of the answer to one of them."""
    settings = Settings(lambda: [source], workers=1, reload_s=0, longest_s=20.0, traces=True)
    with pytest.MonkeyPatch.context() as environment, collecting() as (address, received):
        environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        with served(settings) as (_, client):
            body = {"x": row, "strategy": "milp"}
            answer = client.post(f"{PATH}/explain", json=body, headers=CALLER).json()
            client.post(f"{PATH}/explain", json={"x": row}, headers={"x-request-id": "joint"})
            client.post(f"{PATH}/explain/stream", json={"x": row})
            client.post(f"{PATH}/explain", json={"x": row, "target": "nobody"})
            client.get("/v1/models")
    resources = [resource for request in received for resource in request.resource_spans]
    (name,) = {attributes(each.resource)["service.name"] for each in resources}
    assert name == "counterfolio"
    return [
        span for resource in resources for scope in resource.scope_spans for span in scope.spans
    ], answer


def children(spans, parent):
    return [span for span in spans if span.parent_span_id == parent.span_id]


@pytest.mark.slow
def test_a_trace_leads_from_the_caller_to_the_backend(spans):
    spans, answer = spans
    (request,) = [each for each in spans if each.parent_span_id.hex() == PARENT]
    assert request.trace_id.hex() == TRACE
    assert request.name == "POST /v1/models/{name}/explain" and request.kind == 2
    about = attributes(request)
    assert about["http.response.status_code"] == 200 and about["counterfolio.request"] == "mine-5"
    (question,) = children(spans, request)
    about = attributes(question)
    assert question.name == "question explain" and about["counterfolio.model"] == "credit"
    assert about["counterfolio.answer"] == answer["answer"]["status"] == "optimal"
    assert about["counterfolio.backend"] == answer["answer"]["backend"]
    attempts = children(spans, question)
    assert [attributes(each)["counterfolio.backend"] for each in attempts] == [
        each["backend"] for each in answer["attempts"]
    ]
    for attempt, expected in zip(attempts, answer["attempts"], strict=True):
        seconds = (attempt.end_time_unix_nano - attempt.start_time_unix_nano) / 1e9
        assert seconds == pytest.approx(expected["ended_s"] - expected["began_s"], abs=1e-5)
        assert question.start_time_unix_nano < attempt.start_time_unix_nano
        assert attempt.end_time_unix_nano < question.end_time_unix_nano
        assert attempt.trace_id == question.trace_id == request.trace_id


@pytest.mark.slow
def test_every_request_and_question_has_a_span(spans):
    spans, _ = spans
    names = sorted(span.name for span in spans if not span.name.startswith("attempt"))
    explain = "POST /v1/models/{name}/explain"
    assert names == sorted(
        [explain] * 3 + [f"{explain}/stream", "GET /v1/models"] + ["question explain"] * 4
    )
    (joint,) = [span for span in spans if attributes(span).get("counterfolio.request") == "joint"]
    (question,) = children(spans, joint)
    for attempt in children(spans, question):
        assert question.start_time_unix_nano < attempt.start_time_unix_nano
        assert attempt.end_time_unix_nano < question.end_time_unix_nano


@pytest.mark.slow
def test_a_refused_question_is_an_error(spans):
    spans, _ = spans
    requests = [each for each in spans if attributes(each).get("http.response.status_code") == 422]
    (question,) = children(spans, *requests)
    assert question.status.code == 2 and question.status.message == "input"
    assert requests[0].status.code == 0  # an error of the client


def test_a_collector_that_does_not_respond_delays_no_stop(monkeypatch):
    monkeypatch.setattr(module, "CLOSE_S", 0.5, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as collector:
        address = f"http://127.0.0.1:{collector.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "10")
        tracing = module.Tracing()
        scope = {"method": "GET", "path": "/v1/models"}
        tracing.end_request(tracing.start_request(scope, {}, "a"), scope, 200)
        began = time.monotonic()
        tracing.close()
        assert time.monotonic() - began < 8.0


def test_wrong_variables_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")
    with pytest.raises(InputError, match=r"traces cannot be sent \(max_queue_size must be"):
        module.Tracing()


def test_there_are_no_traces_on_ray():
    error = CliRunner().invoke(commands, ["serve", "--demo", "--ray", "--traces"]).exception
    assert isinstance(error, InputError) and "--ray does not support --traces." in str(error)
