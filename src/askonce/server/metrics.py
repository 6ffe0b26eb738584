"""What Prometheus reads."""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server.guard.lanes import Lane

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6, 1.0, 3.0, 10.0)


class Metrics:
    """The figures of one server, in a registry of its own."""

    def __init__(self, engine: Engine, lanes: Sequence[Lane]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "askonce_requests",
            "Requests answered, by route and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "askonce_request_seconds",
            "Time from request to response.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "askonce_in_flight", "Requests being answered now.", registry=self.registry
        )
        self.batch = Histogram(
            "askonce_batch_questions",
            "Questions that went through the models together.",
            buckets=(1, 2, 4, 8, 16),
            registry=self.registry,
        )
        self.registry.register(_Lanes(lanes))
        self.registry.register(_Engine(engine))

    def text(self) -> bytes:
        """All figures as Prometheus reads them."""
        return generate_latest(self.registry)


class _Lanes(Collector):
    """Who works, who waits and who was sent away."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = lanes

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        working = GaugeMetricFamily("askonce_working", "Requests in work.", labels=["lane"])
        waiting = GaugeMetricFamily("askonce_waiting", "Requests that wait.", labels=["lane"])
        refused = CounterMetricFamily(
            "askonce_refused", "Requests refused for want of room.", labels=["lane"]
        )
        for lane in self._lanes:
            working.add_metric([lane.name], lane.working)
            waiting.add_metric([lane.name], lane.waiting)
            refused.add_metric([lane.name], lane.refused)
        return (working, waiting, refused)


class _Engine(Collector):
    """How far the engine has come."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> Iterable[Metric]:
        return ()  # registering must not ask the engine

    def collect(self) -> Iterable[Metric]:
        try:
            status = self._engine.status()
        except AskonceError:  # a lost database; the other figures are wanted all the more
            yield GaugeMetricFamily("askonce_ready", "Whether questions are answered.", value=0)
            return
        figures = {
            "ready": ("Whether questions are answered.", float(status.ready)),
            "posts": ("Posts that search finds.", status.posts),
            "archive_change": ("The archive's latest change.", status.change),
            "indexed_change": ("The change that search has reached.", status.indexed),
            "index_lag": ("Changes that search has not seen.", status.change - status.indexed),
        }
        for name, (text, value) in figures.items():
            yield GaugeMetricFamily(f"askonce_{name}", text, value=value)
        model = GaugeMetricFamily("askonce_model", "The model in service.", labels=["version"])
        model.add_metric([status.model or "none"], 1)
        yield model
