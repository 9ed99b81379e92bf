"""Metrics of the service, with names and units by the conventions of Prometheus."""

from collections.abc import Iterator
from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from portfolio.service.pool import ServicePool

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


class Metrics:
    """Metrics of one service."""

    def __init__(self, pool: ServicePool) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "counterfolio_question_seconds",
            "Seconds from reading a request to its answer.",
            ("question", "status", "backend"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._proofs = Counter(
            "counterfolio_proofs_total",
            "Answers with a proof of optimality or infeasibility.",
            registry=self._registry,
        )
        self._requests = Counter(
            "counterfolio_requests_total", "Requests by HTTP status code.", ("code",),
            registry=self._registry,
        )  # fmt: skip
        self._registry.register(_PoolCollector(pool))
        ProcessCollector(registry=self._registry)
        # Cached, as looking up a label takes the library as long as counting.
        self._seconds_of = cache(self._seconds.labels)
        self._requests_of = cache(self._requests.labels)

    def answered(self, question: str, status: str, backend: str, seconds: float) -> None:
        """Count an answer."""
        self._seconds_of(question, status, backend).observe(seconds)
        if status in ("optimal", "infeasible"):
            self._proofs.inc()

    def requested(self, code: int) -> None:
        """Count a request."""
        self._requests_of(code).inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _PoolCollector(Collector):
    """A collector that reads queue and workers when metrics are requested."""

    def __init__(self, pool: ServicePool) -> None:
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        gauges = {
            "counterfolio_queued_requests": ("Queued requests.", self._pool.waiting),
            "counterfolio_workers": ("Worker processes.", self._pool.workers),
            "counterfolio_workers_warm": ("Workers that are ready.", self._pool.warm),
            "counterfolio_workers_busy": ("Workers that are answering a request.", self._pool.busy),
        }
        for name, (words, value) in gauges.items():
            yield GaugeMetricFamily(name, words, value=value)
        yield CounterMetricFamily(
            "counterfolio_worker_restarts_total",
            "Workers that were replaced.",
            value=self._pool.restarts,
        )
