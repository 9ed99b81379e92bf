"""OpenTelemetry traces: a span for each request, its question, and each attempt of a backend."""

import json
import os
import threading
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Scope

from encoders.core.errors import InputError
from portfolio.service.messages import Refused, Reply

NAME = "counterfolio"
NS = 1e9  # nanoseconds of a second
SERVER_ERROR = 500
CLOSE_S = 5.0  # maximum seconds to send the remaining spans


class Tracing:
    """Traces of a service, sent by OTLP over HTTP; ``OTEL_*`` environment variables apply."""

    def __init__(self) -> None:
        resource = Resource.create(
            {
                "service.name": os.environ.get("OTEL_SERVICE_NAME", NAME),
                "service.version": version(NAME),
            }
        )
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        try:
            processor = BatchSpanProcessor(OTLPSpanExporter())
        except ValueError as error:
            raise InputError(
                f"traces cannot be sent ({str(error).rstrip('.')}). Correct the environment "
                "variables that begin with OTEL_."
            ) from error
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(NAME, version(NAME))
        self._propagator = TraceContextTextMapPropagator()

    def start_request(self, scope: Scope, headers: Mapping[str, str], number: str) -> Span:
        """Start the span of a request below the one that its header ``traceparent`` names."""
        return self._tracer.start_span(
            scope["method"],
            self._propagator.extract(dict(headers)),
            SpanKind.SERVER,
            {
                "http.request.method": scope["method"],
                "url.path": scope["path"],
                "counterfolio.request": number,
            },
        )

    def end_request(self, span: Span, scope: Scope, status: int) -> None:
        """End the span of a request, whose route and status are known now."""
        route = getattr(scope.get("route"), "path", None)
        if route is not None:
            span.update_name(f"{scope['method']} {route}")
            span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        if status >= SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def question(
        self,
        request: Span,
        about: Mapping[str, str],
        began_s: float,  # start on the clock ``time.time()``
        answer: Reply | Refused | None,  # None if the question was cancelled
    ) -> None:
        """Add the spans of a question, and of the attempts of its backends, to a request."""
        span = self._tracer.start_span(
            f"question {about['question']}",
            set_span_in_context(request),
            attributes={f"counterfolio.{name}": value for name, value in about.items()},
            start_time=int(began_s * NS),
        )
        if isinstance(answer, Refused):
            span.set_status(Status(StatusCode.ERROR, answer.why))
        elif answer is None:
            span.set_status(Status(StatusCode.ERROR, "cancelled"))
        else:
            for attempt in json.loads(answer.members.get("attempts", "[]")):
                self._attempt(span, attempt, answer.attempts_at_s)
        span.end(time.time_ns())

    def _attempt(self, question: Span, attempt: Mapping[str, Any], at_s: float) -> None:
        names = ("backend", "engine", "formulation", "threads", "status", "stop_reason")
        span = self._tracer.start_span(
            f"attempt {attempt['backend']}",
            set_span_in_context(question),
            attributes={f"counterfolio.{name}": attempt[name] for name in names},
            start_time=int((at_s + attempt["began_s"]) * NS),
        )
        span.end(int((at_s + attempt["ended_s"]) * NS))

    def close(self) -> None:
        """Send the remaining spans; drop those that a slow collector has not taken in time."""
        # The provider itself waits for up to 30 seconds.
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(CLOSE_S)
