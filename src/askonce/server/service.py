"""What the routes share: the engine, its batcher, the lanes, keys and rates, and the metrics."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar, TypeVarTuple

from anyio import to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute

from askonce.engine import Engine
from askonce.server.batching import Batcher
from askonce.server.guard.keys import Keys, Scope
from askonce.server.guard.lanes import Lane, LaneSettings
from askonce.server.guard.limits import read_body
from askonce.server.guard.rates import Rates
from askonce.server.metrics import Metrics

T = TypeVar("T")
Args = TypeVarTuple("Args")

# 80 ms in the queue plus about 100 ms of work stays below 300 ms on machines of any speed
QUERIES = LaneSettings(8, queue=64, timeout=0.08, target_seconds=0.1)
# one at a time, so that concurrent edits of a post are never lost; importers prefer to wait
WRITES = LaneSettings(1, queue=64, timeout=5.0)
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


class AskOptions(NamedTuple):
    """How to answer a question; questions with the same settings share a batch."""

    what: Literal["similar", "answers", "ask"]
    k: int
    ranker: str
    votes: bool = False


class Service:
    """One engine behind HTTP."""

    def __init__(self, engine: Engine, settings: ServerSettings) -> None:
        self.engine, self.settings = engine, settings
        self.queries = Lane("queries", settings.queries)
        self.writes = Lane("writes", settings.writes)
        self.bulk = Lane("bulk", settings.bulk)
        self.metrics = Metrics(engine, (self.queries, self.writes, self.bulk))
        self._rates = Rates(settings.rate)
        self._batcher: Batcher[AskOptions, Any] = Batcher(
            self._answer, settings.threads, settings.batch, self.metrics.batch.observe
        )

    async def ask(self, question: str, options: AskOptions) -> Any:  # noqa: ANN401 - hits, by options.what
        """Similar questions, answers, or a pair of both, batched with concurrent requests."""
        return await self._batcher.submit(options, question)

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
        self._rates.check(request.client.host if request.client else "")
        self.settings.keys.check(request, scope)

    def close(self) -> None:
        self._batcher.close()

    def _answer(self, options: AskOptions, questions: Sequence[str]) -> Sequence[Any]:
        what, k, ranker, votes = options
        if what == "similar":
            return self.engine.similar_many(questions, k, ranker)
        if what == "answers":
            return self.engine.answers_many(questions, k, ranker, votes)
        return self.engine.ask_many(questions, k, ranker, votes)
