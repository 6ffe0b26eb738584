"""What all routes of one server share."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from anyio import to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute

from askonce.engine import Engine
from askonce.server.batching import Batcher
from askonce.server.guard.body import limited
from askonce.server.guard.keys import Scope
from askonce.server.guard.lanes import Lane
from askonce.server.guard.rates import Rates
from askonce.server.metrics import Metrics
from askonce.server.schemas.found import Answer, Similar
from askonce.server.settings import ServerSettings

T = TypeVar("T")
Given = TypeVarTuple("Given")


class Ask(NamedTuple):
    """Questions that can go through the engine together."""

    k: int
    ranker: str
    votes: bool = False


class Service:
    """An engine with its lanes, batches, keys and figures."""

    def __init__(self, engine: Engine, settings: ServerSettings) -> None:
        self.engine, self.settings = engine, settings
        self.queries = Lane("queries", settings.queries)
        self.writes = Lane("writes", settings.writes)
        self.bulk = Lane("bulk", settings.bulk)
        self.metrics = Metrics(engine, (self.queries, self.writes, self.bulk))
        self._rates = Rates(settings.rate)
        self._batcher: Batcher[tuple[str, Ask], Any] = Batcher(
            self._answer, settings.threads, settings.batch, self.metrics.batch.observe
        )

    async def similar(self, question: str, ask: Ask) -> list[Similar]:
        """Similar questions, together with those that others ask for now."""
        return await self._batcher.ask(("similar", ask), question)

    async def answers(self, question: str, ask: Ask) -> list[Answer]:
        """Answers, together with those that others ask for now."""
        return await self._batcher.ask(("answers", ask), question)

    async def both(self, question: str, ask: Ask) -> tuple[list[Similar], list[Answer]]:
        """Similar questions and answers, together with those that others ask for now."""
        return await self._batcher.ask(("both", ask), question)

    async def run(self, call: Callable[[*Given], T], *args: *Given) -> T:
        """The call in a thread, so that the loop never waits; lanes bound how many there are."""
        return await to_thread.run_sync(call, *args)

    def route(self, scope: Scope, lane: Lane) -> type[APIRoute]:
        """Routes that need a scope and run in a lane: refused before anything costly is done."""
        service = self

        class Guarded(APIRoute):
            def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
                handle = super().get_route_handler()

                async def guarded(request: Request) -> Response:
                    service.admit(request, scope)
                    whole = await limited(request, service.settings.body_bytes)
                    async with lane.place():
                        return await handle(whole)

                return guarded

        return Guarded

    def admit(self, request: Request, scope: Scope) -> None:
        """Refuse who calls too often or lacks the key."""
        self._rates.check(request.client.host if request.client else "")
        self.settings.keys.check(request, scope)

    def close(self) -> None:
        """Let the threads end."""
        self._batcher.close()

    def _answer(self, kind: tuple[str, Ask], questions: Sequence[str]) -> Sequence[Any]:
        what, (k, ranker, votes) = kind
        if what == "similar":
            similar = self.engine.similar_many(questions, k, ranker)
            return [[Similar.of(hit) for hit in hits] for hits in similar]
        if what == "answers":
            answers = self.engine.answers_many(questions, k, ranker, votes)
            return [[Answer.of(hit) for hit in hits] for hits in answers]
        both = self.engine.ask_many(questions, k, ranker, votes)
        return [([Similar.of(hit) for hit in s], [Answer.of(hit) for hit in a]) for s, a in both]
