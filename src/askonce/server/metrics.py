"""Metrics in Prometheus format."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from askonce.engine import Engine
from askonce.engine.workers.pool import WorkerPool
from askonce.errors import AskonceError
from askonce.server.guard.lanes import Lane

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6, 1.0, 3.0, 10.0)
READY = "1 if questions can be answered."


class Metrics:
    """The metrics of one application, in their own registry, with what collectors add."""

    def __init__(self, *collectors: Collector) -> None:
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
        for collector in collectors:
            self.registry.register(collector)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class LabelledMetrics(Collector):
    """The metrics of several applications, each with the label ``archive``."""

    def __init__(self, metrics: Mapping[str, Metrics]) -> None:
        self._metrics = metrics

    def text(self) -> bytes:
        return generate_latest(self)

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for archive, metrics in self._metrics.items():
            for family in metrics.registry.collect():
                name, about, kind = family.name, family.documentation, family.type
                labelled = families.setdefault(name, Metric(name, about, kind))
                labelled.samples += [
                    sample._replace(labels={"archive": archive, **sample.labels})
                    for sample in family.samples
                ]
        return families.values()


class UnservedArchive(Collector):
    """An archive that cannot be searched."""

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("askonce_ready", READY, value=0)


class WorkerState(Collector):
    """The processes that answer questions beside the server."""

    def __init__(self, workers: WorkerPool | None) -> None:
        self._workers = workers

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        workers = self._workers
        if workers is not None:
            text = "Worker processes that can answer."
            yield GaugeMetricFamily("askonce_workers", text, value=workers.ready)
            text = "Batches of questions that worker processes answered."
            yield CounterMetricFamily("askonce_worker_batches", text, value=workers.batches)
            text = "Worker processes that were replaced."
            yield CounterMetricFamily("askonce_worker_restarts", text, value=workers.restarts)


class EngineState(Collector):
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
            yield from UnservedArchive().collect()
            return
        gauges = {
            "ready": (READY, float(status.ready)),
            "posts": ("Indexed posts.", status.posts),
            "archive_change": ("Latest change of the archive.", status.change),
            "indexed_change": ("Latest indexed change.", status.indexed),
            "index_lag": ("Changes not indexed yet.", status.change - status.indexed),
        }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"askonce_{name}", text, value=value)
        if status.read is not None:
            text = "Share of posts whose vectors are the teacher's."
            yield GaugeMetricFamily("askonce_read_share", text, value=status.read)
        model = GaugeMetricFamily("askonce_model", "The model in service.", labels=["version"])
        model.add_metric([status.model or "none"], 1)
        yield model
