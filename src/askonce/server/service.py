"""What the routes share: the engine, its batcher, the lanes, keys and rates, and the metrics."""

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from anyio import to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute
from threadpoolctl import threadpool_limits

from askonce.engine import Engine
from askonce.engine.workers.asking import AskOptions, FoundHits, ask, find
from askonce.engine.workers.pool import WorkerPool
from askonce.server.batching import Batcher, Elsewhere
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.guard.keys import Keys, Scope
from askonce.server.guard.lanes import Lane, LaneSettings
from askonce.server.guard.limits import read_body
from askonce.server.guard.rates import Rates
from askonce.server.metrics import EngineState, Metrics, WorkerState
from askonce.server.search_log import SearchLog

T = TypeVar("T")
Args = TypeVarTuple("Args")

# In overload, 80 ms in the queue plus about 100 ms of work stays below 300 ms on machines of any
# speed; a burst may wait for a second. However slow requests are, four for each of two threads run:
# questions in a batch take less than half of the time of single ones (benchmarks/where.py).
QUERIES = LaneSettings(
    16, queue=512, timeout=0.08, burst=1.0, target_seconds=0.1, min_concurrency=8
)
QUERIES_OF_A_PROCESS = 8  # that run, beyond two processes


def queries_lane(max_wait: float, processes: int = 1) -> LaneSettings:
    """The lane of questions for a burst that may wait so long, and so many processes."""
    more = max(0, processes - 2)
    return replace(
        QUERIES,
        burst=max_wait,
        concurrency=QUERIES.concurrency + QUERIES_OF_A_PROCESS * more,
        min_concurrency=QUERIES.min_concurrency + QUERIES_OF_A_PROCESS // 2 * more,
    )


# one at a time, so that concurrent edits of a post are never lost; importers prefer to wait
WRITES = LaneSettings(1, queue=64, timeout=5.0)
FEEDBACK_RATE = 2.0  # marks per second and address
BULK = LaneSettings(2, queue=8, timeout=1.0)


@dataclass(frozen=True)
class ServerSettings:
    """Keys and limits of a server; ``guard.limits`` has the limits of a single request."""

    body_bytes: int = 4 * 2**20
    threads: int = 2  # engine calls at the same time; more than cores makes all of them slower
    batch: int = 8  # questions that go through the models together
    queries: LaneSettings = QUERIES
    writes: LaneSettings = WRITES
    bulk: LaneSettings = BULK  # embeddings, rerank, overview
    rate: float = 0.0  # requests per second and client address; 0 means no limit
    keys: Keys = field(default_factory=Keys)
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    clicks: bool = False  # record opened results as weak feedback
    log_days: int = 0  # days that searches are kept, without personal data; 0: none are logged
    image_hosts: tuple[str, ...] = ()  # from which images in posts are shown
    ask_url: str | None = None  # where new questions are asked, with {title} and {body}
    origins: tuple[str, ...] = ()  # of other sites whose pages may ask, and frame our page
    webhook_secret: str = field(default="", repr=False)  # "": webhooks are refused
    one_of_several: bool = False  # the page links to the list of archives, one level up

    @property
    def allowed_origins(self) -> list[str]:
        return sorted({*self.origins, *(key.origin for key in self.keys.origins)})


class Batch(NamedTuple):
    """What the questions of a batch have in common."""

    options: AskOptions
    encoded: bool  # hits as JSON


class Service:
    """One archive with its limits; ``workers`` are processes that answer questions as well."""

    def __init__(
        self,
        engine: Engine,
        settings: ServerSettings,
        threads: ThreadPoolExecutor | None = None,
        workers: WorkerPool | None = None,
    ) -> None:
        self.engine, self.settings, self.workers = engine, settings, workers
        self.queries = Lane("queries", settings.queries)
        self.writes = Lane("writes", settings.writes)
        self.bulk = Lane("bulk", settings.bulk)
        self.metrics = Metrics(
            EngineState(engine, (self.queries, self.writes, self.bulk)), WorkerState(workers)
        )
        self._rates = Rates(settings.rate)
        self.feedback_rates = Rates(FEEDBACK_RATE)
        self.searches = SearchLog(engine.archive, settings.log_days)
        threadpool_limits(1, "blas")  # numpy: queries run in parallel, each on one thread
        self._batcher: Batcher[Batch, Any] = Batcher(
            self._answer,
            settings.threads,
            settings.batch,
            self.metrics.batch.observe,
            threads,
            self._find_worker,
            lambda: 0 if workers is None else workers.ready,
        )

    async def ask(self, question: str, options: AskOptions) -> Any:  # noqa: ANN401 - hits, by options.what
        """Similar questions, answers, or a pair of both, batched with concurrent requests."""
        return await self._batcher.submit(Batch(options, False), question)

    async def find(self, question: str, options: AskOptions) -> FoundHits:
        """The same as JSON, which workers give as well."""
        return await self._batcher.submit(Batch(options, True), question)

    def start(self) -> None:
        """Start the workers; called in the event loop that serves."""
        if self.workers is not None:
            self.workers.start(self._batcher.start)

    async def stop(self) -> None:
        """End the workers, once all requests are answered."""
        if self.workers is not None:
            await self.workers.stop()

    async def run(self, call: Callable[[*Args], T], *args: *Args) -> T:
        """Run a blocking call in a thread; lanes bound how many run at the same time."""
        return await to_thread.run_sync(call, *args)

    def route(self, scope: Scope, lane: Lane) -> type[APIRoute]:
        """Routes that require a scope and run in a lane, both checked before any costly work."""
        service = self

        class Guarded(APIRoute):
            def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
                handle = super().get_route_handler()

                async def guarded(request: Request) -> Response:
                    service.admit(request, scope)
                    request = await read_body(request, service.settings.body_bytes)
                    async with lane.slot():
                        return await handle(request)

                return guarded

        return Guarded

    def admit(self, request: Request, scope: Scope) -> None:
        """Refuse a client that exceeds its rate or lacks the key."""
        self.check_rate(request)
        self.settings.keys.check(request, scope)

    def check_rate(self, request: Request) -> None:
        self._rates.check(request.client.host if request.client else "")

    def close(self) -> None:
        self._batcher.close()
        self.searches.close()

    def _answer(self, batch: Batch, questions: Sequence[str]) -> Sequence[Any]:
        return (find if batch.encoded else ask)(self.engine, batch.options, questions)

    def _find_worker(self, batch: Batch) -> Elsewhere[Batch, Any] | None:
        workers = self.workers
        worker = workers.take() if workers is not None and batch.encoded else None
        if workers is None or worker is None:
            return None
        return lambda batch, questions: workers.ask(worker, batch.options, questions)
