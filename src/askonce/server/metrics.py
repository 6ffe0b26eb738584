"""Metrics in Prometheus format."""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server.guard.lanes import Lane

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6, 1.0, 3.0, 10.0)


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self, engine: Engine, lanes: Sequence[Lane]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "askonce_requests",
            "Responses by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "askonce_request_seconds",
            "Seconds from request to response.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge("askonce_in_flight", "Requests in progress.", registry=self.registry)
        self.batch = Histogram(
            "askonce_batch_questions",
            "Questions that went through the models together.",
            buckets=(1, 2, 4, 8, 16),
            registry=self.registry,
        )
        self.registry.register(_State(engine, lanes))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _State(Collector):
    """The state of the lanes, the archive, its indexes and its model, read when it is asked for."""

    def __init__(self, engine: Engine, lanes: Sequence[Lane]) -> None:
        self._engine, self._lanes = engine, lanes

    def describe(self) -> Iterable[Metric]:
        return ()  # registering must not query the engine

    def collect(self) -> Iterable[Metric]:
        working = GaugeMetricFamily("askonce_working", "Requests running.", labels=["lane"])
        waiting = GaugeMetricFamily("askonce_waiting", "Requests waiting.", labels=["lane"])
        refused = CounterMetricFamily(
            "askonce_refused", "Requests refused because the lane was full.", labels=["lane"]
        )
        for lane in self._lanes:
            working.add_metric([lane.name], lane.working)
            waiting.add_metric([lane.name], lane.waiting)
            refused.add_metric([lane.name], lane.refused)
        yield from (working, waiting, refused)
        try:
            status = self._engine.status()
        except AskonceError:  # lost database; still report the other metrics
            yield GaugeMetricFamily("askonce_ready", "1 if questions can be answered.", value=0)
            return
        gauges = {
            "ready": ("1 if questions can be answered.", float(status.ready)),
            "posts": ("Indexed posts.", status.posts),
            "archive_change": ("Latest change of the archive.", status.change),
            "indexed_change": ("Latest indexed change.", status.indexed),
            "index_lag": ("Changes not indexed yet.", status.change - status.indexed),
        }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"askonce_{name}", text, value=value)
        model = GaugeMetricFamily("askonce_model", "The model in service.", labels=["version"])
        model.add_metric([status.model or "none"], 1)
        yield model
